"""CSIG samples as terms of hop load, each with the hop that its locator names.

u' = queue/(B*T) + rate/B: min(ABW/C) gives the rate term of the fullest port, max(PD) the queue
term of the slowest one. This mapping is hopsight's, not the draft's.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from polars.datatypes import DataTypeClass

from collector import SCHEMA, arrow, at_once, directed
from pipeline.csig_profile import SIGNALS, VARIANTS, Csig, Locator
from pipeline.groups import Word, numbered, words
from pipeline.own_scale import REMEMBERED, reread
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.topology import COMPACT, EXPANDED, Topology
from pipeline.unit import BITS, SECOND
from pipeline.ways import ways

ABW, UTILIZATION, DELAY = 0, 1, 2
"""CSIG signal types min(ABW), min(ABW/C) and max(PD)."""
SOURCES = {ABW: "abw", UTILIZATION: "utilization", DELAY: "delay"}
UNTOUCHED = {COMPACT: 31, EXPANDED: 0xFFFFF}
"""Value of a min signal that no hop has replaced, by variant; of a max signal it is 0."""
FIELDS = ("variant", "t", "s", "lm", "low", "high")
LOCATED = ["variant", "t", "lm"]
"""What a locator is looked up by: its meaning may depend on the type of signal."""
ENDS = {"csig": ("src", "dst"), "csig_echo": ("dst", "src")}
"""Columns of a tag or of its reflection, and which ends of the row are the flow's."""
SOURCE = pl.Enum([f"{prefix}_{name}" for prefix in ENDS for name in SOURCES.values()])
"""What is told of as a source: tags' types, then reflections', in the order of their numbers."""
SEEN = ("time_ns", "flow", "point")
"""Where and when a signal was seen."""
TERMS: dict[str, DataTypeClass | pl.DataType] = {
    "source": SOURCE, "node": pl.UInt32, "port": pl.UInt32, "u": pl.Float64,
    "delay_ns": pl.Float64, "queue_bytes": pl.Float64, "least_ns": pl.Float64,
    "most_ns": pl.Float64, "capacity_bps": pl.Int64, "packet_bytes": pl.UInt32, "ago_ns": pl.Int64,
}  # fmt: skip
IS_SIGNAL = (
    pl.col("variant").is_in(list(UNTOUCHED))
    & pl.col("low").is_not_null()
    & pl.col("t").is_in(list(SOURCES))
)
"""Whether a tag has a value of a type and a variant that are known."""
SAID = ("s", "lm", "low", "high")
"""All that a signal says, its kind (`kind_of`), flow and time apart."""


class Signals(NamedTuple):
    """Signals of tags and of their reflections, the tags first: what many say is worked out once.

    `seen` has a row a signal (`SEEN`), and `which` the row of `said` that tells what it says: what
    `values` gives, with the hop that its locator names (`place`).
    """

    seen: pl.DataFrame
    which: pl.Series
    said: pl.DataFrame

    def each(self, made: pl.DataFrame) -> pl.DataFrame:
        """Every signal that was seen with what was made of what it says (a row of `said` each)."""
        return self.seen.hstack(made[self.which])


def placed_tags(rows: pl.DataFrame, topology: Topology | None) -> Signals | None:
    """The signals of tags and of reflections (`ENDS`), with the hops that their locators name.

    Tags on data belong to their flow, reflections on ACKs to the reverse one. None: there are none.
    """
    # Only where ports share a locator its meaning hangs on the flow.
    by_flow = topology is not None and bool((topology.locators["ports"] > 1).any())
    told = [
        read(rows, prefix, ends=by_flow) for prefix in ENDS if f"{prefix}_variant" in rows.columns
    ]
    told = [part for part in told if part.height]
    if not told:
        return None
    signals = pl.concat(told)
    which, first = numbered(words(signals, [kind_of(signals), *SAID, *["flow"] * by_flow]))
    said = reread(place(valued(signals[first], topology), topology), topology)
    return Signals(signals[[*SEEN]], pl.Series(which), said.drop(SEEN))


def kind_of(signals: pl.DataFrame) -> Word:
    """Length of the packet, whether it is a reflection, variant and type of signals, in a word."""
    told = np.zeros(signals.height, np.uint64)
    for name, bits in (("packet_bytes", 32), ("echo", 8), ("variant", 8), ("t", 8)):
        told = told << np.uint64(bits) | arrow.values(signals[name]).astype(np.uint64)
    return told


