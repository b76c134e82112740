"""What of a time was captured, for answers about many flows: it may be of any source."""

from fastapi.concurrency import run_in_threadpool

from pipeline import MOST_GAPS, captured
from service.reader import Reader
from service.routes.span import Span


async def captured_of(reader: Reader, span: Span) -> float:
    """Share of a time that live sources captured, of several that of the one that missed most.

    1 where none is known to have missed any.
    """
    gaps = await reader.ask("capture_gaps", rows=MOST_GAPS)
    if gaps.is_empty() or span.to_ns <= span.from_ns:
        return 1.0
    return (await run_in_threadpool(captured, gaps, span.from_ns, span.to_ns)).share
