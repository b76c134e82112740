"""A request's head comes in time, and on one of not too many connections, or it is refused."""

import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import uvloop
from listening import listening

from service import head_limit
from service.head_limit import Bounds, HeadLimited
from service.server import FILES

ASKED: list[str] = []
"""Paths that the application was asked for."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application whose answers take longer than a head may."""
    del receive
    ASKED.append(scope["path"])
    await asyncio.sleep(0.4)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


async def heard(*parts: bytes, pause_s: float = 0.0) -> bytes:
    """All that is answered to octets sent with pauses, until the connection is closed."""
    async with listening(app) as address:
        reading, writing = await asyncio.open_connection(*address)
        for part in parts:
            writing.write(part)
            await asyncio.sleep(pause_s)
        told = await asyncio.wait_for(reading.read(), 5)
        writing.close()
        return told


GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 0.2)
    monkeypatch.setattr("service.head_limit.LINGER_S", 0.3)


def refused(told: bytes, status: int) -> str:
    """The sentence of the only answer, which is a problem."""
    head, _, body = told.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), told
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    found = json.loads(body)
    assert (found["status"], found["type"]) == (status, "about:blank")
    return str(found["detail"])


def test_a_connection_on_which_nothing_comes_ends_without_a_word() -> None:
    assert uvloop.run(heard()) == b""


@pytest.mark.parametrize("parts", [(b"G",), (GET,), (GET, b"A: 1\r\n", b"B: 2\r\n")], ids=len)
def test_a_head_that_does_not_come_to_its_end_is_refused(parts: tuple[bytes, ...]) -> None:
    told = uvloop.run(heard(*parts, pause_s=0.05))
    assert refused(told, 408) == "the head did not come within 0.2 s"


def test_a_head_that_is_late_behind_an_open_answer_is_not_answered_in_its_place() -> None:
    assert uvloop.run(heard(GET + b"\r\n" + GET)) == b""


def test_behind_a_refusal_nothing_is_taken_and_the_connection_ends() -> None:
    async def sent() -> float:
        async with listening(app) as address:
            reading, writing = await asyncio.open_connection(*address)
            writing.write(GET)
            told = refused(await reading.read(), 408)
            begun_s = time.monotonic()
            assert "did not come" in told
            ASKED.clear()
            while not reading.exception() and time.monotonic() - begun_s < 3:
                writing.write(b"\r\n" + GET + b"\r\n")
                await asyncio.sleep(0.02)
                if writing.transport.is_closing():
                    break
            return time.monotonic() - begun_s

    assert 0.2 < uvloop.run(sent()) < 2
    assert ASKED == []


