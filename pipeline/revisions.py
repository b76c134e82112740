"""Revisions: which verdicts late rows have changed, and what was said before.

A verdict's first revision is `FIRST`; each time that its interval is judged anew and something of
it is another, the number grows. A verdict made of late rows alone is `ALONE`, which yields to any.
"""

from typing import NamedTuple

import polars as pl

from pipeline.tables import TABLES

ALONE, FIRST = 0, 1
KEY = ["time_ns", "flow"]
TEXTS = ("candidates", "evidence")
"""Long texts of verdicts: of those that were told a hash is kept."""
TABLE = "verdict_revisions"
OWN = frozenset({"revision", "revised_ns"})
FLOW_KEY = frozenset(
    {"tenant", "vrf", "vni", "src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol"}
)


class Numbered(NamedTuple):
    """Verdicts to be stored with their revisions, and rows of the table `verdict_revisions`."""

    verdicts: pl.DataFrame
    changes: pl.DataFrame


class Revisions:
    """What was said of intervals, as long as these are kept (`keeping`)."""

    def __init__(self, *, keeping: bool) -> None:
        self.count = 0
        self.keeping = keeping
        self._told = [compared(TABLES["verdicts"].blank)]

    def keep(self, *, keeping: bool) -> None:
        """Keep what is said from now on, or nothing."""
        self.keeping = keeping
        if not keeping:
            self._told = [self._told[0].clear()]

    def numbered(
        self, judged: pl.DataFrame, again: pl.Series, alone: pl.Series, now_ns: int | None
    ) -> Numbered:
        """Give verdicts their revisions, those of intervals judged `again` only where they changed.

        `again` and `alone` are starts of intervals; `now_ns` is the time of the newest row.
        """
        if judged.is_empty() and again.is_empty():
            return Numbered(judged, TABLES[TABLE].blank)
        is_alone = pl.col("time_ns").is_in(alone.implode())
        first = pl.when(is_alone).then(ALONE).otherwise(FIRST).cast(pl.UInt64)
        rows = judged.with_columns(
            first.alias("revision"), pl.lit(None, pl.Int64).alias("revised_ns")
        )
        if again.is_empty():
            if self.keeping and rows.height:
                self._told.append(compared(rows.filter(~is_alone)))
            return Numbered(rows, TABLES[TABLE].blank)
        here = pl.col("time_ns").is_in(again.implode())
        told = pl.concat(self._told)
        before = told.filter(here)
        revised = self._against(rows.filter(here), before, now_ns)
        self.count += revised.filter(pl.col("revision") > FIRST).height
        fresh = rows.filter(~here)
        kept = before.join(revised[KEY], on=KEY, how="anti", maintain_order="left")
        self._told = [*(each.filter(~here) for each in self._told), kept, compared(revised),
                      compared(fresh.filter(~is_alone))]  # fmt: skip
        was = before.join(revised[KEY], on=KEY, how="semi", maintain_order="left")
        more = revised.filter(pl.col("revision") > FIRST)
        names = list(TABLES[TABLE].schema)
        changes = pl.concat([was[[*names]], more[[*names]]])
        return Numbered(pl.concat([fresh, revised]).sort(KEY), changes.sort(*KEY, "revision"))

    def forget(self, before_ns: int) -> None:
        """Intervals that began before a time are not judged again."""
        first, *others = self._told
        self._told = [first.clear()] + [
            rows
            for rows in (first, *others)
            if rows.height and int(rows["time_ns"].to_numpy().max()) >= before_ns
        ]

    @staticmethod
    def _against(rows: pl.DataFrame, before: pl.DataFrame, now_ns: int | None) -> pl.DataFrame:
        """Rows that differ from what was said before, or are the first of their kind."""
        now = compared(rows).with_row_index("row")
        both = now.join(before, on=KEY, how="left", suffix="_before", maintain_order="left")
        names = [name for name in before.columns if name not in {*KEY, *OWN}]
        other = pl.any_horizontal(pl.col(n).ne_missing(pl.col(f"{n}_before")) for n in names)
        news = both.filter(other | pl.col("revision_before").is_null())
        again = news["revision_before"].is_not_null()
        return rows[news["row"]].with_columns(
            (news["revision_before"].fill_null(ALONE) + 1).alias("revision"),
            pl.when(again).then(pl.lit(now_ns, pl.Int64)).alias("revised_ns"),
        )


def compared(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Verdicts as they are compared: without the flows' keys, long texts by their hashes."""
    return verdicts.select(
        pl.exclude(*FLOW_KEY, *TEXTS, "plausibility"),
        pl.col("plausibility").list.join(",").alias("plausibility"),
        *(pl.col(name).hash().alias(name) for name in TEXTS),
    )
