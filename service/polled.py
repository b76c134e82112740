"""Routes that are asked again and again: an answer that the client has is not made anew."""

from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from service.access import identity_of
from service.representation import JSON, Tags, unless_held, whole
from service.told_answers import ToldAnswers
from service.turns import Turns

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


async def asked(request: Request, make: Callable[[], Awaitable[Response]]) -> Response:
    """The whole answer to a request, or while the store is busy that of a moment ago."""
    state = request.app.state
    told: ToldAnswers = state.told
    turns: Turns = state.reader.turns
    return await told.ask(Tags.key(request), busy=lambda: turns.all_taken, make=make)


class Polled(APIRoute):
    """A route whose answers have a tag (ETag), told from the store alone.

    While nothing was stored since, `If-None-Match` is answered without a question to the store.
    """

    def get_route_handler(self) -> Handler:
        """The handler behind the look at the tag."""
        handle = super().get_route_handler()

        async def polled(request: Request) -> Response:
            if request.method != "GET" or identity_of(request) is None:
                return await handle(request)
            state = request.app.state
            tags: Tags = state.tags
            revision = state.reader.store.revision
            same = tags.unchanged(request, revision)
            if same is not None:
                return same

            async def made() -> Response:
                answer = await handle(request)
                plain = answer.headers.get("content-type", "").startswith(JSON)
                if answer.status_code != HTTPStatus.OK or not plain:
                    return answer
                return whole(bytes(answer.body), b"", JSON, {})

            answer = await asked(request, made)
            if "etag" not in answer.headers:
                return answer
            tags.remember(request, revision, answer.headers["etag"])
            return unless_held(request, answer)

        return polled
