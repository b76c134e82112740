"""What an answer says of the integrity of a flow's feedback.

Feedback is what reflects telemetry to the sender: what congestion control made of it is right only
as far as that is.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Any

import polars as pl

from pipeline.tables.flow_told import COUNTS
from pipeline.told_row import Counted

FAULTS = {
    "feedback_invalid": "with a wrong checksum",
    "feedback_replayed": "seen again",
    "feedback_backwards": "with counters that ran backwards",
}
DOUBTED = ("invalid", "replayed")


def summed(rows: Iterable[Counted]) -> dict[str, int]:
    """Counts (`told_row.parted`) of the point that saw most, by their names."""
    made: dict[tuple[int, str], Sequence[int]] = {}
    # They are few: to group them as a frame takes longer.
    for length, point, counts in rows:
        known = made.get((length, point))
        made[length, point] = counts if known is None else [*map(add, known, counts)]
    most = [*map(max, zip(*made.values(), strict=True))] or [0] * len(COUNTS)
    return dict(zip(COUNTS, most, strict=True))


def integrity(rows: pl.DataFrame) -> dict[str, Any] | None:
    """Counts of one flow's intervals, rows of query `flow_integrity`, and what they come to.

    Of each count the point that saw most speaks: several see the same reflections. None where no
    interval is kept: verdicts are kept longer.
    """
    if rows.is_empty():
        return None
    return judged({name: max(rows[name].to_list(), default=0) for name in COUNTS})


def judged(told: Mapping[str, int]) -> dict[str, Any]:
    """Counts of the point that saw most, and what they come to.

    `invalid`: a checksum is wrong, or a counter in a stack ran backwards; `replayed`: a reflection
    was seen again; `valid`: all that was looked at is right; `unchecked`: nothing was looked at.
    """
    said = "valid" if told["feedback_valid"] else "unchecked"
    if told["feedback_replayed"]:
        said = "replayed"
    elif told["feedback_invalid"] or told["feedback_backwards"]:
        said = "invalid"
    return {"value": said, **told}


def doubt(told: dict[str, Any] | None) -> str | None:
    """A sentence about feedback that cannot be trusted; None where nothing speaks against it."""
    if told is None or told["value"] not in DOUBTED:
        return None
    found = [f"{told[name]} {said}" for name, said in FAULTS.items() if told[name]]
    return f"feedback to the sender is {told['value']}: of {told['feedback']} {', '.join(found)}"
