"""A trial: one world through the whole pipeline, its verdicts laid beside the truth."""

import json
from dataclasses import dataclass
from itertools import accumulate

import polars as pl

from collector import CollectorSettings, Decoder
from pipeline import PipelineSettings, Worker, address_text
from replay.ceiling import ceiling
from replay.emit import frames_of, sightings
from replay.fabric import Run, simulate
from replay.score import CALM
from replay.state import DATA
from replay.taps import ALL, Taps
from replay.truth import truth_of
from replay.wiring import points, topology
from replay.world import MS, World

KEY = ["time_ns", "src", "sport", "dst", "dport"]
STATED = 0.99
"""Probability that a set of candidates claims: so many of the likeliest that they come to it."""
LEAST_OBSERVATIONS = 20


@dataclass(frozen=True, slots=True)
class Trial:
    """A world under taps, judged in intervals."""

    world: World
    taps: Taps = ALL
    interval_ns: int = MS


def verdicts_of(run: Run, trial: Trial, settings: CollectorSettings) -> pl.DataFrame:
    """Verdicts of the pipeline on what the taps saw, with src and dst as text."""
    world = trial.world
    rows = Decoder(settings).decode(
        frames_of(run, settings, taps=trial.taps), points(world), "fabric"
    )
    worker = Worker(
        PipelineSettings(interval_ms=trial.interval_ns / MS),
        topology(world),
        parameters={"hpcc": dict(world.hpcc), "dctcp": dict(world.dctcp)},
    )
    made = [worker.advance(rows), worker.finish()]
    told = [output.tables["verdicts"] for output in made if "verdicts" in output.tables]
    if not told:
        return pl.DataFrame()
    found = pl.concat(told).sort("revision").unique(["time_ns", "flow"], keep="last")
    ends = found.unique("flow").select("flow", "src_hi", "src_lo", "dst_hi", "dst_lo")
    names = [
        {"flow": row["flow"], "src": address_text(row, "src"), "dst": address_text(row, "dst")}
        for row in ends.iter_rows(named=True)
    ]
    return found.join(pl.DataFrame(names), on="flow", how="left")


def observed(run: Run, trial: Trial) -> pl.DataFrame:
    """Data frames of each flow (script) that reached the collector, by interval (time_ns).

    A packet that several taps saw counts once, in the interval in which it reached its receiver.
    """
    seen = sightings(run, trial.taps)
    rows = pl.DataFrame({"row": seen.rows}).unique()["row"].to_numpy()
    packets = run.packets[rows]
    packets = packets[(packets["kind"] == DATA) & (packets["last_ns"] > 0)]
    at = packets["last_ns"] // trial.interval_ns * trial.interval_ns + run.world.start_ns
    scripts = pl.Series(run.scripts, dtype=pl.Int64).gather(packets["flow"])
    return (
        pl.DataFrame({"script": scripts, "time_ns": at}).group_by("script", "time_ns").len("seen")
    )


def claimed(candidates: str, kinds: tuple[str, ...]) -> list[str]:
    """Hops of the set that claims `STATED`: of the first kind of signal that has any."""
    told = json.loads(candidates or "[]")
    signal = next((kind for kind in kinds if any(one["signal"] == kind for one in told)), "")
    ranked = sorted(
        (one for one in told if one["signal"] == signal), key=lambda one: -one["probability"]
    )
    before = [0.0, *accumulate(one["probability"] for one in ranked)]
    return [
        f"{one['device']} {one['interface']}"
        for one, sum_ in zip(ranked, before, strict=False)
        if sum_ < STATED
    ]


HEADLINES = ("headline", "int", "csig", "aecn", "ecn")
"""Signals of candidates, the one that speaks for the headline first."""


def judged(trial: Trial, settings: CollectorSettings) -> pl.DataFrame:
    """One row a flow-interval that the truth knows: truth, verdict, and how they compare.

    `scored`: the taps saw enough of the flow, and the script did not change the traffic inside.
    `named`: the verdict names the truth's hop; `covered`: its set of candidates has it; `calls`: it
    calls something congested; `right`: it agrees with the truth (see `score`).
    """
    run = simulate(trial.world, settings)
    truth = truth_of(run, trial.interval_ns)
    told = verdicts_of(run, trial, settings)
    named = truth.flows.select("script", "role", "telemetry")
    rows = (
        truth.verdicts.join(named, on="script", how="left")
        .join(observed(run, trial), on=["script", "time_ns"], how="left")
        .join(ceiling(run, trial.taps), on=["device", "interface"], how="left")
        .join(
            told.select(*KEY, "kind", "device", "interface", "confidence", "candidates"),
            on=KEY,
            how="left",
            suffix="_seen",
            maintain_order="left",
        )
    )
    sets = [claimed(text, HEADLINES) for text in rows["candidates"].fill_null("[]")]
    hop = pl.format("{} {}", "device", "interface")
    calls = (~pl.col("kind_seen").is_in(CALM)).fill_null(value=False)
    same = (hop == pl.format("{} {}", "device_seen", "interface_seen")).fill_null(value=False)
    steady = pl.col("steady") & (pl.col("seen").fill_null(0) >= LEAST_OBSERVATIONS)
    return (
        rows.with_columns(pl.Series("set", sets, pl.List(pl.String)))
        .with_columns(
            calls.alias("calls"),
            same.alias("named"),
            pl.col("set").list.contains(hop).alias("covered"),
            (pl.col("kind") == pl.col("kind_seen")).fill_null(value=False).alias("kind_right"),
            steady.alias("scored"),
        )
        .with_columns(
            pl.when("congested")
            .then(pl.col("calls") & pl.col("named"))
            .otherwise(~calls)
            .alias("right")
        )
    )
