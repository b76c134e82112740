"""Fixed log buckets: quantiles of what spans many powers, from counts that add up in any order.

Eight buckets an octave: a quantile, told as the geometric middle of its bucket, is off by 4.4 % at
most. Values are integers of the metric's unit; bucket 0 holds what is below its first edge.
"""

from dataclasses import dataclass
from math import floor, log, log2

import numpy as np
import polars as pl

from collector import merged

PER_OCTAVE = 8
LAST = 255
REGISTERS = 256
"""Registers of a distinct count; with so many it is off by about 6 % (one standard error)."""
REGISTER_BITS = REGISTERS.bit_length() - 1
HASH_BITS = 64 - REGISTER_BITS
MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Metric:
    """One quantity that is counted in buckets; the first bucket begins at 2**`first` units."""

    name: str
    unit: str
    first: int
    doc: str


METRICS = (
    Metric("u", "1e-9", 20, "hop load u'"),
    Metric("utilization", "1e-9", 20, "share of the capacity that is sent"),
    Metric("abw", "bit/s", 17, "available bandwidth"),
    Metric("delay", "ns", 3, "delay in one hop"),
)
"""What links and paths are told by. Edges: 0.001 for ratios, 131 kbit/s, 8 ns."""


@merged
def bucket(value: int, first: int) -> int:
    """Number of the bucket of an integer value, of a metric whose first begins at 2**`first`."""
    octaves = log(float(max(value, 1))) / log(2.0) - first
    return min(max(floor(octaves * PER_OCTAVE) + 1, 0), LAST)


def middle(number: int, metric: Metric) -> float:
    """The value that a bucket stands for: the geometric middle of its edges, 0 of bucket 0."""
    return float(2 ** (metric.first + (number - 0.5) / PER_OCTAVE)) if number else 0.0


def registers(flows: pl.Series) -> pl.DataFrame:
    """`register` and `rank` of each flow: the largest ranks by register tell how many flows.

    HyperLogLog (Flajolet and others, 2007), its registers kept only where a flow has touched them.
    """
    word = flows.to_numpy().copy()
    for factor in MIX:
        word = (word ^ word >> np.uint64(30)) * np.uint64(factor)
    word ^= word >> np.uint64(31)
    rest = pl.Series("rest", word >> np.uint64(REGISTER_BITS))
    return pl.DataFrame(
        {
            "register": (word & np.uint64(REGISTERS - 1)).astype(np.uint8),
            "rank": (rest.bitwise_leading_zeros() - REGISTER_BITS + 1).cast(pl.UInt8),
        }
    )


def distinct(ranks: list[int]) -> float:
    """How many flows the ranks of touched registers stand for; small counts by empty registers."""
    empty = REGISTERS - len(ranks)
    raw = 0.7183 * REGISTERS**2 / (empty + sum(2.0**-rank for rank in ranks))
    if empty and raw <= 2.5 * REGISTERS:
        return REGISTERS * log2(REGISTERS / empty) / log2(np.e)
    return float(raw)
