"""Rogues named, and nobody accused: the health of the telemetry held against known fabrics.

Every class of `replay/rogue.py` is planted in every seed, at all ports of a leaf and of a spine;
from the first 1,000 frames through that device it must be named, and nothing else be accused. A
leaf is seen by taps at the ports of hosts alone. A spine is named with taps above the leaves too;
without them its paths are told, and which taps would tell more. Then every scenario is played
without a rogue, with all telemetry and with CSIG alone, with whole mirrors and, with the first
seed, with faulty ones: nobody may be accused. Last, what watching costs. Worlds are played in as
many processes as there are cores; bars that are not met stand at the end. `--seeds` plays others.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context

import polars as pl
from bar import end

from collector import Decoder
from pipeline import TABLES, PipelineSettings, Worker
from pipeline.health import TABLE
from replay import Run, frames_of, points, scenario, simulate, topology
from replay.campaign import FIRST_SCORED, KINDS, SCENARIOS, SETTINGS
from replay.cast import cast
from replay.parade import FINDINGS, FRAMES, LEAF, SPINE, parade, parade_above, until
from replay.taps import ALL, Taps
from replay.world import MS, Telemetry, World

SEEDS = range(FIRST_SCORED + 1, FIRST_SCORED + 6)
CASTS: tuple[tuple[Telemetry, ...], ...] = (KINDS, ("csig_compact", "csig_expanded"))
ABOVE = Taps(where="both")
MIRRORS = {
    "whole mirrors": ALL,
    "taps above leaves too": ABOVE,
    "1 % lost": Taps(loss=0.01),
    "clocks off by up to 10 us": Taps(skew_ns=10_000),
    "one frame in 10, by each tap for itself": Taps(one_in=10),
    "one frame in 100, by each tap for itself": Taps(one_in=100),
}
PARADES: dict[str, tuple[str, Callable[[str, int], World], Taps]] = {
    "leaf": (LEAF, parade, ALL),
    "spine, taps above leaves": (SPINE, parade_above, ABOVE),
    "spine, taps at hosts alone": (SPINE, parade_above, ALL),
}
"""The rogue, its traffic, and the taps."""
BARRED = ("leaf", "spine, taps above leaves")
"""Where a rogue must be named as a device."""
SAID = ("finding", "kind", "subject")
BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Play:
    """One world: a parade (`name` is a class) or a clean scenario with its kinds and mirrors."""

    name: str
    seed: int
    parade: str = ""
    kinds: tuple[Telemetry, ...] = ()
    mirrors: tuple[str, ...] = ()


def found(run: Run, taps: Taps, until_ns: int | None = None) -> pl.DataFrame:
    """Findings about devices, from frames up to a virtual time."""
    world = run.world
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS, taps=taps), points(world), "fabric")
    if until_ns is not None:
        rows = rows.filter(pl.col("time_ns") <= world.start_ns + until_ns)
    worker = Worker(PipelineSettings(), topology(world), ("fabric",))
    made = [worker.advance(rows), worker.finish()]
    parts = [each.tables[TABLE] for each in made if TABLE in each.tables]
    nothing = TABLES[TABLE].schema.to_frame()
    return pl.concat([nothing, *parts]).filter(pl.col("class") == "device")


def play(asked: Play) -> list[dict[str, object]]:
    """One row a finding that is sure, and one row a world without any."""
    told: list[tuple[str, pl.DataFrame]] = []
    if asked.parade:
        device, made, taps = PARADES[asked.parade]
        run = simulate(made(asked.name, asked.seed), SETTINGS)
        told.append((asked.parade, found(run, taps, until(run, device))))
    else:
        run = simulate(cast(SCENARIOS[asked.name](asked.kinds, 8 * MS), asked.seed), SETTINGS)
        told += [(mirror, found(run, MIRRORS[mirror])) for mirror in asked.mirrors]
    rows: list[dict[str, object]] = []
    for where, findings in told:
        world = {"where": where, "name": asked.name, "seed": asked.seed}
        sure = findings.filter(pl.col("verdict") == "yes").select(SAID)
        rows += [world | row for row in sure.iter_rows(named=True)]
        rows.append(world | dict.fromkeys(SAID, ""))
    return rows


def asked_for(seeds: list[int]) -> list[Play]:
    """All worlds, the longest first."""
    clean = [
        Play(name, seed, "", kinds, tuple(MIRRORS) if seed == seeds[0] else ("whole mirrors",))
        for seed in seeds
        for name in SCENARIOS
        for kinds in CASTS
    ]
    rogues = [Play(name, seed, where) for where in PARADES for name in FINDINGS for seed in seeds]
    return [*clean, *rogues]


def played(worlds: list[Play], processes: int) -> pl.DataFrame:
    """All rows; how far it is on standard error."""
    rows, begun = [], time.perf_counter()
    with get_context("spawn").Pool(processes) as pool:
        for number, part in enumerate(pool.imap_unordered(play, worlds), start=1):
            rows += part
            took = f"{number} of {len(worlds)} worlds, {time.perf_counter() - begun:.0f} s"
            print(f"\r{took}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return pl.DataFrame(rows).sort("where", "name", "seed", "finding", "subject")


def rogues(rows: pl.DataFrame, seeds: list[int]) -> list[str]:
    """Print how often each class was named, and what else was said; the bars that are not met."""
    missed = []
    print(f"{'rogue':28}{'class':24}named within {FRAMES} frames, others accused")
    for where, (device, *_) in PARADES.items():
        for name, finding in FINDINGS.items():
            said = rows.filter(pl.col("finding") != "", where=where, name=name)
            own = pl.col("subject").str.split(":").list.first() == device
            whole = said.filter(own & (pl.col("kind") != "path"), finding=finding)
            named = whole["seed"].n_unique()
            # A path is no device: it says between which taps the rule was broken.
            paths = said.filter(kind="path", finding=finding)["seed"].n_unique()
            others = said.filter(~(own & (pl.col("kind") != "path")), pl.col("kind") != "path")
            others = pl.concat([others, said.filter(own, pl.col("finding") != finding)]).unique()
            accused = [f"{row['finding']} {row['subject']} ({row['seed']})"
                       for row in others.iter_rows(named=True)]  # fmt: skip
            path = f", {paths} by path" if paths else ""
            line = f"{named} of {len(seeds)}{path}; {', '.join(accused) or 'none'}"
            print(f"{where:28}{name:24}{line}")
            if accused or (where in BARRED and named < len(seeds)):
                missed.append(f"{where}: {name}: {line}")
    return missed


def clean(rows: pl.DataFrame) -> list[str]:
    """Print who was accused where nobody breaks a rule; the bars that are not met."""
    missed = []
    print("\nwithout a rogue: worlds, accusations")
    for where in MIRRORS:
        mine = rows.filter(where=where)
        accused = [
            f"{row['name']} ({row['seed']}): {row['finding']} {row['subject']}"
            for row in mine.filter(pl.col("finding") != "").iter_rows(named=True)
        ]
        line = f"{where}: {mine.filter(finding='').height}, {', '.join(accused) or 'none'}"
        print(line, flush=True)
        missed += [line] * bool(accused)
    return missed


def cost() -> None:
    """Print the time of the worker with and without its watch."""
    world = scenario.demo()
    run = simulate(world, SETTINGS)
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS), points(world), "fabric")
    parts = [rows[at : at + BATCH] for at in range(0, rows.height, BATCH)]
    known = topology(world)
    took: dict[float, list[float]] = {0.0: [], 1000.0: []}
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
    """All three, and the bars that are not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[*SEEDS], help="others than scored")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--processes", type=int, default=cores, help="that play side by side")
    asked = parser.parse_args()
    rows = played(asked_for(asked.seeds), asked.processes)
    missed = [*rogues(rows, asked.seeds), *clean(rows)]
    cost()
    print(f"\nbars not met: {len(missed)}")
    print(*(f"  {line}" for line in missed), sep="\n")
    end(missed)


if __name__ == "__main__":
    main()
