"""What waits to be read is seen, however many files are open."""

import os
import resource
import socket
import time
from collections.abc import Iterator

import pytest

from collector.readable import readable

HIGH = 2000
"""A number that `select` does not know."""


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, int]]:
    """A socket whose number is high, and where to write to it."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] != resource.RLIM_INFINITY and limits[1] <= HIGH:
        pytest.skip("so many files may not be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], HIGH + 1), limits[1]))
    try:
        near, far = socket.socketpair()
        with near, far, socket.socket(fileno=os.dup2(near.fileno(), HIGH)) as high:
            yield high, far.fileno()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_what_waits_is_seen_whatever_its_number(ends: tuple[socket.socket, int]) -> None:
    high, far = ends
    assert high.fileno() == HIGH
    began = time.monotonic()
    assert not readable(high, 0.05)
    assert time.monotonic() - began >= 0.05
    assert not readable(high, 0)
    os.write(far, b"x")
    assert readable(high, 60)
    assert high.recv(9) == b"x"


def test_an_end_can_be_read() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        assert not readable(pipe, 0)
        os.close(writing)
        assert readable(pipe, 60)
        assert pipe.read() == b""
