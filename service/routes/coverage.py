"""How much of a time an answer speaks of, asked of the store."""

import asyncio
from typing import Any

from fastapi.concurrency import run_in_threadpool

from pipeline import MOST_GAPS
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
    asked = (
        reader.ask("coverage", **span.touched)
        if flow is None
        else reader.ask("flow_coverage", **span.touched, flow=flow)
    )
    judged, share = await asyncio.gather(asked, captured_of(reader, span))
    bounds = span.from_ns, span.to_ns
    return of_rows(bounds, judged, share, asked_ns=length_ns, step_ns=step_ns)


async def captured_of(reader: Reader, span: Span) -> float:
    """Share of a time that live sources captured."""
    gaps = await reader.ask("capture_gaps", rows=MOST_GAPS)
    if gaps.is_empty():  # as it mostly is: no thread is asked for that
        return 1.0
    return await run_in_threadpool(captured_share, (span.from_ns, span.to_ns), gaps)
