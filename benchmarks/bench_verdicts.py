"""Verdicts held against the truth of simulated fabrics, scenario by scenario and bar by bar.

Seeds that nobody developed with say which hosts and switches play the parts of a scenario, and some
scenarios are only played here. Every scenario is played with all kinds of telemetry beside each
other and with each kind alone; `cover` is the share of flow-intervals with at least 20 observed
data frames, of which alone the rest is told. The ceiling is what the best possible observer with
the same bits, topology and taps would name (`replay/ceiling.py`). Intervals of 100 ms and 1 s are
scored apart, in fabrics of 1 Gb/s. Worlds are played in as many processes as there are cores.
`--small` prints the piece that the tests keep, `--seeds` others.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context

import polars as pl

from replay.campaign import (
    FIRST_SCORED,
    KINDS,
    SCENARIOS,
    SCORED_ONLY,
    STACKS,
    Plan,
    Play,
    play,
    plays,
)
from replay.matrix import falls, lines, small
from replay.taps import ALL, Taps
from replay.world import MS

SEEDS = (FIRST_SCORED + 1, FIRST_SCORED + 2)
CLEAR = Plan("every frame of every host's port, intervals of 1 ms")
CARRIED = Plan(CLEAR.name, casts=(STACKS,))
ALONE = Plan(CLEAR.name, casts=(("ioam",), ("int_reports",)))
"""Other carriers of the INT kind: all beside each other, and with the first seed two that tell no
counters alone."""
LONG = Plan("every frame, intervals of 10 ms", 30 * MS, 10 * MS, casts=(KINDS,))
SECONDS = 2_000 * MS
SLOW = (
    Plan("every frame, intervals of 100 ms, links of 1 Gb/s", SECONDS, 100 * MS, ALL, (KINDS,), 10),
    Plan("every frame, intervals of 1 s, links of 1 Gb/s", SECONDS, 1_000 * MS, ALL, (KINDS,), 10),
)
LASTING = ("incast", "calm", "last hop elephant", "uplink hot spot", "core hot spot",
           "two in a row", "path change", "failed link")  # fmt: skip
"""Scenarios that are played for seconds, with the first seed."""
FAULTY = ("incast", "last hop elephant", "slow receiver", "calm", "uplink hot spot",
          "core hot spot", "two in a row", "core link")  # fmt: skip
"""Scenarios that are played again with faults of mirrors, with the first seed."""
FAULTS = (
    (CLEAR, "1 % of the mirrored frames lost", Taps(loss=0.01)),
    (CLEAR, "clocks of the taps off by up to 10 us", Taps(skew_ns=10_000)),
    (CLEAR, "mirrors only where leaves send to spines", Taps(where="uplinks")),
    (CLEAR, "mirrors at one leaf only", Taps(leaves=("leaf2",))),
    (LONG, "one frame in 100 sampled, by each tap for itself", Taps(one_in=100)),
    (LONG, "one packet in 100 sampled, the same at all taps", Taps(one_in=100, choice="packet")),
)
"""Plan that is played again, what is wrong then, and with which taps."""


def faulty(plan: Plan, name: str, taps: Taps) -> Plan:
    """A plan that is played again with other taps."""
    return Plan(name, plan.duration_ns, plan.interval_ns, taps, (KINDS,), plan.slower)


def asked_for(
    names: list[str], seeds: list[int], *, clear: bool
) -> Iterator[tuple[Plan, list[str], list[int]]]:
    """Plans with their scenarios and seeds."""
    yield CLEAR, names, seeds
    yield CARRIED, names, seeds
    yield ALONE, names, seeds[:1]
    if clear:
        return
    for plan in SLOW:
        yield plan, [name for name in names if name in LASTING], seeds[:1]
    again = [name for name in names if name in FAULTY]
    for plan in dict.fromkeys(plan for plan, *_ in FAULTS):
        if plan is not CLEAR:
            yield plan, again, seeds[:1]
    for fault in FAULTS:
        yield faulty(*fault), again, seeds[:1]


def played(worlds: list[Play], processes: int) -> pl.DataFrame:
    """Judged flow-intervals of all worlds, the longest first; how far it is on standard error."""
    worlds = sorted(worlds, key=lambda each: -each.duration_ns // each.slower * len(each.plans))
    begun = time.perf_counter()
    with get_context("spawn").Pool(processes) as pool:
        parts = [*watched(pool.imap_unordered(play, worlds), len(worlds), begun)]
    return pl.concat(parts, how="diagonal_relaxed").sort(
        "plan", "scenario", "seed", "mixed", "telemetry", "script", "time_ns"
    )


def watched(made: Iterable[pl.DataFrame], count: int, begun: float) -> Iterator[pl.DataFrame]:
    """The parts as they come, each counted on standard error."""
    for number, part in enumerate(made, start=1):
        took = time.perf_counter() - begun
        print(f"\r{number} of {count} worlds, {took:.0f} s", end="", file=sys.stderr, flush=True)
        yield part
    print(file=sys.stderr)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="print what the tests keep")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="others than scored")
    parser.add_argument("--only", nargs="*", default=[*SCENARIOS, *SCORED_ONLY], help="scenarios")
    parser.add_argument("--clear", action="store_true", help="leave faults and long ones out")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--processes", type=int, default=cores, help="that play side by side")
    asked = parser.parse_args()
    if asked.small:
        print(small())
        return
    begun = time.perf_counter()
    wanted = [*asked_for(asked.only, [*asked.seeds], clear=asked.clear)]
    rows = played(plays(wanted), asked.processes)
    for plan in (CLEAR,) if asked.clear else (CLEAR, *SLOW):
        shown = (*KINDS, *STACKS) if plan is CLEAR else KINDS
        (seeds,) = {tuple(seeds) for each, _, seeds in wanted if each is plan}
        print(f"{plan.name}; seeds {', '.join(map(str, seeds))}\n")
        print("\n".join(lines(rows.filter(plan=plan.name), shown)), "\n", flush=True)
    for plan, name, taps in () if asked.clear else FAULTS:
        after = rows.filter(plan=faulty(plan, name, taps).name)
        before = rows.filter(pl.col("mixed"), plan=plan.name, seed=asked.seeds[0]).filter(
            pl.col("telemetry").is_in(KINDS),
            pl.col("scenario").is_in(after["scenario"].unique().implode()),
        )
        print(f"{name}; {plan.name} before")
        print("\n".join(falls(before, after, KINDS)), "\n", flush=True)
    print(f"played in {time.perf_counter() - begun:.0f} s, {asked.processes} processes")


if __name__ == "__main__":
    main()
