"""Answers that hold are told at once, past routes and their parameters.

A request that is asked again was looked at when its answer was made, for the same people; to look
at it again takes three times as long as to tell what is known.
"""

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.access import IDENTITY
from service.polled import ROUTE, known
from service.representation import unless_held


class Held:
    """ASGI middleware behind the login: whoever asks is known, and asks no more than they may."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell what is known, or pass on."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope.get(IDENTITY):
            request = Request(scope)
            if told := known(request):
                scope[ROUTE] = told.route
                await unless_held(request, told.response)(scope, receive, send)
                return
        await self.app(scope, receive, send)
