"""Beside: what tags promise of a port, next to what INT, reports or marks show of the same port.

A port's load is told by byte counters, or where stacks have none by utilisation, queue or delay
(`occupancy`). Time is cut into stretches of 250 us, about the window over which a port measures its
bandwidth. A stretch decides where the port's own counters, here and in the two stretches before,
leave little; it contradicts where even the smallest promise of all tags that crossed the port is
larger. Where the counters leave little and no tag is known to have crossed, the stretch is silent.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.health import edges
from pipeline.health.claims import CLAIM_KEY, claims_of
from pipeline.health.occupancy import BARE, BY_QUEUE, BY_UTILISATION, OCCUPANCY, left, occupancy
from pipeline.health.place import HOST, Places
from pipeline.health.tally import FIRST, first_frame, joined
from pipeline.health.watched import Watched
from pipeline.order import NEVER
from pipeline.sender import CE
from pipeline.unit import BITS, SECOND

BIN_NS = 250_000
BACK = 2
"""Stretches before that must show the same: a window of the port may have begun there."""
MARGIN = 0.25
"""Share of the capacity by which a promise must be too large."""
LITTLE = 0.4
"""Share of the capacity that may be left where a stretch decides."""
GAP = 4
"""Stretches between two records of a port beyond which nothing is concluded."""
WAIT_NS = (GAP + 1) * BIN_NS
"""How much later than its end a stretch can be decided."""
FEW_MARKS = 4
LOAD_KEY = ["bin", "port"]
LOAD = {"bin": pl.Int64, "port": pl.String, "free": pl.Float64, "by": pl.String,
        "seen_ns": pl.Int64, "source": pl.String, "frame": pl.UInt64}  # fmt: skip
COUNTER = ("tx_bytes", "ts_ns")
BY_STACKS = ("int", BY_UTILISATION, BY_QUEUE)
"""What decides, where it is INT, IOAM or reports."""


class Beside:
    """Keeps stretches until they are whole."""

    def __init__(self) -> None:
        self.claims = pl.DataFrame()
        self.counters = pl.DataFrame()
        self.marks = pl.DataFrame()
        self.stacks = pl.DataFrame()
        self.named = pl.DataFrame()
        self.buckets = pl.DataFrame()
        """What the last closing found of buckets beside counters (`edges.compared`)."""
        self.closed_bin = NEVER

    def add(self, rows: pl.DataFrame, pairs: pl.DataFrame, places: Places) -> None:
        """Count a batch: its tags, its stacks, and marks of pairs."""
        if not places.ports:
            return
        rows = rows.with_columns((pl.col("time_ns") // BIN_NS).alias("bin"))
        if pairs.height:
            pairs = pairs.with_columns((pl.col("z_time_ns") // BIN_NS).alias("bin"))
        self.claims = summed([self.claims, *claims_of(rows, pairs, places)], CLAIM_KEY)
        self.counters = summed([self.counters, *counters_of(rows, places)], LOAD_KEY)
        told = occupancy(rows, places, BIN_NS)
        self.stacks = joined([self.stacks, *told], LOAD_KEY, OCCUPANCY)
        self.named = joined([self.named, *edges.named(rows, places)], edges.KEY, edges.JOINS)
        if pairs.height:
            self.marks = summed([self.marks, marks_of(pairs, places)], LOAD_KEY)

    def taken(self) -> dict[str, pl.DataFrame]:
        """Take out all that is kept, by its name."""
        made = {name: getattr(self, name) for name in KEPT}
        for name in KEPT:
            setattr(self, name, pl.DataFrame())
        return made

    def join(self, watched: Watched) -> None:
        """Take what was taken out elsewhere."""
        for name, (key, joins) in KEPT.items():
            if (rows := getattr(watched, name)).height:
                setattr(self, name, joined([getattr(self, name), rows], key, joins))

    def close(self, before_ns: int | None) -> pl.DataFrame:
        """Stretches that ended `WAIT_NS` before a time as rows of a tally; None: all."""
        bound = (1 << 62) if before_ns is None else (before_ns - WAIT_NS) // BIN_NS
        loads = self._loads()
        parts = [self._decided(bound, loads), self._silent(bound, loads), self._bare(bound)]
        parts = [part for part in parts if part.height]
        made = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
        self.buckets = self._buckets(bound)
        self.closed_bin = max(self.closed_bin, bound)
        for name in KEPT:
            alone = name in {"claims", "named"}
            kept, first = getattr(self, name), bound - (0 if alone else BACK + GAP)
            if kept.height:
                setattr(self, name, kept.filter(pl.col("bin") >= first))
        return made

    def _loads(self) -> pl.DataFrame:
        """Most of each port's capacity that counters or marks leave: columns of `LOAD`."""
        parts = [pl.DataFrame(schema=LOAD)]
        if self.counters.height:
            parts.append(left_by(self.counters))
        if self.stacks.height:
            # Counters say more than what a switch makes of them.
            parts.append(left(self.stacks).join(parts[-1], on=LOAD_KEY, how="anti"))
        if self.marks.height:
            full = (pl.col("ce_n") >= FEW_MARKS) & (pl.col("ce_n") == pl.col("n"))
            parts.append(
                self.marks.filter(full).select(
                    *LOAD_KEY, pl.lit(0.0).alias("free"), pl.lit("marks").alias("by"), *FIRST
                )
            )
        return pl.concat(parts, how="vertical_relaxed")

    def _buckets(self, bound: int) -> pl.DataFrame:
        """Buckets of stretches before a bound beside the counters of their ports."""
        if self.named.is_empty() or self.counters.is_empty():
            return pl.DataFrame()
        ended = self.named.filter(pl.col("bin") < bound)
        made = edges.compared(ended, between_records(self.counters), BACK)
        return made.with_columns((pl.col("bin") * BIN_NS).alias("time_ns"))

    def _silent(self, bound: int, loads: pl.DataFrame) -> pl.DataFrame:
        """Stretches up to a bound in which counters leave little, and no tag is known to cross."""
        full = loads.filter(
            (pl.col("free") <= LITTLE) & pl.col("by").is_in(BY_STACKS),
            pl.col("bin").is_between(self.closed_bin, bound, closed="left"),
        )
        if self.claims.height:
            full = full.join(self.claims, on=LOAD_KEY, how="anti", maintain_order="left")
        nothing = pl.lit(0, pl.Int64)
        return full.select(
            (pl.col("bin") * BIN_NS).alias("time_ns"),
            "port",
            "by",
            nothing.alias("n"),
            nothing.alias("low_n"),
            (nothing + 1).alias("silent_n"),
            *FIRST,
        )

    def _bare(self, bound: int) -> pl.DataFrame:
        """Stacks up to a bound that name a port and tell nothing of how full it is."""
        if self.stacks.is_empty():
            return self.stacks
        ended = pl.col("bin").is_between(self.closed_bin, bound, closed="left")
        nothing = pl.lit(0, pl.Int64)
        return self.stacks.filter(ended & (pl.col("bare_n") > 0)).select(
            (pl.col("bin") * BIN_NS).alias("time_ns"),
            "port",
            pl.lit(BARE).alias("by"),
            nothing.alias("n"),
            nothing.alias("low_n"),
            nothing.alias("silent_n"),
            "bare_n",
            *FIRST,
        )

    def _decided(self, bound: int, loads: pl.DataFrame) -> pl.DataFrame:
        """Stretches before a bound with a promise and enough of what tells the truth."""
        if self.claims.is_empty():
            return self.claims
        loads = loads.drop(FIRST)
        rows = self.claims.filter(pl.col("bin") < bound)
        rows = rows.join(loads, on=LOAD_KEY, how="inner", maintain_order="left")
        for back in range(1, BACK + 1):
            earlier = loads.select(
                pl.col("bin") + back, "port", "by", pl.col("free").alias(f"free{back}")
            )
            key = [*LOAD_KEY, "by"]
            rows = rows.join(earlier, on=key, how="inner", maintain_order="left")
        free = pl.max_horizontal("free", *(f"free{back}" for back in range(1, BACK + 1)))
        decides = rows.filter(free <= LITTLE)
        return decides.select(
            (pl.col("bin") * BIN_NS).alias("time_ns"),
            "port",
            "by",
            pl.lit(1, pl.Int64).alias("n"),
            (pl.col("least") > free + MARGIN).cast(pl.Int64).alias("low_n"),
            "seen_ns",
            "source",
            "frame",
        )


