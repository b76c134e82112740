"""Requests to the application inside of this process: what it takes, and nothing of a client.

Client, socket and parser of HTTP are left out, and so is what writes the parameters. A client of
Python's takes a millisecond of its own to write a request of `where` and to read the answer, an
eighth of the whole.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from service.cli import COLLECT_AFTER
from service.way import give_way, take_turns

HEADERS = ((b"host", b"localhost"), (b"accept", b"*/*"))


@dataclass(frozen=True)
class Answer:
    """Status, headers (names in small letters), the whole body, and how long they took."""

    status: int
    headers: dict[str, str]
    body: bytes
    ms: float


class Application:
    """An ASGI application, asked as its server asks it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def get(
        self,
        path: str,
        given: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to a GET with parameters; SystemExit for one that is no success."""
        added = [(name.encode(), text.encode()) for name, text in (headers or {}).items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": urlencode(given or {}).encode(), "headers": [*HEADERS, *added],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        begun = perf_counter()
        await self.app(scope, receive, send)
        ms = (perf_counter() - begun) * 1e3
        told = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        answer = Answer(sent[0]["status"], told, body, ms)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise SystemExit(f"{path}: {answer.status} {body[:300]!r}")
        return answer


def as_a_service() -> None:
    """Set this process up as `hopsight serve` does; its connections to the store are open."""
    gc.set_threshold(COLLECT_AFTER)
    take_turns()
    give_way()
