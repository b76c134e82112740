"""Trust: how far the unchanged re-run is from what was seen, measure by measure.

A rebuilt fabric is as good as it repeats what happened. A what-if that differs from its base by
less than the base differs from what was seen says nothing.
"""

from typing import NamedTuple

import polars as pl

from replay.rebuild.outcome import P99, Outcome
from replay.rebuild.scene import Scene

RELATIVE, POINTS, EXACT = "relative", "points", "exact"


class Measure(NamedTuple):
    """One measure: its name, unit, what was seen and what the re-run gave (None: not known).

    `difference` is relative to what was seen, or in shares of one (`points`), or 0 or 1 (`exact`);
    None where it cannot be told.
    """

    name: str
    unit: str
    seen: float | str | None
    rerun: float | str | None
    difference: float | None
    kind: str


def trust(scene: Scene, seen: Outcome, rerun: Outcome, port: int | None = None) -> list[Measure]:
    """All measures; queue and utilisation are of `port`; None: of the bottleneck that was seen."""
    place = seen.bottleneck if port is None else port
    ports = [made.ports.filter(port=place) for made in (seen, rerun)]
    names = ("queue_mean_bytes", "queue_p99_bytes", "utilisation")
    units = ("bytes", "bytes", "")
    made = [
        relative(name, unit, *(value(each, name) for each in ports))
        for name, unit in zip(names, units, strict=True)
    ]
    made += [
        relative("throughput_bps", "bit/s", *(total(each) for each in (seen, rerun))),
        relative("completed", "flows", *(float(finished(each)) for each in (seen, rerun))),
        relative("fct_mean_ns", "ns", *(both(seen, rerun, "mean"))),
        relative("fct_p99_ns", "ns", *(both(seen, rerun, "p99"))),
        shares(seen, rerun),
        relative("jain", "", seen.jain, rerun.jain),
    ]
    one, two = (scene.ports["name"][each.bottleneck] for each in (seen, rerun))
    made.append(Measure("bottleneck", "", one, two, float(one != two), EXACT))
    return made


def value(port: pl.DataFrame, name: str) -> float | None:
    """A measure of a port."""
    return None if port.is_empty() else port[name][0]


def total(made: Outcome) -> float:
    """Throughput of all flows."""
    return float(made.flows["throughput_bps"].sum())


def finished(made: Outcome) -> int:
    """Flows that completed."""
    return made.flows["fct_ns"].drop_nulls().len()


def both(seen: Outcome, rerun: Outcome, what: str) -> tuple[float | None, float | None]:
    """Mean or p99 completion time of the flows that completed in both."""
    told = seen.flows.select("flow", "fct_ns").join(
        rerun.flows.select("flow", again="fct_ns"), on="flow"
    ).drop_nulls()  # fmt: skip
    if told.is_empty():
        return None, None
    column = pl.col("fct_ns", "again")
    wanted = column.mean() if what == "mean" else column.quantile(P99, "linear")
    first, second = told.select(wanted).row(0)
    return float(first), float(second)


def shares(seen: Outcome, rerun: Outcome) -> Measure:
    """The flow whose share of throughput differs most, in shares of one."""
    told = seen.flows.select("flow", "share").join(
        rerun.flows.select("flow", again="share"), on="flow"
    )
    apart = told.with_columns(apart=pl.col("again") - pl.col("share"))
    worst = apart.sort(pl.col("apart").abs(), descending=True, nulls_last=True).row(0, named=True)
    return Measure("throughput_share", "", worst["share"], worst["again"], worst["apart"], POINTS)


def relative(name: str, unit: str, seen: float | None, rerun: float | None) -> Measure:
    """A measure with its relative difference; none to nothing is no difference."""
    if seen is None or rerun is None:
        return Measure(name, unit, seen, rerun, None, RELATIVE)
    if not seen:
        return Measure(name, unit, seen, rerun, None if rerun else 0.0, RELATIVE)
    return Measure(name, unit, seen, rerun, (rerun - seen) / seen, RELATIVE)
