"""A server of an application on loopback, with the protocol that limits what a client may hold."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from service.head_limit import HeadLimited


@asynccontextmanager
async def listening(
    app: Any, unix: Path | None = None, *, keep_alive_s: int = 1
) -> AsyncIterator[Any]:
    """The server's address: of TCP, or the path of its Unix socket."""
    config = uvicorn.Config(app, http=HeadLimited, lifespan="off", timeout_keep_alive=keep_alive_s)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()

    def made() -> HeadLimited:
        return HeadLimited(config=config, server_state=state, app_state={})

    if unix:
        server = await loop.create_unix_server(made, str(unix))
    else:
        server = await loop.create_server(made, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()
