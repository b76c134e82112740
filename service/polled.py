"""Routes that are asked again and again: an answer that the client has is not made anew."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import ClassVar

from fastapi import Request, Response
from fastapi.routing import APIRoute

from service.access import identity_of
from service.query_model import Handler, at_once
from service.reader import Reader
from service.representation import JSON, Tags, unless_held, whole
from service.told_answers import Told, ToldAnswers

ROUTE = "route"
"""Where a request's scope has the route that it is counted under."""


async def asked(request: Request, make: Callable[[], Awaitable[Response]]) -> Response:
    """The whole answer to a request, or while the store is busy that of a moment ago.

    A client that has it already hears so, now and for as long as nothing is stored.
    """
    state = request.app.state
    answers: ToldAnswers = state.told
    reader: Reader = state.reader
    told = await answers.ask(
        Tags.key(request), reader.store.revision,
        busy=lambda: reader.busy, make=make, route=request.scope.get(ROUTE),
    )  # fmt: skip
    if "etag" not in told.response.headers:
        return told.response
    # Of the store as it was when this was told: what was stored since is news.
    state.tags.remember(Tags.key(request), told.revision, told.response.headers["etag"])
    return unless_held(request, told.response)


def known(request: Request) -> Told | None:
    """The answer to a request that has a tag and holds; None: it is to be made, if it may."""
    state = request.app.state
    answers: ToldAnswers = state.told
    reader: Reader = state.reader
    told = answers.held(Tags.key(request), reader.store.revision, busy=lambda: reader.busy)
    return told if told is not None and "etag" in told.response.headers else None


class Polled(APIRoute):
    """A route whose answers have a tag (ETag), told from the store alone.

    While nothing was stored since, `If-None-Match` is answered without a question to the store.
    """

    look: ClassVar[Callable[[Reader], None] | None] = None
    """Refuses what would be made in vain."""

    def get_route_handler(self) -> Handler:
        """The handler behind the look at the tag."""
        handle = at_once(self, super().get_route_handler(), JSON)

        async def polled(request: Request) -> Response:
            if request.method != "GET" or identity_of(request) is None:
                return await handle(request)
            state = request.app.state
            tags: Tags = state.tags
            same = tags.unchanged(request, state.reader.store.revision)
            if same is not None:
                return same

            async def made() -> Response:
                if look := type(self).look:
                    look(state.reader)
                answer = await handle(request)
                plain = answer.headers.get("content-type", "").startswith(JSON)
                if answer.status_code != HTTPStatus.OK or not plain:
                    return answer
                return whole(bytes(answer.body), b"", JSON, {})

            return await asked(request, made)

        return polled


class Awaited(Polled):
    """One for which requests queue: its parameters are not looked at where that is in vain."""

    look = Reader.look
