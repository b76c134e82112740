"""What an answer says of the integrity of a flow's feedback."""

from typing import Any

import polars as pl

COUNTS = (
    "feedback", "feedback_told_apart", "feedback_valid", "feedback_invalid", "feedback_replayed",
    "feedback_backwards",
)  # fmt: skip


def integrity(rows: pl.DataFrame) -> dict[str, Any]:
    """Counts of one flow's intervals and what they come to.

    `invalid`: a checksum is wrong, or a counter in a stack ran backwards; `replayed`: a reflection
    was seen again; `valid`: all that was looked at is right; `unchecked`: nothing was looked at.
    """
    told = {name: int(rows[name].sum()) for name in COUNTS}
    said = "valid" if told["feedback_valid"] else "unchecked"
    if told["feedback_replayed"]:
        said = "replayed"
    elif told["feedback_invalid"] or told["feedback_backwards"]:
        said = "invalid"
    return {"value": said, **told}
