"""A request's head comes in time, or the connection is closed."""

import asyncio
import json
import time
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service import head_limit
from service.head_limit import HeadLimited


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application whose answers take longer than a head may."""
    del scope, receive
    await asyncio.sleep(0.4)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


async def heard(*parts: bytes, pause_s: float = 0.0) -> bytes:
    """All that is answered to octets sent with pauses, until the connection is closed."""
    config = uvicorn.Config(app, http=HeadLimited, lifespan="off", timeout_keep_alive=1)
    config.load()
    state = ServerState()
    made = await asyncio.get_running_loop().create_server(
        lambda: HeadLimited(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reading, writing = await asyncio.open_connection(*made.sockets[0].getsockname())
    for part in parts:
        writing.write(part)
        await asyncio.sleep(pause_s)
    told = await asyncio.wait_for(reading.read(), 5)
    writing.close()
    made.close()
    return told


GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 0.2)


@pytest.mark.parametrize("parts", [(), (GET,), (GET, b"A: 1\r\n", b"B: 2\r\n")], ids=len)
def test_a_head_that_does_not_come_to_its_end_closes_the_connection(
    parts: tuple[bytes, ...],
) -> None:
    assert asyncio.run(heard(*parts, pause_s=0.05)) == b""


def test_a_head_without_end_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)
    lines = b"A: 1\r\n" * 1000
    begun_s = time.monotonic()
    pieces = [GET, *[lines] * (head_limit.HEAD_OCTETS // len(lines) + 1)]
    assert asyncio.run(heard(*pieces, pause_s=0.01)) == b""
    assert time.monotonic() - begun_s < 5
    told = asyncio.run(heard(GET, lines, lines, b"\r\n", pause_s=0.01))
    assert told.startswith(b"HTTP/1.1 200")


def test_a_whole_head_is_answered_however_long_that_takes() -> None:
    told = asyncio.run(heard(GET, b"\r\n"))
    assert told.startswith(b"HTTP/1.1 200")
    assert told.endswith(b"ok")


def test_the_second_head_of_a_connection_has_its_own_time() -> None:
    told = asyncio.run(heard(GET + b"\r\n", GET, pause_s=0.6))
    assert told.count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    "octets", [b"\x16\x03\x01\x02\x00", GET + b"Content-Length: x\r\n\r\n", b"GET / HTTP/x\r\n\r\n"]
)
def test_what_is_no_http_gets_the_shape_of_all_errors(octets: bytes) -> None:
    head, _, body = asyncio.run(heard(octets)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/problem+json" in head
    told = json.loads(body)
    assert (told["status"], told["type"]) == (400, "about:blank")
    assert "no HTTP request" in told["detail"]
