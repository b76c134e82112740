"""HEAD: the answer to GET without its body, as RFC 9110 (9.3.2) asks of every server."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROUTE = "route"
"""Where the router tells which route has answered."""


class Headed:
    """ASGI middleware: routes answer GET, and only the head of that is sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask for GET instead, and send no body; a stream has ended with its head."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        ended = False

        async def headed(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b""})

        asked = {**scope, "method": "GET"}
        await self.app(asked, receive, headed)
        if ROUTE in asked:
            scope[ROUTE] = asked[ROUTE]
