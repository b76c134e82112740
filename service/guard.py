"""What every request passes before a route sees it: Host, size and time of the body, headers.

Plain ASGI, so that it also holds for static files and for answers made by the framework itself.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import problem
from service.head_fault import of_host, of_others

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    # plotly sets the style of what it draws from its script, which counts as inline style.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
"""Content Security Policy: nothing from other hosts, and no script but the files of the console."""

SECURITY_HEADERS = {
    "Content-Security-Policy": "; ".join(f"{what} {where}" for what, where in POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer. There are no CORS headers: no other origin may read an answer."""

ADDED = [
    (name.lower().encode("latin-1"), value.encode("latin-1"))
    for name, value in {**SECURITY_HEADERS, "Cache-Control": "no-store"}.items()
]
"""What an answer gets that does not have it, as it is sent."""

READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
BODY_S = 10.0
"""Time from when a body is first asked for until it has come whole, seconds."""
LINGER_S = 1.0
"""How long is taken, and thrown away, what still comes behind a refusal that closes, seconds."""
CLOSE = {"Connection": "close"}
"""Header of an answer behind which what still comes of the request is not taken."""
OWN_PACE = "hopsight.own_pace"
"""Marks the scope of a request whose body is timed by the route that takes it."""


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


class UnixSocket:
    """The app as the Unix socket serves it: each request is marked as come from there.

    The mark is set by the server's own object and by nothing that a client sends.
    """

    MARK = "hopsight.unix_socket"

    def __init__(self, app: ASGIApp) -> None:
        """`app` is the same application that listens on TCP."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Mark and pass on."""
        await self.app({**scope, self.MARK: True}, receive, send)


def over_unix_socket(scope: Scope) -> bool:
    """Whether the request came over the Unix socket, which only the owner's user can open."""
    return bool(scope.get(UnixSocket.MARK))


class Guard:
    """ASGI middleware: Host check (against DNS rebinding), body limit, security headers."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: tuple[str, ...],
        numbers: bool = False,
        most_bytes: int,
        most_internal_bytes: int,
        larger: Mapping[str, int] | None = None,
    ) -> None:
        """`names` are the Host names served; a body may be larger over the Unix socket.

        `larger` are paths with limits of their own, whose bodies go to disk. With `numbers` any
        address is served too: no name server can point it elsewhere.
        """
        self.app = app
        self.names = frozenset(name.lower() for name in names)
        self.numbers = numbers
        self.most_bytes = most_bytes
        self.most_internal_bytes = most_internal_bytes
        self.larger = dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a foreign Host, an oversized or a slow body; pass on others, with headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        unix = over_unix_socket(scope)
        limit = self.larger.get(scope["path"], self.most_bytes)
        limit = max(limit, self.most_internal_bytes) if unix else limit
        if fault := (None if unix else of_host(scope, headers)) or of_others(headers):
            answer = problem.response(fault.status, fault.detail, {"field": fault.field})
            await answer(scope, receive, _adorned(send))
            return
        named = host_name(headers.get("host", ""))
        if not unix and not self._served(named):
            detail = f"Host is {named[:100]!r}; accepted: {', '.join(sorted(self.names))}"
            await problem.response(421, detail, {"field": "Host"})(scope, receive, _adorned(send))
            return
        if not unix and scope["method"] not in READING and _from_elsewhere(headers):
            said = "the request comes from a page of another origin"
            await problem.response(403, said, {"field": "Origin"})(scope, receive, _adorned(send))
            return
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdigit()) or int(declared[:19]) > limit:
            await _closing(_too_large(limit), scope, receive, _adorned(send))
            return
        if scope["path"] in self.larger:
            scope[OWN_PACE] = True
        timed = not unix and OWN_PACE not in scope
        await self._counted(scope, receive, _adorned(send), limit, timed=timed)

    def _served(self, named: str) -> bool:
        return named in self.names or (self.numbers and _is_address(named))

    async def _counted(
        self, scope: Scope, receive: Receive, send: Send, limit: int, *, timed: bool
    ) -> None:
        """Pass on, counting what a body really brings; a `timed` one has to come in time.

        What the framework says of a body that is cut off is less, and is not sent.
        """
        body = _Body(receive, limit, timed=timed)

        async def told(message: Message) -> None:
            if body.answered or body.refused is None:
                body.answered = True
                await send(message)

        try:
            await self.app(scope, body.receive, told)
        except problem.Problem:
            if body.refused is None:
                raise
        if body.refused is not None and not body.answered:
            said = body.refused
            answer = problem.response(said.status, said.detail, said.more, CLOSE)
            await _closing(answer, scope, receive, send)


class _Body:
    """The body of one request as it comes: not too much, and, if `timed`, not too late."""

    def __init__(self, source: Receive, limit: int, *, timed: bool) -> None:
        self.source = source
        self.limit = limit
        self.timed = timed
        """Whether it is waited for with a limit; not any more once it has come."""
        self.by_s: float | None = None
        """When it has to be whole, by the clock of the loop."""
        self.seen = 0
        self.answered = False
        """Whether an answer has begun, which cannot be taken back."""
        self.refused: problem.Problem | None = None

    async def receive(self) -> Message:
        """The next message. Raises Problem: 408, 413."""
        message = await (self._in_time() if self.timed else self.source())
        # What is asked for later is only whether the client is still there.
        self.timed = self.timed and bool(message.get("more_body"))
        self.seen += len(message.get("body", b""))
        if self.seen > self.limit:
            self.refused = problem.Problem(413, _limit_sentence(self.limit), field="body")
            raise self.refused
        return message

    async def _in_time(self) -> Message:
        if self.by_s is None:
            self.by_s = asyncio.get_running_loop().time() + BODY_S
        try:
            async with asyncio.timeout_at(self.by_s):
                return await self.source()
        except TimeoutError:
            if self.answered:  # nobody needs the body; the server's protocol ends its wait
                return await self.source()
            said = f"the body did not come within {BODY_S:g} s"
            self.refused = problem.Problem(408, said, field="body")
            raise self.refused from None


def _is_address(named: str) -> bool:
    try:
        ip_address(named)
    except ValueError:
        return False
    return True


def _from_elsewhere(headers: Headers) -> bool:
    """Whether a browser sends this for a page of another origin; other clients say nothing."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2].lower() != headers.get("host", "").lower()
    return headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}


def _limit_sentence(limit: int) -> str:
    return f"the body is larger than the limit of {limit} bytes"


def _too_large(limit: int) -> ASGIApp:
    return problem.response(413, _limit_sentence(limit), {"field": "body"}, CLOSE)


async def _closing(answer: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Send an answer that closes the connection, which ends when no more comes, or in a moment.

    To close it while the client still sends would reset it, and the client might lose the answer.
    """

    async def lingering(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while (await receive()).get("more_body"):
                        pass
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    await answer(scope, receive, lingering)


def _adorned(send: Send) -> Send:
    """`send` with the security headers added to each answer."""

    async def adorned(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = dict(message["headers"])
            added = [each for each in ADDED if each[0] not in told]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return adorned