def left_by(counters: pl.DataFrame) -> pl.DataFrame:
    """What the counters of ports leave at most in each stretch between two records.

    What was left over a longer time may all have been left in one stretch of it.
    """
    longer = (pl.col("span") / BIN_NS).clip(1.0)
    return between_records(counters).select(
        "bin", "port", (pl.col("free") * longer).clip(0.0, 1.0).alias("free"),
        pl.lit("int").alias("by"), *FIRST,
    )  # fmt: skip


def between_records(counters: pl.DataFrame) -> pl.DataFrame:
    """What the counters of ports leave in the mean between two records, for each stretch of it."""
    earlier = [pl.col(name).shift().over("port") for name in ("bin", "tx_bytes_max", "ts_ns_max")]
    since, sent, start = earlier
    span = pl.col("ts_ns_max") - start
    used = (pl.col("tx_bytes_max") - sent) * (BITS * SECOND) / (span * pl.col("bps"))
    ways = (
        counters.sort("port", "bin")
        .with_columns(since.alias("since"), used.alias("used"), span.alias("span"))
        .filter(
            (pl.col("bin") - pl.col("since") <= GAP)
            & (pl.col("span") > 0)
            & pl.col("used").is_between(0, 1 + MARGIN)
        )
    )
    return ways.select(
        pl.int_ranges(pl.col("since") + 1, pl.col("bin") + 1).alias("bin"),
        "port",
        (1.0 - pl.col("used")).clip(0.0).alias("free"),
        "span",
        *FIRST,
    ).explode("bin")


