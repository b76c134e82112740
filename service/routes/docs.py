"""The documentation, read in the console."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from service.documentation import page
from service.problem import Problem
from service.routes.console import CHECK_AGAIN, FOLDER
from service.version import version

router = APIRouter(include_in_schema=False)


@router.get("/docs/{name:path}")
async def docs(name: str) -> Response:
    """A page of the documentation by its name; without one the first."""
    asked = name.strip("/") or "index"
    shell = (FOLDER / "index.html").read_text(encoding="utf-8")
    found = page(shell, asked, version())
    if found is None:
        raise Problem(404, f"there is no page {asked[:100]!r}; /docs/ lists them")
    return HTMLResponse(found, headers={"Cache-Control": CHECK_AGAIN})
