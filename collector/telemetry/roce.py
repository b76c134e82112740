"""RoCE's congestion marks as one column."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

FECN, BECN, ACK_REQUEST = 4, 2, 1


def columns(raw: Raw, _: CollectorSettings) -> dict[str, pl.Expr]:
    """Forward and backward congestion, and whether an acknowledgment is asked for."""
    if not raw.has("roce_fecn"):
        return {}
    forward, backward, asked = (
        pl.col(f"roce_{name}").cast(pl.UInt8) for name in ("fecn", "becn", "ack_request")
    )
    return {"roce_flags": forward * FECN + backward * BECN + asked * ACK_REQUEST}
