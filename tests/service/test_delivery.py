"""One try to tell a receiver of alerts ends in its time, whatever the other end does."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from service.alerts.delivery import posted

HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def receiver(answer: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A receiver that hears one request."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                try:
                    answer(connection, over)
                except OSError:
                    return

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
        finally:
            over.set()
            serving.join()


def drip(connection: socket.socket, over: threading.Event) -> None:
    """A line of headers again and again."""
    connection.sendall(HEAD)
    while not over.wait(0.05):
        connection.sendall(b"X-More: 1\r\n")


def pour(connection: socket.socket, over: threading.Event) -> None:
    """A body without an end."""
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while not over.wait(0):
        connection.sendall(b"ff\r\n" + bytes(255) + b"\r\n")


def test_whoever_answers_line_by_line_is_left_in_time() -> None:
    with receiver(drip) as url:
        began_s = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(posted(url, {}, {}, 0.5))
        assert time.monotonic() - began_s < 10


def test_a_body_is_not_read() -> None:
    with receiver(pour) as url:
        assert asyncio.run(posted(url, {}, {}, 30)).status_code == 200
