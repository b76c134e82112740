"""How much of a time an answer speaks of, asked of the store."""

import asyncio
from typing import Any

from fastapi.concurrency import run_in_threadpool

from pipeline import MOST_GAPS, length_bounds
from service.coverage import captured_share, of_rows
from service.reader import Reader
from service.routes.span import Span


async def coverage_of(
    reader: Reader,
    span: Span,
    step_ns: int | None = None,
    *,
    flow: int | None = None,
    length_ns: int | None = None,
) -> dict[str, Any]:
    """`interval`, `captured` and `completeness` of an answer about a flow, or about all of them.

    `length_ns` is that of the intervals that were asked for, `step_ns` the width of cells.
    """
    suits = span.touched | length_bounds(span.to_ns - span.from_ns, length_ns)
    asked = (
        reader.ask("coverage", **suits)
        if flow is None
        else reader.ask("flow_coverage", **suits, flow=flow)
    )
    gaps = reader.ask("capture_gaps", rows=MOST_GAPS)
    judged, missed = await asyncio.gather(asked, gaps)
    bounds = span.from_ns, span.to_ns
    return await run_in_threadpool(of_rows, bounds, judged.row(0, named=True), missed, step_ns)


async def captured_of(reader: Reader, span: Span) -> float:
    """Share of a time that live sources captured."""
    gaps = await reader.ask("capture_gaps", rows=MOST_GAPS)
    return await run_in_threadpool(captured_share, (span.from_ns, span.to_ns), gaps)
