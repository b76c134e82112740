"""What each signal says by itself: its value in its own unit, the hop that it names, and where.

A piece of a hop carries what its frames are found by: node and port, the point that was heard
(`REPORTER`: switches that report), whether reflections were heard, CSIG's locators of the hop, and
by how much a signal tells of a time before its frame (delta_t, by type).
"""

from functools import lru_cache
from typing import NamedTuple

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.path import ASSUMED_RTT_NS
from pipeline.portion import portions
from pipeline.reserved import LOCATOR
from pipeline.runs import first_of
from pipeline.settings import PipelineSettings
from pipeline.signals import SOURCES
from pipeline.texts import by_run
from pipeline.topology import Topology
from pipeline.unit import BITS, MICROSECOND, SECOND

CSIG = {f"csig_{name}": kind for kind, name in SOURCES.items()}
"""CSIG's signals and their types."""
LOAD, QUEUE, STANDING = "hop load u'", "queue", "standing queue"
SAYS = {
    "csig_abw": ("min(ABW)", "bit/s"),
    "csig_utilization": ("min(ABW/C)", "ratio"),
    "csig_delay": ("max(PD)", "ns"),
    "delay": ("queueing delay", "ns"),
    "int": (LOAD, "ratio"),
    "csig": (LOAD, "ratio"),
}
"""Signals that name hops: what each says of one, and in which unit."""
REMEMBERED = 16
"""Topologies of which is remembered what they tell."""
PAIRS = pl.List(pl.Struct({"variant": pl.UInt8, "lm": pl.UInt32}))
SAID = pl.col("signal").is_in(list(SAYS)) & pl.col("node").is_not_null() & (pl.col("samples") > 0)
NOWHERE = [pl.lit(None, pl.String).alias(name) for name in ("point", "aecn_point")]
RAW = (pl.col("node") == LOCATOR) & pl.col("signal").str.starts_with("csig")
"""Whether a hop is a locator that no topology knows."""
SHARPNESS = 0.03
"""Queueing delay, in base round trips, by which one hop is e times as likely the slowest."""


class Piece(NamedTuple):
    """One piece of evidence: in which rows it is known, and there its text in JSON."""

    known: pl.Expr
    text: pl.Expr


def delays(candidates: pl.DataFrame, topology: Topology | None, t_ns: float) -> pl.DataFrame:
    """Candidates by queueing delay alone, of hops whose queue INT tells and whose rate is known.

    Their `u_mean` is the queue's part of the load. Where no hop has a queue there are none.
    """
    measured = candidates.filter(pl.col("signal") == "int")
    if topology is None or measured.is_empty():
        return candidates.clear()
    rates = topology.frame[[*HOP, "capacity_bps"]].filter(pl.col("capacity_bps") > 0)
    drained = pl.col("queue_mean_bytes") * (BITS * SECOND) / pl.col("capacity_bps")
    rows = (
        measured.join(rates, on=HOP, how="inner", maintain_order="left")
        .with_columns((drained * (1 / t_ns)).alias("u_mean"), pl.lit("delay").alias("signal"))
        .filter(pl.col("u_mean").is_not_null())
        .filter(pl.col("u_mean").max().over(KEY) > 0)
    )
    weight = ((pl.col("u_mean") - pl.col("u_mean").max().over(KEY)) * (1 / SHARPNESS)).exp()
    return rows.with_columns(portions(rows, KEY, weight)).select(candidates.columns)


def measured_against(topology: Topology | None, settings: PipelineSettings) -> float:
    """The T that delays were divided by, ns."""
    told = (settings.base_rtt_us or 0) * MICROSECOND
    return float(told or (topology.base_rtt_ns if topology else 0) or ASSUMED_RTT_NS)


def shortest_t(topology: Topology | None, settings: PipelineSettings) -> float:
    """The least T that a delay may have been divided by, ns."""
    t_ns = measured_against(topology, settings)
    least_ns = None if topology is None or settings.base_rtt_us else topology.least_rtt_ns
    return min(t_ns, float(least_ns or t_ns))


