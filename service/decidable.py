"""What could not be decided, and from where on: said behind the decisions, on standard error."""

from collections.abc import Iterable, Iterator, Mapping

import polars as pl
import typer

from pipeline import end_text
from replay import reason, reason_names
from service.text import several
from service.window_step import Parameters, step_assumed

MOST = 10
"""Flows that are named; the others are counted."""
MOST_PARTS = 64
BY = ("flow", "algorithm", "quality", "why")


class Decidable:
    """Counts how far states could be trusted, and conversations of which one side was missing."""

    def __init__(self) -> None:
        self.standings: list[pl.DataFrame] = []
        self.directions: list[pl.DataFrame] = []

    def see(self, rows: pl.DataFrame) -> None:
        """Take observations."""
        self.directions.append(
            rows.group_by("conversation", maintain_order=True).agg(
                pl.col("direction").min().alias("least"), pl.col("direction").max().alias("most"),
                pl.col("flow", "source", "frame").first(),
                (pl.col("payload_bytes") > 0).any().alias("data"),
            )
        )  # fmt: skip
        if len(self.directions) > MOST_PARTS:
            self.directions = [merged(self.directions)]

    def add(self, decisions: pl.DataFrame) -> None:
        """Take decisions that are told."""
        named = decisions.with_columns(
            pl.col("algorithm", "quality").cast(pl.String), reason_names(decisions).alias("why")
        )
        self.standings.append(
            named.group_by(BY).agg(pl.col("time_ns", "frame").first(), pl.len().alias("decisions"))
        )

    def notes(self, keys: pl.DataFrame, counters: Mapping[str, int]) -> Iterator[str]:
        """Sentences; none where everything is exact."""
        yield from self.missing(keys)
        if gaps := counters.get("gaps"):
            places = "in one place" if gaps == 1 else f"in {gaps:,} places"
            yield f"frames of flows are missing {places}, by their sequence numbers"
        if counters.get("late"):
            yield (
                f"{counters['late']:,} rows came later than pipeline.disorder_us allows: decisions"
                " of their flows are in doubt from there on"
            )
        doubts = self.doubts()
        flows = list(doubts["flow"].unique(maintain_order=True))
        for flow in flows[:MOST]:
            name = name_of(flow, keys)
            for row in doubts.filter(flow=flow).iter_rows(named=True):
                said = reason(row["why"])
                because = f": {said}" if said else ""
                yield (
                    f"{name} {row['algorithm']}: {row['quality']} from frame {row['frame']} on"
                    f" ({several(row['decisions'], 'decision')}){because}"
                )
        if len(flows) > MOST:
            yield f"{len(flows) - MOST:,} more flows have states that are not exact"

    def step_assumed(self, parameters: Parameters) -> Iterator[str]:
        """What is taken for granted of the windows of these decisions."""
        ran = {name for each in self.standings for name in each["algorithm"].unique()}
        yield from step_assumed(ran, parameters)

    def doubts(self) -> pl.DataFrame:
        """Standings that are not exact, with the first decision of each."""
        if not self.standings:
            return pl.DataFrame(schema={"flow": pl.UInt64})
        every = pl.concat(self.standings).sort("time_ns", "frame")
        merged = every.group_by(BY, maintain_order=True).agg(
            pl.col("time_ns", "frame").first(), pl.col("decisions").sum()
        )
        return merged.filter(pl.col("quality") != "exact")

    def missing(self, keys: pl.DataFrame) -> Iterator[str]:
        """Conversations of which only one direction was seen, by name and from where on."""
        if not self.directions:
            return
        seen = merged(self.directions)
        alone = seen.filter(pl.col("least") == pl.col("most"))
        if not alone.height:
            return
        yield (
            f"{alone.height:,} of {seen.height:,} conversations were seen in one direction only:"
            " what needs data and acknowledgments is not decided of them"
        )
        named = alone.join(keys.select("flow"), on="flow", how="semi", maintain_order="left")
        for row in named.head(MOST).iter_rows(named=True):
            what = "no acknowledgments came back" if row["data"] else "its data was not seen"
            yield (
                f"{name_of(row['flow'], keys)}: {what}, from {row['source']} frame"
                f" {row['frame']} on"
            )


def say(notes: Iterable[str]) -> None:
    """Sentences on standard error."""
    for note in notes:
        typer.echo(f"hopsight: {note}", err=True)


def merged(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Parts in order as one, a row a conversation."""
    return (
        pl.concat(parts)
        .group_by("conversation", maintain_order=True)
        .agg(
            pl.col("least").min(), pl.col("most").max(), pl.col("flow", "source", "frame").first(),
            pl.col("data").any(),
        )
    )  # fmt: skip


def name_of(flow: int, keys: pl.DataFrame) -> str:
    """A flow by its ends."""
    named = keys.filter(flow=flow).head(1).to_dicts()
    if not named:
        return str(flow)
    ends = (end_text(named[0][end], named[0][f"{end[0]}port"]) for end in ("src", "dst"))
    return " → ".join(ends)
