"""The listening socket of the service, and what it says when it begins."""

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service.server import bind


def test_a_piece_of_an_answer_does_not_wait_for_the_one_before() -> None:
    """Nagle's algorithm would hold it until the client has confirmed that one, some 40 ms."""

    async def answered() -> int:
        met: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def meet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted: socket.socket = writer.get_extra_info("socket")
            met.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(meet, sock=bind("127.0.0.1", 0)) as server:
            _, asks = await asyncio.open_connection(*server.sockets[0].getsockname())
            told = await met
            asks.close()
            return told

    assert asyncio.run(answered())


def test_a_store_that_is_not_there_is_made_and_that_is_said(
    serve: Callable[[str], Any], tmp_path: Path
) -> None:
    said = []
    for _ in range(2):
        with serve(f"chdb://{tmp_path}/store").process as process:
            process.send_signal(signal.SIGTERM)
            said.append(process.stdout.read())  # to its end
        assert process.returncode == 0
    assert f"there was no store at {tmp_path}/store" in said[0]
    assert "there was no store" not in said[1]
