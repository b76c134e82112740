"""How much of a time an answer speaks of, in the same words in every answer.

- `interval.covered`: share of the time for which the store has verdicts, or of a rollup the cells;
- `captured`: share that live sources captured, of several that of the one that missed most; 1 where
  none is known to have missed any;
- `completeness`: share of what happened that telemetry speaks of (`pipeline/completeness.py`), of
  many flows the mean over the intervals of all that whoever asks may see (of loads of links, which
  all see: of all), whatever the filter, times `captured`; null where no verdict knows.
"""

from typing import Any

import polars as pl

from pipeline import captured, fitting
from service.shape import interval

NOTHING: dict[str, Any] = {"interval": None, "captured": None, "completeness": None}
"""Of a store that holds nothing."""


def told(
    bounds: tuple[int, int],
    covered: float | None,
    share: float,
    completeness: float | None,
    step_ns: int | None = None,
) -> dict[str, Any]:
    """What an answer about a time says of it; `share` of it was captured."""
    return {
        "interval": interval(*bounds, step_ns) | {"covered": covered},
        "captured": share,
        "completeness": None if completeness is None else completeness * share,
    }


def of_rows(
    bounds: tuple[int, int],
    judged: pl.DataFrame,
    share: float,
    *,
    asked_ns: int | None = None,
    step_ns: int | None = None,
) -> dict[str, Any]:
    """The same by rows of query `coverage` or `flow_coverage`.

    Of several lengths of intervals that counts which answers (`lengths.fitting`); `asked_ns` is the
    one that was asked for, `step_ns` the width of cells.
    """
    window_ns = max(bounds[1] - bounds[0], 1)
    rows = {row["interval_ns"]: row for row in judged.iter_rows(named=True)}
    length = fitting(rows, window_ns, asked_ns)
    row: dict[str, Any] = {} if length is None else rows[length]
    covered = min(row.get("covered_ns", 0) / window_ns, 1.0)
    return told(bounds, covered, share, row.get("completeness"), step_ns)


def captured_share(bounds: tuple[int, int], gaps: pl.DataFrame) -> float:
    """Share of a time that live sources captured, by rows of query `capture_gaps`."""
    return captured(gaps, *bounds).share if bounds[1] > bounds[0] else 1.0
