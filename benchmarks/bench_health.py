"""Rogues named, and nobody accused: the health of the telemetry held against known fabrics.

Every class of `replay/rogue.py` is planted in every seed, at all ports of one leaf; from the first
1,000 frames through that leaf it must be named, and nothing else. Then every scenario is played
without a rogue, with all telemetry and with CSIG alone, with whole mirrors and with faulty ones:
nobody may be accused. Last, what watching costs.
"""

import time

import polars as pl

from collector import Decoder
from pipeline import PipelineSettings, Worker
from pipeline.health import TABLE
from replay import frames_of, points, scenario, simulate, topology
from replay.campaign import FIRST_SCORED, KINDS, SCENARIOS, SETTINGS
from replay.cast import cast
from replay.parade import FINDINGS, FRAMES, LEAF, parade, until
from replay.taps import ALL, Taps
from replay.world import MS, World

SEEDS = range(FIRST_SCORED + 1, FIRST_SCORED + 6)
CASTS = (KINDS, ("csig_compact", "csig_expanded"))
MIRRORS = {
    "whole mirrors": ALL,
    "1 % lost": Taps(loss=0.01),
    "clocks off by up to 10 us": Taps(skew_ns=10_000),
    "one frame in 10, by each tap for itself": Taps(one_in=10),
}
BATCH = 1 << 16


def found(world: World, taps: Taps = ALL, frames: int | None = None) -> pl.DataFrame:
    """Findings about devices in a world; with `frames`, by so many frames through the rogue."""
    run = simulate(world, SETTINGS)
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS, taps=taps), points(world), "fabric")
    if frames is not None:
        rows = rows.filter(pl.col("time_ns") <= world.start_ns + until(run, frames=frames))
    worker = Worker(PipelineSettings(), topology(world), ("fabric",))
    made = [worker.advance(rows), worker.finish()]
    parts = [each.tables[TABLE] for each in made if TABLE in each.tables]
    return pl.concat(parts).filter(pl.col("class") == "device")


def rogues() -> None:
    """Print how often each class was named, and what else was said."""
    print(f"{'class':24} {'finding':24} named within {FRAMES} frames, others accused")
    for name, finding in FINDINGS.items():
        named, others = 0, []
        for seed in SEEDS:
            said = found(parade(name, seed), frames=FRAMES).filter(pl.col("verdict") == "yes")
            own = (pl.col("finding") == finding) & (
                pl.col("subject").str.split(":").list.first() == LEAF
            )
            named += not said.filter(own).is_empty()
            others += [f"{each} ({seed})" for each in said.filter(~own)["finding"]]
        print(f"{name:24} {finding:24} {named} of {len(SEEDS)}, {', '.join(others) or 'none'}")


def clean() -> None:
    """Print who was accused where nobody breaks a rule."""
    print("\nwithout a rogue: worlds, accusations")
    for title, taps in MIRRORS.items():
        seeds = SEEDS if taps is ALL else SEEDS[:1]
        worlds, accused = 0, []
        for name, made in SCENARIOS.items():
            for seed in seeds:
                for kinds in CASTS:
                    world = cast(made(kinds, 8 * MS), seed)
                    said = found(world, taps).filter(pl.col("verdict") == "yes")
                    worlds += 1
                    accused += [f"{name} ({seed}): {each}" for each in said["finding"]]
        print(f"{title}: {worlds}, {', '.join(accused) or 'none'}", flush=True)


def cost() -> None:
    """Print the time of the worker with and without its watch."""
    world = scenario.demo()
    run = simulate(world, SETTINGS)
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS), points(world), "fabric")
    parts = [rows[at : at + BATCH] for at in range(0, rows.height, BATCH)]
    known, took = topology(world), {0.0: [], 1000.0: []}
    for health_ms in (*took, *took, *took):
        worker = Worker(PipelineSettings(health_ms=health_ms), known, ("fabric",))
        begun = time.perf_counter()
        for part in parts:
            worker.advance(part)
        worker.finish()
        took[health_ms].append(time.perf_counter() - begun)
    without, watching = (min(each) for each in took.values())
    print(
        f"\n{rows.height} rows of the demo: {without:.2f} s, watched {watching:.2f} s"
        f" ({watching / without:.2f} times)"
    )


def main() -> None:
    """All three."""
    rogues()
    clean()
    cost()


if __name__ == "__main__":
    main()
