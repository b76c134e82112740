"""What every request passes before a route sees it: Host, size of the body, headers.

Plain ASGI, so that it also holds for static files and for answers made by the framework itself.
"""

from collections.abc import Mapping
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import problem

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

READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


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
        """Refuse a foreign Host or an oversized body, otherwise pass on with headers added."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        unix = over_unix_socket(scope)
        limit = self.larger.get(scope["path"], self.most_bytes)
        limit = max(limit, self.most_internal_bytes) if unix else limit
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
            await _too_large(limit)(scope, receive, _adorned(send))
            return
        await self._counted(scope, receive, _adorned(send), limit)

    def _served(self, named: str) -> bool:
        return named in self.names or (self.numbers and _is_address(named))

    async def _counted(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        """Pass on, counting what a body without a declared length really brings."""
        seen, begun = 0, False

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise problem.Problem(413, _limit_sentence(limit), field="body")
            return message

        async def told(message: Message) -> None:
            nonlocal begun
            if begun or seen <= limit:
                begun = True
                await send(message)

        try:
            await self.app(scope, counting, told)
        except problem.Problem:
            if seen <= limit:
                raise
        if seen > limit and not begun:  # what the framework says of a body that is cut off is less
            await _too_large(limit)(scope, receive, send)


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
    return problem.response(413, _limit_sentence(limit), {"field": "body"})


def _adorned(send: Send) -> Send:
    """`send` with the security headers added to each answer."""

    async def adorned(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return adorned
