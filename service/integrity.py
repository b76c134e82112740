"""What an answer says of the integrity of a flow's feedback."""

from typing import Any

import polars as pl

COUNTS = ("feedback", "feedback_told_apart", "feedback_replayed", "feedback_backwards")


def integrity(rows: pl.DataFrame) -> dict[str, Any]:
    """Counts of one flow's intervals and what they come to.

    `invalid`: a counter in a stack ran backwards; `replayed`: a reflection was seen again;
    `unchecked`: neither, and no checksum of these frames was looked at.
    """
    told = {name: int(rows[name].sum()) for name in COUNTS}
    said = "unchecked"
    if told["feedback_replayed"]:
        said = "replayed"
    elif told["feedback_backwards"]:
        said = "invalid"
    return {"value": said, **told}
