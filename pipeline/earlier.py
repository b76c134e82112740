"""An earlier life: what it stored of intervals that had not ended at every length when it did.

Whoever goes on where it ended reads no frame again that it has counted. Its sums of the shortest
intervals are parts of longer ones that have begun, and rows that it did not come to may add to
them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline.asked import Asked
from pipeline.kept_rows import conform, known_of
from pipeline.sums import Sums


class Earlier(NamedTuple):
    """What is known of its newest intervals."""

    sums: Sums
    """Sums of the shortest length, from where the last intervals of all lengths began."""
    flows: pl.DataFrame
    """Rows of the table `flows`, of those that are summed; of `unseen` ones no data frame was."""
    first_ns: int
    """From when on frames were captured, as far as these intervals reach back."""
    ended_ns: int
    """Until when intervals of the shortest length had ended."""
    until_ns: int
    """When the interval of the longest length ends that had begun by then."""

    def goes_on(self, time_ns: int) -> bool:
        """Whether frames from a time on may belong to what is summed; other files may be far."""
        return int(self.sums.times[0]) <= time_ns < self.until_ns

    def begun_ns(self, interval_ns: int) -> int:
        """When the interval of a length began that had not ended."""
        return self.ended_ns - self.ended_ns % interval_ns


def left_open(store: Asked, lengths_ns: Sequence[int], lateness_ns: int) -> Earlier | None:
    """What a store has of whoever filled it before; None: nothing. Raises StoreError.

    `lengths_ns` are those of the intervals, the shortest first.
    """
    asked = {"interval_ns": lengths_ns[0]}
    ended_ns = store.query("earlier_end", **asked)["ended_ns"][0]
    if ended_ns is None:
        return None
    begun_ns = ended_ns - ended_ns % lengths_ns[-1]
    asked |= {"from_ns": min(begun_ns, ended_ns - lateness_ns), "to_ns": ended_ns}
    sums = Sums(*(_rows(store, table, asked) for table in ("flow_intervals", "hop_intervals")))
    sent = sums.flows.filter(pl.col("frames") > 0)["flow"]
    unseen = (~pl.col("flow").is_in(sent.implode())).alias("unseen")
    flows = _rows(store, "flows", asked).with_columns(unseen)
    window = {"from_ns": begun_ns - lengths_ns[-1], "to_ns": ended_ns}
    first_ns = store.query("earlier_frame", **window)["first_ns"][0]
    return Earlier(sums, flows, max(begun_ns, first_ns or 0), ended_ns, begun_ns + lengths_ns[-1])


def _rows(store: Asked, table: str, asked: dict[str, int]) -> pl.DataFrame:
    """Rows of a table as a worker has them."""
    return conform(table, known_of(table, store.query(f"earlier_{table}", **asked)))
