"""When a queue stands, and how likely one does of which a delay in a bucket is all that is told.

A packet waits for the queue that it finds and for the rest of the packet that is being sent when it
comes, of which any part may be left. So its delay is that queue at line rate and up to one packet
more; and it lies anywhere in the bucket that the tag names.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, inner, kernel
from pipeline.unit import BITS, SECOND

Floats = NDArray[np.float64]
NOT_TOLD = -1


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


def stood(rows: pl.DataFrame, standing: Standing) -> pl.Series:
    """How likely a queue stood.

    Of least_ns and most_ns (the ends of the delay's bucket, less the port's base), capacity_bps and
    packet_bytes (0: not known); 0 where no delay is told.
    """
    names = ("least_ns", "most_ns", "capacity_bps", "packet_bytes")
    least, most, capacity, packet = (
        arrow.fixed(rows[name].cast(pl.Float64).to_numpy()) for name in names
    )
    queue = NOT_TOLD if standing.queue_bytes is None else standing.queue_bytes
    part = shares(least, most, capacity, packet, float(standing.ns), float(queue))
    return pl.Series("stood", part)


@kernel
def shares(
    least_ns: Floats,
    most_ns: Floats,
    capacity: Floats,
    packet_bytes: Floats,
    ns: float,
    octets: float,
) -> Floats:
    """The part of each bucket in which a queue stands of more `octets`, or `ns` where not told."""
    found = np.zeros(least_ns.size)
    for row in range(least_ns.size):
        known = capacity[row] > 0
        if np.isnan(least_ns[row]) or not (known or octets < 0):
            continue
        packet = packet_bytes[row] * (BITS * SECOND) / capacity[row] if known else 0.0
        stands = ns if octets < 0 else octets * (BITS * SECOND) / capacity[row]
        least, most = least_ns[row] - stands, least_ns[row] + 1
        if not np.isnan(most_ns[row]):  # the last bucket may have no end
            most = max(most, most_ns[row])
        most -= stands
        share = (waiting(most, packet) - waiting(least, packet)) / (most - least)
        found[row] = 0.0 if share < 0 else 1.0 if share > 1 else share
    return found


@inner
def waiting(beyond: float, packet: float) -> float:
    """The integral, up to a delay, of the chance that its queue stands.

    It is `beyond` the delay of the least queue that stands; the chance rises evenly from 0 there to
    1 where it is one packet more.
    """
    rising = min(max(beyond, 0.0), packet)
    part = rising * rising / (2 * packet) if packet > 0 else 0.0
    return part + max(beyond - packet, 0.0)
