"""What a report keeps of decisions while they pass: series, counts, and those that mattered."""

from dataclasses import dataclass

import polars as pl

from replay import trace
from service.decision_output import Output, Told

KEY = ("flow", "algorithm")
LEVELS = ("U", "alpha", "delay_ns", "MPD")
"""What an algorithm steers by; the first that it has is drawn."""
WINDOWS = ("W", "cwnd")
"""What it steers."""
IN_PACKETS = ("swift", "poseidon")
"""Algorithms whose cwnd is in packets; all other windows are in bytes."""
LARGEST = 8
"""Changes of the window of each flow that are told."""
SERIES = pl.Schema({"time_ns": pl.Int64, "level": pl.Float64, "window": pl.Float64})


@dataclass(frozen=True)
class Course:
    """One flow under one algorithm: its series, how often each branch ran, what mattered."""

    flow: int
    algorithm: str
    series: pl.DataFrame
    branches: dict[str, int]
    mattered: pl.DataFrame
    level: str
    window: str

    def unit(self, name: str) -> str:
        """The unit of what it steers or steers by; none of a ratio."""
        if name in WINDOWS:
            return "packets" if self.algorithm in IN_PACKETS else "bytes"
        return {"delay_ns": "ns", "MPD": "ns"}.get(name, "")

    def with_unit(self, name: str) -> str:
        """Its name with its unit."""
        return ", ".join(filter(None, (name, self.unit(name))))


class Kept(Output):
    """Takes decisions; keeps three numbers of each, and whole only those that may matter."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self.series: list[pl.DataFrame] = []
        self.counts: list[pl.DataFrame] = []
        self.chosen: list[pl.DataFrame] = []
        self.last = pl.DataFrame(
            schema={"flow": pl.UInt64, "algorithm": pl.String, "before": pl.Float64,
                    "stood": pl.String}
        )  # fmt: skip
        self.names: dict[str, tuple[str, str]] = {}
        self.keys = pl.DataFrame()

    def put(self, decisions: pl.DataFrame, keys: pl.DataFrame) -> None:
        """Take decisions with the keys of their flows, in order."""
        self.decisions += decisions.height
        self.keys = keys
        plain = decisions.with_columns(pl.col("algorithm", "branch", "quality").cast(pl.String))
        for (name,), part in plain.group_by("algorithm", maintain_order=True):
            self._take(str(name), part)

    def _take(self, name: str, part: pl.DataFrame) -> None:
        """Decisions of one algorithm."""
        level = next((each for each in LEVELS if each in part and part[each].count()), "")
        window = next((each for each in WINDOWS if each in part and part[each].count()), "")
        known = self.names.get(name, ("", ""))
        self.names[name] = (level or known[0], window or known[1])
        rows = part.with_columns(value(level, "level"), value(window, "window"))
        self.series.append(rows.select(*KEY, *SERIES))
        self.counts.append(rows.group_by(*KEY, "branch").len())
        rows = rows.join(self.last, on=KEY, how="left", maintain_order="left")
        rows = rows.with_columns(
            pl.col("window").shift().over(KEY).fill_null(pl.col("before")).alias("before"),
            pl.col("quality").shift().over(KEY).fill_null(pl.col("stood")).alias("stood"),
        )
        larger = pl.max_horizontal("window", "before")
        rows = rows.with_columns(
            ((pl.col("window") - pl.col("before")) / larger).alias("change"),
            (pl.col("quality") != pl.col("stood")).fill_null(value=False).alias("turned"),
        )
        self.chosen.append(mattering(rows))
        ends = rows.group_by(KEY).agg(
            pl.col("window").last().alias("before"), pl.col("quality").last().alias("stood")
        )
        self.last = pl.concat([self.last.join(ends, on=KEY, how="anti"), ends], how="diagonal")

    def courses(self) -> list[Course]:
        """All flows, those with the most decisions first."""
        if not self.series:
            return []
        counts = pl.concat(self.counts).group_by(*KEY, "branch").agg(pl.col("len").sum())
        order = (
            counts.group_by(KEY)
            .agg(pl.col("len").sum())
            .sort("len", *KEY, descending=[True, False, False])
        )
        series = pl.concat(self.series)
        chosen = mattering(pl.concat(self.chosen, how="diagonal_relaxed"))
        return [
            self._course(flow, name, counts, series, chosen) for flow, name, _ in order.iter_rows()
        ]

    def _course(
        self, flow: int, name: str, counts: pl.DataFrame, series: pl.DataFrame, chosen: pl.DataFrame
    ) -> Course:
        """One flow under one algorithm."""
        one = (pl.col("flow") == flow) & (pl.col("algorithm") == name)
        ran = counts.filter(one).sort("len", "branch", descending=[True, False])
        told = self.told
        mattered = trace(
            chosen.filter(one).sort("time_ns", maintain_order=True), self.keys, told.eta,
            told.max_stage, told.upper,
        )  # fmt: skip
        branches = dict(zip(ran["branch"], ran["len"], strict=True))
        return Course(
            flow, name, series.filter(one).select(*SERIES), branches, mattered, *self.names[name]
        )


def value(name: str, alias: str) -> pl.Expr:
    """A column as a number; null where there is none."""
    column = pl.col(name).cast(pl.Float64).fill_nan(None) if name else pl.lit(None, pl.Float64)
    return column.alias(alias)


def mattering(rows: pl.DataFrame) -> pl.DataFrame:
    """First decisions of branches, largest changes, and where the standing of the state turned."""
    numbered = rows.with_row_index("row").drop("row_before", strict=False)
    first = numbered.unique((*KEY, "branch"), keep="first", maintain_order=True)["row"]
    size = pl.col("change").abs()
    moved = numbered.filter(size.is_not_null() & (size > 0)).sort(
        size, descending=True, maintain_order=True
    )
    largest = moved.group_by(KEY, maintain_order=True).head(LARGEST)["row"]
    turned = numbered.filter("turned")["row"]
    kept = pl.concat([first, largest, turned]).unique()
    return numbered.filter(pl.col("row").is_in(kept.implode())).drop("row")
