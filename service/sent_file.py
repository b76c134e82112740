"""Files as answers, always whole."""

from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

NO_RANGES = {"Accept-Ranges": "none"}


def without_range(scope: Scope) -> Scope:
    """A request for all of a file.

    Ranges may be left alone (RFC 9110, 14.2); wrong ones the library answers in plain text.
    """
    return {**scope, "headers": [each for each in scope["headers"] if each[0] != b"range"]}


class SentFile(FileResponse):
    """A file, whatever part of it is asked for."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        self.headers.update(NO_RANGES)
        await super().__call__(without_range(scope), receive, send)