def csig_terms(said: pl.DataFrame, topology: Topology | None, base_rtt_ns: int) -> pl.DataFrame:
    """Terms of hop load of what signals say (`Signals.said`), with the columns of `TERMS`.

    A signal that a device measures over delta_t tells of the time `ago_ns` before (5.3.2). `u` is
    null where its unit needs the capacity of a port that no topology names.
    """
    placed = with_base(said, topology)
    value, capacity = pl.col("value"), pl.col("capacity_bps")
    delay = pl.when(pl.col("t") == DELAY).then((value - pl.col("base_ns")).clip(0.0))
    term = (
        pl.when(pl.col("t") == UTILIZATION)
        .then(1.0 - value)
        .when(pl.col("t") == ABW)
        .then((1.0 - value / capacity).clip(0.0))
        .otherwise(delay * (1.0 / base_rtt_ns))
    )
    slowest = topology.slowest_ns if topology else dict.fromkeys(SIGNALS, 0)
    ago = {kind: slowest[name] for kind, name in SOURCES.items()}
    made = {
        "source": source_of(),
        "u": pl.when(pl.col("untouched")).then(0.0).otherwise(term),
        "delay_ns": delay,
        "queue_bytes": delay * capacity * (1 / (BITS * SECOND)),
        **{
            f"{end}_ns": pl.when(pl.col("t") == DELAY).then(pl.col(told) - pl.col("base_ns"))
            for end, told in (("least", "low"), ("most", "high"))
        },
        "ago_ns": pl.col("t").replace_strict(ago, return_dtype=pl.Int64),
    }
    return placed.select(
        made.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in TERMS.items()
    )


def source_of() -> pl.Expr:
    """What signals tell of as a source, one of `SOURCE`."""
    return (pl.col("echo").cast(pl.UInt8) * len(SOURCES) + pl.col("t")).cat.to(SOURCE)