def test_a_head_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)
    lines = b"A: 1\r\n" * 1000
    begun_s = time.monotonic()
    pieces = [GET, *[lines] * (head_limit.HEAD_OCTETS // len(lines) + 1)]
    told = uvloop.run(heard(*pieces, pause_s=0.01))
    assert refused(told, 431) == "the head is larger than the limit of 65536 bytes"
    assert time.monotonic() - begun_s < 5
    told = uvloop.run(heard(GET, lines, lines, b"\r\n", pause_s=0.01))
    assert told.startswith(b"HTTP/1.1 200")


LINE = b"A: 1\r\n"


def head_of(octets: int) -> bytes:
    """A whole head of so many octets."""
    rest = octets - len(GET) - len("\r\n")
    lines = LINE * (rest // len(LINE) - 1)
    return GET + lines + b"B: " + b"x" * (rest - len(lines) - len(b"B: \r\n")) + b"\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, 3])
def test_the_piece_that_completes_a_head_counts(
    monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)

    def told(head: bytes, *more: bytes) -> bytes:
        each = len(head) // pieces + 1
        parts = [head[at : at + each] for at in range(0, len(head), each)]
        return uvloop.run(heard(*parts, *more, pause_s=0.02))

    ASKED.clear()
    for octets in (head_limit.HEAD_OCTETS + 1, 100_000):
        assert "larger than the limit" in refused(told(head_of(octets)), 431)
    assert ASKED == []
    whole = head_of(head_limit.HEAD_OCTETS)
    assert len(whole) == 65_536
    assert told(whole).startswith(b"HTTP/1.1 200")
    assert told(whole, whole + whole).count(b"HTTP/1.1 200") == 3, "each head has its own room"


def test_a_body_that_comes_with_its_head_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)
    body = b"x" * 65_500  # of a longer one the server waits for a reader
    post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert uvloop.run(heard(post + body)).startswith(b"HTTP/1.1 200")
    twice = uvloop.run(heard(post + body + head_of(60_000), pause_s=0.02))
    assert twice.count(b"HTTP/1.1 200") == 2


def test_a_whole_head_is_answered_however_long_that_takes() -> None:
    told = uvloop.run(heard(GET, b"\r\n"))
    assert told.startswith(b"HTTP/1.1 200")
    assert told.endswith(b"ok")


def test_the_second_head_of_a_connection_has_its_own_time() -> None:
    told = uvloop.run(heard(GET + b"\r\n", GET, pause_s=0.6))
    first, _, second = told.partition(b"ok")
    assert first.startswith(b"HTTP/1.1 200")
    assert "did not come" in refused(second, 408)


@pytest.mark.parametrize(
    "octets", [b"\x16\x03\x01\x02\x00", GET + b"Content-Length: x\r\n\r\n", b"GET / HTTP/x\r\n\r\n"]
)
def test_what_is_no_http_gets_the_shape_of_all_errors(octets: bytes) -> None:
    assert "no HTTP request" in refused(uvloop.run(heard(octets)), 400)


def test_what_is_no_http_behind_an_open_request_is_not_its_answer() -> None:
    assert uvloop.run(heard(GET + b"\r\n\x16\x03\x01\x02")) == b""


def test_an_address_has_half_of_the_connections_and_all_have_their_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds = Bounds(4)
    monkeypatch.setattr(HeadLimited, "bounds", bounds)
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)

    async def asked(address: Any, own: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reading, writing = await asyncio.open_connection(*address, local_addr=(own, 0))
        writing.write(GET + b"\r\n")
        return reading, writing

    async def answered(address: Any, own: str) -> bytes:
        reading, writing = await asked(address, own)
        told = await reading.readuntil(b"\r\n\r\n") + await reading.read(2)
        told += await reading.read() if b"close" in told else b""
        writing.close()
        return told

    async def crowd() -> None:
        async with listening(app) as address:
            kept = [await asked(address, "127.0.0.2") for _ in range(2)]
            told = await answered(address, "127.0.0.2")
            assert "from this address" in refused(told, 503)
            assert b"retry-after: 1" in told
            kept += [await asked(address, "127.0.0.3")]
            assert b"200" in await answered(address, "127.0.0.4")
            await asyncio.sleep(0.05)
            kept += [await asked(address, "127.0.0.4")]
            told = await answered(address, "127.0.0.5")
            assert "too many connections;" in refused(told, 503)
            for reading, writing in kept:
                assert b"200" in await reading.readuntil(b"\r\n\r\n")
                writing.close()
            await asyncio.sleep(0.05)
            assert b"200" in await answered(address, "127.0.0.2")
        await asyncio.sleep(0.4)
        assert (dict(bounds.held), bounds.turned) == ({}, 0)

    uvloop.run(crowd())


def test_of_those_beyond_only_so_many_stay_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = Bounds(2)
    monkeypatch.setattr(HeadLimited, "bounds", bounds)
    monkeypatch.setattr("service.head_limit.HEAD_S", 60.0)
    monkeypatch.setattr("service.head_limit.LINGER_S", 60.0)
    monkeypatch.setattr("service.head_limit.MOST_TURNED", 3)

    async def crowd() -> None:
        async with listening(app) as address:
            opened = [await asyncio.open_connection(*address) for _ in range(10)]
            await asyncio.sleep(0.1)
            assert (bounds.held.total(), bounds.turned) == (1, 3)
            for _, writing in opened:
                writing.close()
            await asyncio.sleep(0.1)
            assert (bounds.held.total(), bounds.turned) == (0, 0)

    uvloop.run(crowd())


def test_the_unix_socket_has_no_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeadLimited, "bounds", Bounds(0))

    async def asked() -> bytes:
        async with listening(app, tmp_path / "socket") as address:
            reading, writing = await asyncio.open_unix_connection(address)
            writing.write(GET + b"Connection: close\r\n\r\n")
            told = await reading.read()
            writing.close()
            return told

    assert uvloop.run(asked()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "most"),
    [(256, 1024, 1024, 768), (300, 300, 300, 150), (1024, 20_000, 20_000, 8192)],
)
def test_there_are_as_many_connections_as_files_may_be_open(
    soft: int, hard: int, raised: int, most: int
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("this process may not have so many files")
    script = (
        "import resource; from service.server import most_connections;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}));"
        "print(most_connections(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == [str(most), str(raised)]


def test_the_units_of_systemd_ask_for_as_many_files() -> None:
    units = list((Path(head_limit.__file__).parent.parent / "deploy" / "systemd").glob("*.service"))
    assert units
    assert [each.name for each in units if f"\nLimitNOFILE={FILES}\n" not in each.read_text()] == []
