"""One application served on a loopback TCP port and, beside an embedded store, on a Unix socket."""

import asyncio
import contextlib
import errno
import logging
import resource
import signal
import socket
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import uvicorn
import uvloop
from starlette.types import ASGIApp

from pipeline import end_text
from service.failure import ExitCode, Failure
from service.guard import UnixSocket
from service.hangup import reload_at
from service.head_limit import MOST_CONNECTIONS, Bounds, HeadLimited
from service.tls import Tls
from service.way import take_turns

STOP_S = 5
"""Seconds that open requests have to end after Ctrl-C."""
FILES = 65_536
"""Open files that are asked for, as the units of systemd ask; more would only cost children."""
RESERVE = 256
"""Open files that are kept for other things than connections."""


def most_connections() -> int:
    """How many connections there are files for; the limit of files is raised as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # then it stays as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(soft - RESERVE, soft // 2))


def bind(host: str, port: int) -> socket.socket:
    """A listening TCP socket; a taken port is a failure that names it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, or asyncio leaves Nagle's algorithm on: the second piece of an answer would wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            said = f"service.host: {host} is no address of this machine"
            raise Failure(ExitCode.UNAVAILABLE, said) from None
        raise Failure(
            ExitCode.UNAVAILABLE,
            f"service.port: {host}:{port} is not free ({error.strerror}); take another with --port",
        ) from None
    return listener


def address(listener: socket.socket, *, secure: bool = False) -> str:
    """The URL that a bound TCP socket is reached at."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if secure else "http"
    return f"{scheme}://{end_text(host, port)}"


class _Quiet(uvicorn.Server):
    """A server whose signals its owner handles."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals alone."""
        yield


def _server(app: ASGIApp, tls: Tls | None = None) -> _Quiet:
    config = uvicorn.Config(
        app,
        ssl_context_factory=(lambda _, __: tls.context) if tls else None,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        http=HeadLimited,
        ws="none",  # its connections would leave the protocol that counts them
        timeout_graceful_shutdown=STOP_S,
    )
    return _Quiet(config)


async def _serve_all(
    servers: list[tuple[_Quiet, list[socket.socket]]], started: Callable[[], None]
) -> None:
    tasks = [asyncio.create_task(server.serve(sockets)) for server, sockets in servers]
    while not all(server.started for server, _ in servers):
        if any(task.done() for task in tasks):
            break
        await asyncio.sleep(0.01)
    else:
        started()
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for server, _ in servers:
            server.should_exit = True
        for task in tasks:
            await task


def serve(
    app: ASGIApp,
    listener: socket.socket,
    unix: socket.socket | None,
    started: Callable[[], None],
    reload: Callable[[], None] = lambda: None,
    tls: Tls | None = None,
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; `started` is called once when every socket answers.

    SIGHUP calls `reload`, one after the other in a thread; answers go on meanwhile. `ending` is
    called when the end begins, to send those away who would stay.

    Requests over the Unix socket are marked as such (`guard.UnixSocket`) by this server.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    take_turns()
    HeadLimited.bounds = Bounds(most_connections())
    servers: list[tuple[_Quiet, list[socket.socket]]] = [(_server(app, tls), [listener])]
    if unix is not None:
        servers.append((_server(UnixSocket(app)), [unix]))
    uvloop.run(_with_signals(servers, started, reload, ending))


async def _with_signals(
    servers: list[tuple[_Quiet, list[socket.socket]]],
    started: Callable[[], None],
    reload: Callable[[], None],
    ending: Callable[[], None],
) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ending()
        for server, _ in servers:
            server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    reloading = ThreadPoolExecutor(1, "reload")
    reload_at(loop, lambda: loop.run_in_executor(reloading, reload))
    await _serve_all(servers, started)
