"""When a queue stands, and how likely one does of which a delay in a bucket is all that is told.

A packet waits for the queue that it finds and for the rest of the packet that is being sent when it
comes, of which any part may be left. So its delay is that queue at line rate and up to one packet
more; and it lies anywhere in the bucket that the tag names.
"""

from typing import NamedTuple

import polars as pl

from pipeline.unit import BITS, SECOND


class Standing(NamedTuple):
    """When a queue stands: above so many bytes where they are told, else so many ns to drain."""

    ns: float
    queue_bytes: int | None = None

    def told(self, queue_bytes: pl.Expr, drained_ns: pl.Expr) -> pl.Expr:
        """Whether a queue stands; one that is not known does not."""
        stands = drained_ns > self.ns
        if self.queue_bytes is not None:
            stands = queue_bytes > self.queue_bytes
        return stands.fill_null(value=False)

    def beyond(self, delay_ns: pl.Expr, capacity_bps: pl.Expr) -> pl.Expr:
        """By how much a delay is longer than that of the least queue that stands."""
        if self.queue_bytes is None:
            return delay_ns - self.ns
        return delay_ns - self.queue_bytes * (BITS * SECOND) / capacity_bps


def stood(standing: Standing) -> pl.Expr:
    """How likely a queue stood.

    Of least_ns and most_ns (the ends of the delay's bucket, less the port's base), capacity_bps and
    packet_bytes (0: not known).
    """
    capacity = pl.when(pl.col("capacity_bps") > 0).then("capacity_bps")
    packet = (pl.col("packet_bytes") * (BITS * SECOND) / capacity).fill_null(0.0)
    least = standing.beyond(pl.col("least_ns"), capacity)
    # The last bucket may have no end.
    most = standing.beyond(pl.max_horizontal("most_ns", pl.col("least_ns") + 1), capacity)
    share = (waiting(most, packet) - waiting(least, packet)) / (most - least)
    return share.clip(0.0, 1.0).fill_null(0.0).alias("stood")


def waiting(beyond: pl.Expr, packet: pl.Expr) -> pl.Expr:
    """The integral, up to a delay, of the chance that its queue stands.

    The chance rises evenly from 0 where the delay is that of the least queue that stands to 1 where
    it is one packet more.
    """
    rising = beyond.clip(0.0, packet)
    part = pl.when(packet > 0).then(rising * rising / (2 * packet)).otherwise(0.0)
    return part + (beyond - packet).clip(0.0)
