"""The audit log: who asked for a change, when, what, and what was answered."""

import json
import re
import time
from collections import Counter
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline import Store
from service.access import IDENTITY
from service.audit_log import AuditLog, left_out
from service.bucket import Buckets
from service.metrics import Metrics
from service.tokens import PREFIX

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NOT_TOLD = ("/internal/",)
"""Rows of other processes of the same user, which have their own names in the store."""
STRANGERS_PER_S, STRANGERS_BURST = 0.1, 100.0
"""Rows of strangers who are refused, wherever they come from: nobody fills the log from outside."""
REFUSED_PER_S, REFUSED_BURST = 1.0, 100.0
"""The same of each login."""
LEFT_OUT_OF = "strangers_left_out", "refused_left_out"
"""What the log calls those that have no row, of nobody known and of logins."""
MOST_READ, MOST_BODY, MOST_TEXT = 1 << 17, 4096, 256
"""Octets of a body that are read, and most letters of a row's body and of one text in it."""
SECRETS = ("token", "passw", "pwd", "secret", "credential", "key", "authorization")
"""What a field's name has in it when its value is left out."""
LEFT_OUT = "left out"
SECRET = re.compile(rf"{PREFIX}[\w-]{{6,}}|\beyJ[\w-]+\.[\w.-]*")
"""Tokens of ours and JSON Web Tokens, wherever they stand."""
WHO = "hopsight.logged_in"
"""Where a request's scope has who logged in by it."""


class Audited:
    """ASGI middleware that keeps a row of every request that would change something."""

    def __init__(self, app: ASGIApp, *, store: Store, metrics: Metrics) -> None:
        self.app = app
        self.log = AuditLog(store, metrics)
        self.metrics = metrics
        self.strangers = Buckets(STRANGERS_PER_S, STRANGERS_BURST)
        self.refused = Buckets(REFUSED_PER_S, REFUSED_BURST)
        self.left_out: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and keep what was answered."""
        changes = scope["type"] == "http" and scope["method"] in CHANGING
        if not changes or scope["path"].startswith(NOT_TOLD):
            await self.app(scope, receive, send)
            return
        body, status = bytearray(), 500

        async def heard() -> Message:
            message = await receive()
            body.extend(message.get("body", b"")[: MOST_READ + 1 - len(body)])
            return message

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, heard, told)
        finally:
            if status != HTTPStatus.TOO_MANY_REQUESTS and self._worth(scope, status):
                await self.log.keep(row(scope, bytes(body), status), *self._untold())

    def _worth(self, scope: Scope, status: int) -> bool:
        """Whether a row is kept: of those who are refused only so many, the rest counted."""
        if status < HTTPStatus.BAD_REQUEST:
            return True
        identity = scope.get(IDENTITY)
        bucket, who = (self.refused, identity.name) if identity else (self.strangers, "")
        if not bucket.wait(who, time.monotonic()):
            return True
        self.left_out[LEFT_OUT_OF[identity is not None]] += 1
        self.metrics.count("hopsight_audit_rows_total", outcome="left_out")
        return False

    def _untold(self) -> list[dict[str, Any]]:
        """Rows that say how many have none since the row before."""
        told, self.left_out = self.left_out, Counter()
        return [left_out(name, count) for name, count in told.items()]


def row(scope: Scope, body: bytes, status: int) -> dict[str, Any]:
    """One row of the log."""
    identity = scope.get(WHO) or scope.get(IDENTITY)
    query = told_query(scope.get("query_string", b"").decode("latin-1"))
    path = scope["path"] + (f"?{query}" if query else "")
    return {
        "time_ns": time.time_ns(),
        "who": identity.name if identity else "",
        "address": str((scope.get("client") or ("",))[0]),
        "method": scope["method"],
        "path": masked(path)[:MOST_BODY],
        "body": without_secrets(body),
        "status": status,
    }


def told_query(query: str) -> str:
    """A query as it came, without the values of what should be in none."""
    told = []
    for part in re.split("([&;])", query):
        name, equals, value = part.partition("=")
        # Text that is a token only when it is read is one all the same.
        hidden = secret(unquote_plus(name)) or (
            SECRET.search(unquote_plus(value)) and not SECRET.search(value)
        )
        told.append(f"{name}={LEFT_OUT}" if equals and hidden else part)
    return "".join(told)


def secret(name: str) -> bool:
    """Whether a field has a name whose value is left out."""
    return any(word in name.lower() for word in SECRETS)


def without_secrets(body: bytes) -> str:
    """A JSON body as it may be kept; of anything else only how long it is."""
    if not body:
        return ""
    try:
        told = json.loads(body) if len(body) <= MOST_READ else None
        text = written(kept(told)) if isinstance(told, dict) else ""
    except (ValueError, RecursionError):
        text = ""
    if not text:
        return json.dumps({"bytes": len(body)} if len(body) <= MOST_READ else {"bytes": "many"})
    return text if len(text) <= MOST_BODY else written({"begins": text[: MOST_BODY // 2]})


def written(value: Any) -> str:
    """JSON as people read it: letters as they are, and halves of letters as a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def kept(value: Any) -> Any:
    """A value of JSON without what no log should hold, its texts cut."""
    if isinstance(value, dict):
        return {
            masked(name): LEFT_OUT if secret(name) else kept(each) for name, each in value.items()
        }
    if isinstance(value, list):
        return [kept(each) for each in value]
    return masked(value) if isinstance(value, str) else value


def masked(text: str) -> str:
    """A text without tokens in it, and not too long."""
    told = SECRET.sub(LEFT_OUT, text)
    return told if len(told) <= MOST_TEXT else f"{told[:MOST_TEXT]}…"
