"""Bodies come whole and in time, or they are refused and the connection ends; told over sockets."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop
from asked import opened
from listening import listening
from starlette.types import ASGIApp

from service.app import create_app
from service.guard import BODY_S, Guard, UnixSocket
from service.settings import Settings

HOST = "Host: localhost\r\n"
JSON = "Content-Type: application/json\r\n"
SESSION = f"POST /api/v1/session HTTP/1.1\r\n{HOST}"
CAPTURE = f"POST /api/v1/captures HTTP/1.1\r\n{HOST}"
WRONG = b'{"token": "hs_none"}'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ASGIApp]:
    """The whole application, which anybody may ask over loopback."""
    bounds = {"max_body_bytes": 100_000, "max_capture_bytes": 10**9}
    settings = Settings.model_validate({"service": bounds})
    with opened(tmp_path_factory.mktemp("slow")) as store:
        yield create_app(settings, store)


served = partial(listening, keep_alive_s=2)


async def whole(reading: asyncio.StreamReader) -> bytes:
    """What comes until the end; a part that was sent while it ended may reset the connection."""
    came = b""
    with suppress(ConnectionResetError):
        while part := await reading.read(1 << 16):
            came += part
    return came


def heard(app: ASGIApp, *parts: bytes | str, pause_s: float = 0.0, unix: Path | None = None) -> str:
    """All that is answered to parts sent with pauses, until the connection ends."""

    async def talked() -> str:
        async with served(app if unix is None else UnixSocket(app), unix) as address:
            opening = (
                asyncio.open_unix_connection(address) if unix else asyncio.open_connection(*address)
            )
            reading, writing = await opening
            told = asyncio.create_task(asyncio.wait_for(whole(reading), 6))
            for part in parts:
                if not told.done():  # to write behind the end would lose what was read
                    writing.write(part if isinstance(part, bytes) else part.encode())
                await asyncio.sleep(pause_s)
            await told
            writing.close()
            return told.result().decode()

    return uvloop.run(talked())


def problem(told: str, status: int, field: str) -> str:
    """The sentence of the only answer, which is a problem."""
    head, _, body = told.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} "), told
    assert "content-type: application/problem+json" in head
    found = json.loads(body)
    assert (found["status"], found["field"]) == (status, field)
    return str(found["detail"])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.guard.BODY_S", 0.3)
    monkeypatch.setattr("service.guard.LINGER_S", 0.1)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "way", ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
@pytest.mark.parametrize("kind", [JSON, ""])
def test_a_body_that_does_not_come_is_refused_and_the_connection_ends(
    app: ASGIApp, way: str, kind: str
) -> None:
    begun_s = time.monotonic()
    told = heard(app, SESSION + kind + way)
    assert problem(told, 408, "body") == "the body did not come within 0.3 s"
    assert "connection: close" in told.lower()
    assert time.monotonic() - begun_s < 1.9  # not what the server does after two idle seconds
    assert BODY_S == 10


@pytest.mark.usefixtures("short")
def test_octets_one_by_one_do_not_buy_time(app: ASGIApp) -> None:
    told = heard(app, f"{SESSION}{JSON}Content-Length: 100\r\n\r\n", *["{"] * 8, pause_s=0.1)
    problem(told, 408, "body")


def test_a_body_that_comes_in_time_is_answered(app: ASGIApp) -> None:
    head = f"{SESSION}{JSON}Connection: close\r\nContent-Length: {len(WRONG)}\r\n\r\n"
    told = heard(app, head, WRONG[:5], WRONG[5:], pause_s=0.1)
    assert told.startswith("HTTP/1.1 401"), told


@pytest.mark.usefixtures("short")
def test_over_the_unix_socket_nobody_is_hurried(
    app: ASGIApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.head_limit.REST_S", 0.3)
    head = f"{SESSION}{JSON}Connection: close\r\nContent-Length: {len(WRONG)}\r\n\r\n"
    told = heard(app, head, WRONG[:5], WRONG[5:], pause_s=0.5, unix=tmp_path / "socket")
    assert told.startswith("HTTP/1.1 401"), told


@pytest.mark.usefixtures("short")
def test_a_capture_comes_at_its_own_pace(app: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.REST_S", 0.2)
    head = f"{CAPTURE}Connection: close\r\nContent-Length: 100\r\n\r\n"
    told = heard(app, head, b"GIF8", b"9" * 96, pause_s=0.7)
    assert "not a capture file" in problem(told, 415, "body")


@pytest.mark.usefixtures("short")
def test_to_listen_for_a_disconnect_behind_the_body_is_not_timed() -> None:
    heard_of: list[str] = []

    async def waiting(scope: Any, receive: Any, send: Any) -> None:
        """Read the body, then listen for a disconnect while the answer is made."""
        assert scope["type"] == "http"
        assert not (await receive())["more_body"]
        gone = asyncio.create_task(receive())
        await asyncio.sleep(0.6)
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2"), (b"connection", b"close")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"ok"})
        heard_of.append((await gone)["type"])

    told = heard(guarded(waiting), f"GET / HTTP/1.1\r\n{HOST}\r\n")
    assert told.startswith("HTTP/1.1 200")
    assert told.endswith("ok")
    assert heard_of == ["http.disconnect"]


@pytest.mark.usefixtures("short")
def test_an_answer_that_has_begun_is_told_to_its_end() -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        """A stream as the framework sends it: it listens for a disconnect all the time."""
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2"), (b"connection", b"close")]})  # fmt: skip

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        async with asyncio.TaskGroup() as both:
            listening = both.create_task(listen())
            await asyncio.sleep(0.6)
            await send({"type": "http.response.body", "body": b"ok"})
            listening.cancel()

    told = heard(guarded(hasty), f"GET / HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nx")
    assert told.startswith("HTTP/1.1 200")
    assert told.endswith("ok")


def guarded(app: Any) -> ASGIApp:
    return Guard(app, names=("localhost",), most_bytes=1000, most_internal_bytes=1000)


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/captures"])
def test_a_message_without_end_that_is_answered_does_not_hold_the_connection(
    app: ASGIApp, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("service.head_limit.REST_S", 0.4)
    begun_s = time.monotonic()
    head = f"GET {path} HTTP/1.1\r\n{HOST}Content-Length: 100\r\n\r\n"
    # An octet now and then, or the server's own limit of idle connections would end it.
    told = heard(app, head, *"aaaaaaa", pause_s=0.1)
    assert told.startswith("HTTP/1.1 200")
    assert told.count("HTTP/1.1") == 1
    assert time.monotonic() - begun_s < 1.9


def test_a_body_that_nobody_asks_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.REST_S", 0.3)
    ended = []

    async def busy(scope: Any, receive: Any, send: Any) -> None:
        del scope, send
        await asyncio.sleep(0.6)
        ended.append((await receive())["type"])

    told = heard(busy, f"GET / HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nx", pause_s=1.0)
    assert problem(told, 408, "body") == "the body did not come within 0.3 s"
    assert ended == ["http.disconnect"]


def test_who_waits_for_an_answer_in_front_is_not_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.head_limit.REST_S", 0.2)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        del scope
        await asyncio.sleep(0.5)
        body = b""
        more = True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        size = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", str(len(size)).encode())]})  # fmt: skip
        await send({"type": "http.response.body", "body": size})

    first = f"GET / HTTP/1.1\r\n{HOST}\r\n"
    second = f"POST / HTTP/1.1\r\n{HOST}Connection: close\r\nContent-Length: 200000\r\n\r\n"
    told = heard(slow, first + second, b"x" * 200_000)
    assert told.count("HTTP/1.1 200") == 2
    assert told.endswith("200000")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_and_the_refusal_arrives(
    app: ASGIApp, chunked: bool
) -> None:
    size = 3_000_000
    way = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    octets = b"x" * size
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (size, octets) if chunked else octets
    told = heard(app, f"{SESSION}{JSON}{way}\r\n\r\n", body)
    assert "limit of 100000 bytes" in problem(told, 413, "body")
    assert "connection: close" in told.lower()


def test_a_client_that_goes_away_is_no_fault_of_the_service(
    app: ASGIApp, caplog: pytest.LogCaptureFixture
) -> None:
    statuses: list[int] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        async def told(message: Any) -> None:
            statuses.append(message.get("status"))
            await send(message)

        await app(scope, receive, told)

    async def gone() -> None:
        async with served(watched) as address:
            _, writing = await asyncio.open_connection(*address)
            writing.write(f"{CAPTURE}Content-Length: 100000\r\n\r\nabc".encode())
            await asyncio.sleep(0.3)
            writing.close()
            for _ in range(40):
                await asyncio.sleep(0.05)
                if statuses:
                    return

    uvloop.run(gone())
    assert statuses[0] == 400
    assert "request failed" not in caplog.text


@pytest.mark.parametrize(
    ("lines", "version", "status", "said"),
    [
        (HOST + "Host: evil.example\r\n", "1.1", 400, "Host is given 2 times"),
        (HOST * 2, "1.1", 400, "Host is given 2 times"),
        (HOST * 2, "1.0", 400, "Host is given 2 times"),
        ("", "1.1", 400, "Host is required"),
        ("", "1.0", 421, "Host is ''"),
        ("Host: localhost:80@evil.example\r\n", "1.1", 400, "Host is no name"),
        ("Host: localhost:http\r\n", "1.1", 400, "Host is no name"),
        ("Host: [::1]x\r\n", "1.1", 400, "Host is no name"),
    ],
)
def test_a_request_has_one_host(
    app: ASGIApp, lines: str, version: str, status: int, said: str
) -> None:
    told = heard(app, f"GET /healthz HTTP/{version}\r\n{lines}Connection: close\r\n\r\n")
    assert problem(told, status, "Host").startswith(said)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:", "LOCALHOST:8470", "[::1]:1", "127.0.0.1"]
)
def test_a_host_may_have_a_port(app: ASGIApp, host: str) -> None:
    asked = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert heard(app, asked).startswith("HTTP/1.1 200")


def test_nobody_logs_in_twice_in_one_request(app: ASGIApp) -> None:
    head = f"GET /healthz HTTP/1.1\r\n{HOST}Connection: close\r\n"
    told = heard(app, head + "Authorization: Bearer a\r\n" * 2 + "\r\n")
    assert problem(told, 400, "Authorization") == "Authorization is given 2 times; one is accepted"


def test_a_coded_body_is_not_read_as_if_it_were_plain(app: ASGIApp) -> None:
    head = f"{SESSION}{JSON}Connection: close\r\nContent-Length: {len(WRONG)}\r\n"
    told = heard(app, f"{head}Content-Encoding: gzip\r\n\r\n", WRONG)
    assert problem(told, 415, "Content-Encoding").startswith("Content-Encoding is none that")
    plain = (
        f"GET /healthz HTTP/1.1\r\n{HOST}Connection: close\r\nContent-Encoding: Identity\r\n\r\n"
    )
    assert heard(app, plain).startswith("HTTP/1.1 200")


def test_over_the_unix_socket_no_host_is_asked_for(app: ASGIApp, tmp_path: Path) -> None:
    asked = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"
    assert heard(app, asked, unix=tmp_path / "socket").startswith("HTTP/1.1 200")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Content-Type: text/plain\r\n", "is 'text/plain'"),
        ("Content-Type: application/jsonp; a=json\r\n", "is 'application/jsonp; a=json'"),
        ("", "is missing"),
    ],
)
def test_a_body_of_another_kind_is_told_which_is_taken(app: ASGIApp, kind: str, said: str) -> None:
    head = f"{SESSION}{kind}Connection: close\r\nContent-Length: {len(WRONG)}\r\n\r\n"
    told = problem(heard(app, head, WRONG), 415, "Content-Type")
    assert told == f"Content-Type {said}; accepted: application/json"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/problem+JSON"])
def test_json_by_another_name_is_json(app: ASGIApp, kind: str) -> None:
    head = f"{SESSION}Content-Type: {kind}\r\nConnection: close\r\n"
    told = heard(app, f"{head}Content-Length: 3\r\n\r\n[1]")
    assert "should be a JSON object" in problem(told, 422, "body")


def test_no_body_at_all_is_no_body_of_another_kind(app: ASGIApp) -> None:
    told = heard(app, f"{SESSION}Connection: close\r\nContent-Length: 0\r\n\r\n")
    assert "is required" in problem(told, 422, "body")
