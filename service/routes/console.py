"""The console: files of this package, and the chart library from its own installed package."""

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from service.problem import Problem
from service.sent_file import NO_RANGES, SentFile, without_range

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).resolve().parent.parent / "console"
CHECK_AGAIN = "no-cache"
"""Browsers keep the files and ask by ETag whether they changed, so an upgrade shows at once."""


class ConsoleFiles(StaticFiles):
    """The files of the console."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send one, whole."""
        await super().__call__(without_range(scope), receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file by its path below the folder; browsers ask for it again by its ETag."""
        answer = await super().get_response(path, scope)
        answer.headers.update({"Cache-Control": CHECK_AGAIN} | NO_RANGES)
        return answer


@router.get("/")
async def index() -> SentFile:
    """The one page of the console."""
    return SentFile(FOLDER / "index.html", headers={"Cache-Control": CHECK_AGAIN})


@router.get("/console/plotly.min.js")
async def plotly() -> SentFile:
    """The chart library as the installed plotly package brings it."""
    found = find_spec("plotly")
    places = found.submodule_search_locations if found else None
    file = Path(places[0], "package_data", "plotly.min.js") if places else Path()
    if not file.is_file():
        raise Problem(404, "the plotly package is not installed, so charts cannot be drawn")
    headers = {"Cache-Control": CHECK_AGAIN}
    return SentFile(file, media_type="text/javascript", headers=headers)


def mount(app: FastAPI) -> None:
    """Serve the folder; after all routes, so that they come first."""
    app.mount("/console", ConsoleFiles(directory=FOLDER), name="console")
