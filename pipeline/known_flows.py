"""The flows that are known at a time, as rows of the table `flows`."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from collector import arrow
from pipeline.groups import among, distinct
from pipeline.heaps import Heaps
from pipeline.merging import merged
from pipeline.signals import reverse
from pipeline.tables import TABLES
from pipeline.unit import SECOND

FORGET_NS = 60 * SECOND
"""A flow that was silent for so long is forgotten; the store goes on knowing it."""
KEY_COLUMNS = ("tenant", "vrf", "vni", "src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport",
               "protocol", "conversation", "direction")  # fmt: skip
SWAPPED = {"src_hi": "dst_hi", "src_lo": "dst_lo", "sport": "dport"}
SWAPPED |= {there: here for here, there in SWAPPED.items()}
"""Columns that change places between a flow and its reverse."""


class KnownFlows:
    """Flows by their keys. `unseen` are those of which only acknowledgments were captured."""

    def __init__(self) -> None:
        self.rows = no_flows()

    def add(
        self, rows: pl.DataFrame, decisions: pl.DataFrame, told: Callable[[], pl.Series]
    ) -> pl.DataFrame:
        """Take the flows of ordered observations, and give those that were not known.

        These have every column of the table. `told` gives those with rows in open intervals; it is
        asked only where that matters.
        """
        met = flow_rows(rows)
        new = met[np.flatnonzero(~among(met["flow"], self.rows["flow"]))]
        seen = met.hstack([pl.Series("unseen", np.zeros(met.height, np.bool_))])
        news = pl.concat([seen, self._unseen(seen, told)])
        controlled = distinct(decisions[["flow", "algorithm"]], ["flow", "algorithm"])
        controlled = controlled.group_by("flow", maintain_order=True).agg(
            # HPCC++ is only tracked where its telemetry is seen, so it outranks the marks.
            pl.col("algorithm").cast(pl.String).max().alias("cc")
        )
        news = news.join(controlled, on="flow", how="left")
        self.join([news], told)
        return pl.concat([TABLES["flows"].blank, new], how="diagonal_relaxed")

    def join(self, news: Sequence[pl.DataFrame], told: Callable[[], pl.Series]) -> None:
        """Take rows of flows, and forget those that were silent for long and are not `told` of."""
        self.rows = as_one([self.rows, *news])
        alive = self.rows["last_ns"] >= self.rows["last_ns"].to_numpy().max(initial=0) - FORGET_NS
        if not alive.all():
            self.rows = self.rows.filter(alive | pl.col("flow").is_in(told().implode()))

    def _unseen(self, seen: pl.DataFrame, told: Callable[[], pl.Series]) -> pl.DataFrame:
        """The reverse flows of those that were seen, where these are known of and never were."""
        unseen = self.rows["unseen"]
        captured = pl.concat([self.rows["flow"].filter(~unseen), seen["flow"]])
        alone = seen[np.flatnonzero(~among(reverse(seen), captured))]
        if alone.is_empty():
            return alone
        # With all that is known of the flow that was seen: times do not hang on how rows were cut.
        both = as_one([self.of(alone["flow"]), alone])
        wanted = pl.concat([told(), self.rows["flow"].filter(unseen)])
        reverse_rows = reversed_rows(both.select(seen.columns))
        return reverse_rows[np.flatnonzero(among(reverse_rows["flow"], wanted))]

    def of(self, flows: pl.Series) -> pl.DataFrame:
        """The rows of some flows."""
        return self.rows[np.flatnonzero(among(self.rows["flow"], flows))]


def no_flows() -> pl.DataFrame:
    """Flows with `unseen`, of which there are none."""
    return TABLES["flows"].blank.with_columns(pl.lit(value=False).alias("unseen"))


def as_one(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """What is known of flows as one row each."""
    return merged(parts, "flows", TABLES["flows"].order, {"unseen": "min"})


def flow_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The flows of observations as rows of the table `flows`, without their congestion control."""
    heaps, times = Heaps(rows, ["flow"]), rows["time_ns"]
    key = ["flow", *(name for name in KEY_COLUMNS if name in rows.columns)]
    seen = [heaps.least(times).alias("first_ns"), heaps.most(times).alias("last_ns")]
    flows = rows[key][heaps.first].hstack(seen)
    if "dscp" not in rows.columns:
        return flows
    data = (arrow.values(rows["payload_bytes"]) > 0) & ~arrow.nulls(rows["dscp"])
    first = heaps.first_of(data)
    told = rows["dscp"][np.maximum(first, 0)].set(pl.Series(first < 0), None)
    return flows.hstack([told])


def reversed_rows(flows: pl.DataFrame) -> pl.DataFrame:
    """The reverse flows of flows: the same times, the ends swapped, their class not known."""
    return flows.select(
        reverse(flows),
        *(
            pl.col(SWAPPED.get(name, name)).alias(name)
            for name in flows.columns
            if name not in ("flow", "direction", "dscp", "unseen")
        ),
        (1 - pl.col("direction")).cast(pl.UInt8).alias("direction"),
        *[pl.lit(None, pl.UInt8).alias("dscp")] * ("dscp" in flows.columns),
        pl.lit(value=True).alias("unseen"),
    ).select(flows.columns)
