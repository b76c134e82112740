"""What another autonomous system may see of the loads between prefixes."""

import os
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request

from service.anonymous import Anonymiser, anonymised, exported
from service.coverage import NOTHING
from service.export_key import ExportKeyError, export_key
from service.problem import Problem
from service.reader import reader_of
from service.routes.coverage import captured_of
from service.routes.span import check
from service.routes.te import MOST_ALL, WIDTHS, CellParameters, Covering, cells, covered

router = APIRouter(prefix="/api/v1/te", tags=["traffic engineering"])


@router.get("/export")
async def export(request: Request, asked: Annotated[CellParameters, Query()]) -> dict[str, Any]:
    """Loads between prefixes as ratios, their addresses anonymised and their prefixes kept."""
    state = request.app.state
    reader = reader_of(request)
    try:
        key = export_key(os.environ, state.settings.service.export_key_file)
    except ExportKeyError as error:
        raise Problem(409, f"nothing can be exported: {error}") from None
    word, width = WIDTHS[asked.interval]
    rollup = f"path_{word}"
    span = await cells(reader, asked, rollup, width)
    if span is None:
        return exported(pl.DataFrame(), NOTHING)
    check(span.from_ns, span.to_ns, state.settings.service.max_window_s)
    dscp = -1 if asked.class_ is None else asked.class_
    rows = await reader.ask(
        "te_paths", rollup=rollup, **span.bounds, dscp=dscp, rows=MOST_ALL, scope="prefix", src="",
        dst="",
    )  # fmt: skip
    made = await reader.run("anonymised", anonymised, rows, Anonymiser(key))
    of = Covering(span, width, await captured_of(reader, span))
    return exported(made, covered(rows, of))