def counters_of(rows: pl.DataFrame, places: Places) -> list[pl.DataFrame]:
    """First and last counters of each port that stacks or reports name."""
    parts = []
    for node in [name for name in rows.columns if name.endswith("_node") and name[0] == "h"]:
        hop = node.removesuffix("_node")
        told = {name: f"{hop}_{name}" for name in ("port", *COUNTER)}
        if not set(told.values()) <= set(rows.columns):
            continue
        seen = rows.select(
            "bin",
            "time_ns",
            "source",
            "frame",
            pl.col(node).alias("node"),
            pl.col(told["port"]).alias("number"),
            *(pl.col(told[name]).cast(pl.Int64, strict=False).alias(name) for name in COUNTER),
        ).drop_nulls()
        summed = seen.group_by("bin", "node", "number", maintain_order=True).agg(
            pl.len().cast(pl.Int64).alias("n"),
            *(getattr(pl.col(name), end)().alias(f"{name}_{end}")
              for name in COUNTER for end in ("min", "max")),
            *first_frame(),
        )  # fmt: skip
        parts.append(
            summed.join(
                places.numbers, on=["node", "number"], how="inner", maintain_order="left"
            ).select(*LOAD_KEY, "n", "bps", pl.exclude(*LOAD_KEY, "n", "bps", "node", "number"))
        )
    return parts


def marks_of(pairs: pl.DataFrame, places: Places) -> pl.DataFrame:
    """ECN-capable packets that the device of a last hop marked, and those that it did not."""
    faces = [name for name, port in places.ports.items() if port.orientation == HOST]
    seen = pairs.filter(
        pl.col("z_point").is_in(faces)
        & (pl.col("a_ttl") - pl.col("z_ttl") == 1)
        & (pl.col("a_ecn") > 0)
        & (pl.col("a_ecn") != CE)
    )
    return seen.group_by(
        (pl.col("z_time_ns") // BIN_NS).alias("bin"),
        pl.col("z_point").alias("port"),
        maintain_order=True,
    ).agg(
        pl.len().cast(pl.Int64).alias("n"),
        (pl.col("z_ecn") == CE).sum().cast(pl.Int64).alias("ce_n"),
        pl.col("z_time_ns").first().alias("seen_ns"),
        pl.col("z_source").first().alias("source"),
        pl.col("z_frame").first().alias("frame"),
    )


SUMMED = {"least": "min", "n": "sum", "ce_n": "sum", "bps": "first"} | {
    f"{name}_max": "max" for name in COUNTER
} | dict.fromkeys(("seen_ns", "source", "frame"), "first")  # fmt: skip

KEPT: Mapping[str, tuple[list[str], Mapping[str, str]]] = {
    "claims": (CLAIM_KEY, SUMMED), "named": (edges.KEY, edges.JOINS),
    "counters": (LOAD_KEY, SUMMED), "marks": (LOAD_KEY, SUMMED), "stacks": (LOAD_KEY, OCCUPANCY),
}  # fmt: skip
"""What is kept until stretches are whole: its key, and how parts of it are joined."""


def summed(parts: list[pl.DataFrame], key: list[str]) -> pl.DataFrame:
    """Partial stretches as one, earlier parts first."""
    return joined(parts, key, SUMMED)