def with_locators(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The rows with `locators`: CSIG's locators of their hop, of the signal's type or of all."""
    told = locators_of(topology)
    rows = rows.join(told, on=["signal", *HOP], how="left", maintain_order="left")
    if not rows.select(RAW).to_series().any():
        return rows
    any_variant = pl.lit(None, pl.UInt8).alias("variant")
    own = pl.concat_list(pl.struct(any_variant, pl.col("port").cast(pl.UInt32).alias("lm")))
    return rows.with_columns(
        pl.when(RAW).then(own.cast(PAIRS)).otherwise("locators").alias("locators")
    )


@lru_cache(REMEMBERED)
def locators_of(topology: Topology | None) -> pl.DataFrame:
    """CSIG's locators by signal and hop, and by hop those of all signals (`csig`)."""
    if topology is None or not topology.locators.height:
        return pl.DataFrame(schema={"signal": pl.String, "node": pl.UInt32, "port": pl.UInt32,
                                    "locators": PAIRS})  # fmt: skip
    names = {kind: name for name, kind in CSIG.items()}
    kind = pl.col("t").replace_strict(names, default="", return_dtype=pl.String)
    each = topology.locators.select(*HOP, "variant", "lm", kind.alias("signal"))
    both = pl.concat([each, each.with_columns(pl.lit("csig").alias("signal"))])
    pair = pl.struct(pl.col("variant").cast(pl.UInt8), pl.col("lm").cast(pl.UInt32))
    return both.group_by("signal", *HOP).agg(pair.unique().sort().alias("locators"))


def testimony(
    candidates: pl.DataFrame, chosen: pl.DataFrame, topology: Topology | None, t_ns: float
) -> pl.DataFrame:
    """What the likeliest hop of each signal shows, as JSON pieces: time_ns, flow, testimony.

    What the signal of the headline (`chosen`) says of the headline's hop is not among it.
    """
    own = [*KEY, "signal", *HOP]
    ranked = [*KEY, "signal", "probability", *HOP]
    tops = at_once(
        candidates.lazy()
        .select(*own, "probability", "u_mean", "samples", "seen_at", "echo")
        .filter(SAID)
        .sort(ranked, descending=[False] * 3 + [True, False, False])
    )
    others = first_of(tops, own[:-2]).lazy()
    others = others.join(chosen.lazy(), on=own, how="anti", maintain_order="left")
    values = with_port(others, topology).with_columns(value(t_ns), *NOWHERE)
    told = with_locators(at_once(values.filter(known(pl.col("value")))), topology)
    said = by_run(told, KEY, told.select(of_signals(topology)).to_series())
    return said.rename({"texts": "testimony"})


@lru_cache(REMEMBERED)
def value(t_ns: float) -> pl.Expr:
    """What each signal says of a hop (`value_of`)."""
    said = (pl.when(pl.col("signal") == name).then(value_of(name, t_ns)) for name in SAYS)
    return pl.coalesce(said).alias("value")


@lru_cache(REMEMBERED)
def of_signals(topology: Topology | None) -> pl.Expr:
    """The text of what a signal says of a hop by itself, from its `value`."""
    name, unit = (
        pl.col("signal").replace_strict({s: said[at] for s, said in SAYS.items()},
                                        return_dtype=pl.String)
        for at in range(2)
    )  # fmt: skip
    return hop_piece(pl.col("signal"), name, pl.col("value"), unit, topology).text


def with_port(rows: pl.LazyFrame, topology: Topology | None) -> pl.LazyFrame:
    """The rows with capacity_bps and base_ns of their hop, as far as the topology knows them."""
    if topology is None:
        return rows.with_columns(
            pl.lit(None, pl.Int64).alias("capacity_bps"), pl.lit(0, pl.Int64).alias("base_ns")
        )
    rates = topology.frame[[*HOP, "capacity_bps"]].lazy()
    rows = rows.join(rates, on=HOP, how="left", maintain_order="left")
    rows = rows.join(topology.base_delays.lazy(), on=HOP, how="left", maintain_order="left")
    return rows.with_columns(pl.col("base_ns").fill_null(0))


def value_of(signal: str, t_ns: float) -> pl.Expr:
    """A candidate's value in the signal's own unit, out of its term of hop load."""
    u, capacity = pl.col("u_mean"), pl.when(pl.col("capacity_bps") > 0).then("capacity_bps")
    if signal == "csig_abw":
        return (1.0 - u) * capacity
    if signal == "csig_utilization":
        return 1.0 - u
    if signal == "csig_delay":
        return u * t_ns + pl.col("base_ns")
    return u * t_ns if signal == "delay" else u


def heard_at(signal: pl.Expr) -> pl.Expr:
    """The point at which a signal was heard; what tells of paths is heard where these are told."""
    path = pl.when(signal == "aecn").then("aecn_point").when(signal == "ecn").then("point")
    return pl.coalesce("seen_at", path)


def hop_piece(
    signal: pl.Expr, name: pl.Expr, value: pl.Expr, unit: pl.Expr, topology: Topology | None
) -> Piece:
    """One piece of evidence about a hop, known where the value is a number."""
    slowest = topology.slowest_ns if topology else {}
    ago = [slowest.get(each, 0) for each in SOURCES.values()]
    told = pl.lit(pl.Series([ago])).first() if any(ago) else pl.lit(None, pl.List(pl.Int64))
    fields = pl.struct(
        signal.alias("signal"),
        name.alias("name"),
        value.cast(pl.Float64).alias("value"),
        unit.alias("unit"),
        pl.col("samples").round().cast(pl.Int64).alias("samples"),
        heard_at(signal).alias("point"),
        *HOP,
        "echo",
        "locators",
        pl.when(signal.str.starts_with("csig")).then(told).alias("ago_ns"),
    )
    return Piece(known(value), fields.struct.json_encode())


def known(value: pl.Expr) -> pl.Expr:
    """Whether a value is a number."""
    return value.cast(pl.Float64).is_finite().fill_null(value=False)