def with_base(placed: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The signals with base_ns, what a packet takes through the port that is named without a queue.

    It is 0 where no topology knows it.
    """
    if topology is None or topology.base_delays.is_empty():
        return placed.with_columns(pl.lit(0, pl.Int64).alias("base_ns"))
    known = placed.join(
        topology.base_delays, on=["node", "port"], how="left", maintain_order="left"
    )
    return known.with_columns(pl.col("base_ns").fill_null(0))


def values(rows: pl.DataFrame, prefix: str, topology: Topology | None) -> pl.DataFrame:
    """Signals of tags or of reflections, a row each, with what `read` and `valued` tell."""
    return valued(read(rows, prefix, ends=True), topology)


def read(rows: pl.DataFrame, prefix: str, *, ends: bool) -> pl.DataFrame:
    """Signals of tags or of reflections with their flow and, where they are asked for, its ends."""
    echo = prefix != "csig"
    source, destination = ENDS[prefix]
    addresses = [
        pl.col(f"{own}_{half}").alias(f"{end}_{half}")
        for own, end in ((source, "src"), (destination, "dst"))
        for half in ("hi", "lo")
    ]
    # A reflection does not tell how long the packet was that it reflects.
    is_told = not echo and "length" in rows.columns
    length = pl.col("length") if is_told else pl.lit(0, pl.UInt32)
    fields = {field: f"{prefix}_{field}" for field in FIELDS}
    told = rows.lazy().select(
        *SEEN,
        *["conversation", "direction"] * echo,
        *addresses * ends,
        pl.lit(echo).alias("echo"),
        length.alias("packet_bytes"),
        *(
            (pl.col(name) if name in rows.columns else pl.lit(None, SCHEMA[name])).alias(field)
            for field, name in fields.items()
        ),
    )
    seen = at_once(told.filter(IS_SIGNAL))
    if not echo:
        return seen
    seen = seen[arrow.where(reversible(seen))]
    return seen.with_columns(reverse(seen)).drop("conversation", "direction")


def valued(signals: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Signals with their middle value, and whether a hop has replaced what their sender wrote."""
    middle = (pl.col("low") + pl.col("high").fill_null(pl.col("low"))) * 0.5
    return signals.with_columns(
        middle.alias("value"), untouched(topology.csig if topology else None).alias("untouched")
    )


def untouched(csig: Csig | None) -> pl.Expr:
    """Whether a tag is as its sender wrote it, so that no hop reported below the top bucket.

    That is its default locator or its initial value, as the topology tells them; the initial value
    of a min signal is the largest and of a max signal 0 where nothing is told.
    """
    top = pl.col("variant").replace_strict(UNTOUCHED, return_dtype=pl.UInt32)
    found = pl.col("s") == pl.when(pl.col("t") == DELAY).then(0).otherwise(top)
    for variant, number in VARIANTS.items():
        for kind, signal in enumerate(csig.signals if csig else ()):
            told: Locator = getattr(signal, variant)
            own = (pl.col("variant") == number) & (pl.col("t") == kind)
            if told.initial_s is not None:
                found = pl.when(own).then(pl.col("s") == told.initial_s).otherwise(found)
            if told.default_lm is not None:
                found |= own & (pl.col("lm") == told.default_lm)
    return found


def place(signal: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Signals with node, port and capacity_bps of the hop that their locator names.

    A locator that several ports share names the one that lies on the flow's way. What no topology
    names is node `LOCATOR` and the locator itself as port.
    """
    if topology is None:
        nothing = {"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64}
        known = signal.with_columns(pl.lit(None, kind).alias(n) for n, kind in nothing.items())
    else:
        own, equal = alone_or_equal(topology)
        known = signal.join(own, on=LOCATED, how="left", maintain_order="left")
        if own.height < topology.locators.height:
            key = ["flow", *LOCATED]
            shared = on_the_way(signal, topology)
            known = known.join(shared, on=key, how="left", maintain_order="left", suffix="_shared")
            known = known.join(equal, on=LOCATED, how="left", maintain_order="left")
            known = known.with_columns(
                pl.coalesce("node", "node_shared").alias("node"),
                pl.coalesce("port", "port_shared").alias("port"),
                pl.coalesce("capacity_bps", "capacity_bps_shared", "bps").alias("capacity_bps"),
            )
    found = pl.col("node").is_not_null() & ~pl.col("untouched")
    raw = pl.when(pl.col("untouched")).then(pl.lit(UNTOLD)).otherwise(pl.col("lm"))
    return known.with_columns(
        pl.when(found).then("node").otherwise(LOCATOR).cast(pl.UInt32).alias("node"),
        pl.when(found).then("port").otherwise(raw).cast(pl.UInt32).alias("port"),
    )


@lru_cache(REMEMBERED)
def alone_or_equal(topology: Topology) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Locators that one port has alone, and those whose ports all have one capacity, `bps`."""
    alone = topology.locators.filter(pl.col("ports") == 1).drop("ports")
    equal = (
        topology.locators.group_by(LOCATED)
        .agg(pl.col("capacity_bps").unique().alias("each"))
        .filter(pl.col("each").list.len() == 1)
        .select(*LOCATED, pl.col("each").list.first().alias("bps"))
    )
    return alone, equal


def on_the_way(signal: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """Ports by flow and shared locator, where just one of those that share it is on the way."""
    shared = topology.locators.filter(pl.col("ports") > 1).drop("ports")
    key = ["flow", *LOCATED]
    asked = signal.unique(key, keep="first", maintain_order=True).join(
        shared, on=LOCATED, how="inner"
    )
    crossed = ways(asked.unique("flow"), topology).select("flow", "node", "port")
    return (
        asked.join(crossed, on=["flow", "node", "port"], how="semi")
        .select(*key, "node", "port", "capacity_bps")
        .filter(pl.len().over(key) == 1)
    )


def reverse_flow(conversation: int, direction: int) -> int:
    """The reverse of one flow, from its conversation and direction."""
    flow = np.empty(1, np.uint64)
    directed(np.array([conversation], np.uint64), np.array([1 - direction], np.uint8), flow)
    return int(flow[0])


def reverse(rows: pl.DataFrame) -> pl.Series:
    """The reverse flow of each row: the one whose data an ACK acknowledges."""
    return _directed(rows, 1 - rows["direction"])


def reversible(rows: pl.DataFrame) -> pl.Series:
    """Whether rows have a reverse flow that can be worked out.

    What has something of its own beside its ends, as a queue pair, is answered by another one's.
    """
    return _directed(rows, rows["direction"]) == rows["flow"]


def _directed(rows: pl.DataFrame, direction: pl.Series) -> pl.Series:
    """The flow of each row's conversation in a direction."""
    flow = np.empty(rows.height, np.uint64)
    directed(rows["conversation"].to_numpy(), direction.cast(pl.UInt8).to_numpy(), flow)
    return pl.Series("flow", flow)
