"""Witnesses: outcomes of what was captured and of what was played, their queues sampled alike."""

import polars as pl

from replay.rebuild.outcome import Outcome, outcome
from replay.rebuild.scene import Scene
from replay.rebuild.sighting import MOST_HOPS, Sightings
from replay.rebuild.staging import Played

FLOW = pl.int_range(pl.len(), dtype=pl.Int64).alias("flow")
BITS_NS = 8e9
IDLE = 0.01
"""A port that carries less of its rate has no queue: what is slow there is an application."""


def witnessed(seen: Sightings, scene: Scene, sampled: pl.DataFrame) -> Outcome:
    """What was seen, by the measure of runs."""
    acks = seen.acks.select("flow", "ack", "ece", pl.col("time_ns") - scene.start_ns)
    for rows in (seen.acks, seen.sends):
        queues = by_stacks(rows, scene)
        if queues.height:
            return outcome(scene, acks, queues, "stack")
    return outcome(scene, acks, by_round_trips(scene, acks, sampled), "round_trip")


def by_stacks(rows: pl.DataFrame, scene: Scene) -> pl.DataFrame:
    """Queues that stacks tell: port, bytes."""
    parts = [pl.DataFrame(schema={"port": pl.Int64, "bytes": pl.Float64})]
    ways = scene.flows.select(FLOW, "forward")
    for hop in range(MOST_HOPS):
        name = f"h{hop}_qlen_bytes"
        if name in rows.columns:
            port = pl.col("forward").list.get(hop, null_on_oob=True)
            parts.append(
                rows.filter(pl.col("hop_count") > hop)
                .join(ways, on="flow", maintain_order="left")
                .select(port=port, bytes=pl.col(name).cast(pl.Float64))
                .drop_nulls()
            )
    return pl.concat(parts)


def by_round_trips(scene: Scene, acks: pl.DataFrame, sampled: pl.DataFrame) -> pl.DataFrame:
    """Queues that round trips tell, all of it at the busiest port of each way: port, bytes."""
    idle = pl.DataFrame(schema={"port": pl.Int64, "bytes": pl.Float64})
    busiest = outcome(scene, acks, idle, "round_trip").ports.select("port", "utilisation", "name")
    bps = scene.ports.select("bps", port=FLOW)
    ways = (
        scene.flows.select(FLOW, port="forward")
        .explode("port")
        .join(busiest, on="port", how="left", maintain_order="left")
        .join(bps, on="port", maintain_order="left")
        .sort("flow", "utilisation", "port", descending=[False, True, False])
        .unique("flow", keep="first", maintain_order=True)
        .filter(pl.col("utilisation") >= IDLE)
    )
    queued = pl.col("wait_ns") * pl.col("bps") / BITS_NS
    return sampled.join(ways, on="flow", maintain_order="left").select("port", bytes=queued)


def measured(scene: Scene, run: Played, measure: str) -> Outcome:
    """The outcome of a run, its queues sampled as those that were seen."""
    passed = run.passed
    if measure == "stack":
        queues = passed.select("port", bytes=pl.col("qlen_bytes").cast(pl.Float64))
    else:
        bps = scene.ports.select("bps", port=FLOW)
        queued = pl.col("wait_ns") * pl.col("bps") / BITS_NS
        queues = passed.join(bps, on="port", maintain_order="left").select("port", bytes=queued)
    return outcome(scene, run.acks, queues, measure, run.dropped)
