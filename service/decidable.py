"""What could not be decided, and from where on: said behind the decisions, on standard error."""

from collections.abc import Iterator, Mapping

import polars as pl

from replay import WHY
from service.flow_names import end_text

MOST = 10
"""Flows that are named; the others are counted."""
BY = ("flow", "algorithm", "quality", "why")


class Decidable:
    """Counts how far states could be trusted, and conversations of which one side was missing."""

    def __init__(self) -> None:
        self.standings: list[pl.DataFrame] = []
        self.directions: list[pl.DataFrame] = []

    def see(self, rows: pl.DataFrame) -> None:
        """Take observations."""
        self.directions.append(
            rows.group_by("conversation").agg(
                pl.col("direction").min().alias("least"), pl.col("direction").max().alias("most")
            )
        )

    def add(self, decisions: pl.DataFrame) -> None:
        """Take decisions that are told."""
        named = decisions.with_columns(pl.col("algorithm", "quality", "why").cast(pl.String))
        self.standings.append(
            named.group_by(BY).agg(pl.col("time_ns", "frame").first(), pl.len().alias("decisions"))
        )

    def notes(self, keys: pl.DataFrame, counters: Mapping[str, int]) -> Iterator[str]:
        """Sentences; none where everything is exact."""
        yield from self.missing()
        if counters.get("late"):
            yield (
                f"{counters['late']:,} rows came later than pipeline.disorder_us allows: decisions"
                " of their flows are in doubt from there on"
            )
        doubts = self.doubts()
        flows = list(doubts["flow"].unique(maintain_order=True))
        names = {row["flow"]: row for row in keys.iter_rows(named=True)}
        for flow in flows[:MOST]:
            name = " → ".join(
                end_text(names[flow][end], names[flow][f"{end[0]}port"]) for end in ("src", "dst")
            ) if flow in names else str(flow)  # fmt: skip
            for row in doubts.filter(flow=flow).iter_rows(named=True):
                reason = f": {WHY[row['why']]}" if row["why"] in WHY else ""
                yield (
                    f"{name} {row['algorithm']}: {row['quality']} from frame {row['frame']} on"
                    f" ({row['decisions']:,} decisions){reason}"
                )
        if len(flows) > MOST:
            yield f"{len(flows) - MOST:,} more flows have states that are not exact"

    def doubts(self) -> pl.DataFrame:
        """Standings that are not exact, with the first decision of each."""
        if not self.standings:
            return pl.DataFrame(schema={"flow": pl.UInt64})
        every = pl.concat(self.standings).sort("time_ns", "frame")
        merged = every.group_by(BY, maintain_order=True).agg(
            pl.col("time_ns", "frame").first(), pl.col("decisions").sum()
        )
        return merged.filter(pl.col("quality") != "exact")

    def missing(self) -> Iterator[str]:
        """Conversations of which only one direction was seen."""
        if not self.directions:
            return
        seen = (
            pl.concat(self.directions)
            .group_by("conversation")
            .agg(pl.col("least").min(), pl.col("most").max())
        )
        alone = seen.filter(pl.col("least") == pl.col("most")).height
        if alone:
            yield (
                f"{alone:,} of {seen.height:,} conversations were seen in one direction only:"
                " what needs data and acknowledgments is not decided of them"
            )
