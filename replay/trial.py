"""A trial: one world through the whole pipeline, its verdicts laid beside the truth."""

from dataclasses import dataclass

import polars as pl

from collector import CollectorSettings, Decoder
from pipeline import CALM, PipelineSettings, Worker, address_text
from replay import signal_score
from replay.ceiling import ceiling
from replay.emit import frames_of, sightings
from replay.ends import RECEIVER
from replay.fabric import Run, simulate
from replay.listed import LISTED, claimed, forecasts
from replay.observer import observer
from replay.state import DATA
from replay.taps import ALL, Taps
from replay.truth import truth_of
from replay.wiring import points, topology
from replay.world import MS, World

KEY = ["time_ns", "src", "sport", "dst", "dport"]
LEAST_OBSERVATIONS = 20
AT_ONCE_US = 60e6
"""Disorder that is longer than any run: all rows are worked on at once, which is fastest."""
HOP, PORT, SEEN = "{} {}", ("device", "interface"), ("device_seen", "interface_seen")


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
        PipelineSettings(
            interval_ms=trial.interval_ns / MS,
            disorder_us=AT_ONCE_US,
            health_ms=0,
            standing_bytes=world.mark_bytes,
        ),
        topology(world),
        parameters={"hpcc": dict(world.hpcc), "dctcp": dict(world.dctcp)},
    )
    worker.advance(rows)
    made = [worker.finish()]
    told = [output.tables["verdicts"] for output in made if "verdicts" in output.tables]
    if not told:
        return pl.DataFrame()
    found = pl.concat(told).sort("revision").unique(["time_ns", "interval_ns", "flow"], keep="last")
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


def judged(trial: Trial, settings: CollectorSettings, run: Run | None = None) -> pl.DataFrame:
    """One row a flow-interval that the truth knows: truth, verdict, and how they compare.

    `run` is the world's, where it has been played already.

    - `scored`: the taps saw enough of the flow, and the script did not change the traffic inside;
    - `calls`: the verdict calls something congested; `kind_right`: its kind is the truth's, or
      what can be known of that;
    - `named`: 1 where its hop is the truth's. Of ports that nobody can tell apart (`ceiling`) each
      is as often the truth when all casts are played, so that one of them counts as much as that;
    - `covered`: the same of the set of candidates;
    - `listed`, `listed_right`, `listed_error`: of the hops that it lists (`listed`), how many there
      are, how many are the bottleneck, and the sum of the squared errors of their probabilities;
    - `right`: where it agrees with the truth (see `score`): `named` and `calls` where congested;
    - `signals`, `signals_first`, `signals_held`: the same of each signal (`signal_score`);
    - `best`, `best_kind`: how often the best possible observer names the hop, and the kind.
    """
    run = run or simulate(trial.world, settings)
    truth = truth_of(run, trial.interval_ns)
    told = verdicts_of(run, trial, settings)
    best = ceiling(run, trial.taps)
    like = dict(zip(best.select(pl.format(HOP, *PORT)).to_series(), best["like"], strict=True))
    shares = dict(zip(like, best["ceiling"], strict=True))
    rows = (
        truth.verdicts.join(
            truth.flows.select("script", "role", "telemetry"), on="script", how="left"
        )
        .join(observed(run, trial), on=["script", "time_ns"], how="left")
        .join(best, on=["device", "interface"], how="left")
        .join(
            observer(run, trial.taps, truth, trial.interval_ns, best),
            on=["script", "time_ns"],
            how="left",
        )
        .join(
            # The key of RoCE is a pair of hosts: what counts is the queue pair that data goes to.
            told.sort("samples", descending=True, maintain_order=True)
            .unique(KEY, keep="first", maintain_order=True)
            .select(*KEY, "kind", "device", "interface", "confidence", "candidates"),
            on=KEY,
            how="left",
            suffix="_seen",
            maintain_order="left",
        )
    )
    held, listed = [], []
    for text, of, share in rows.select("candidates", "like", "ceiling").iter_rows():
        held.append([like.get(hop) for hop in claimed(text)].count(of))
        listed.append(forecasts(text, {hop: share for hop in like if like[hop] == of}))
    named = [like.get(hop) for hop in rows.select(pl.format(HOP, *SEEN)).to_series()]
    return rows.with_columns(
        pl.Series("held", held, pl.Int64),
        pl.Series("like_seen", named, pl.String),
        *pl.DataFrame(listed, LISTED, orient="row"),
        *signal_score.compared(rows, truth.signals, like, shares),
    ).with_columns(*compared())


def compared() -> list[pl.Expr]:
    """Columns of `judged` from truth and verdict side by side."""
    # A receiver that closes its window is named without a hop, and nothing is congested.
    calm = pl.col("kind_seen").is_in(CALM)
    calm |= (pl.col("kind_seen") == RECEIVER) & (pl.col("device_seen") == "")
    calls = (~calm).fill_null(value=False)
    same = (pl.col("like") == pl.col("like_seen")).fill_null(value=False)
    share = pl.col("ceiling")
    known = (pl.col("kind_seen") == pl.col("kind")) | (pl.col("kind_seen") == pl.col("observable"))
    right = pl.when("congested").then((calls & same) * share).otherwise((~calls).cast(pl.Float64))
    return [
        calls.alias("calls"),
        right.alias("right"),
        (same * share).alias("named"),
        (pl.col("held") * share).clip(0.0, 1.0).alias("covered"),
        known.fill_null(value=False).alias("kind_right"),
        (pl.col("steady") & (pl.col("seen").fill_null(0) >= LEAST_OBSERVATIONS)).alias("scored"),
    ]
