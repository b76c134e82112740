"""Verdicts held against the truth of simulated fabrics, scenario by scenario and bar by bar.

Seeds that nobody developed with say which hosts and switches play the parts of a scenario, and some
scenarios are only played here. Every scenario is played with all kinds of telemetry beside each
other and with each kind alone; `cover` is the share of flow-intervals with at least 20 observed
data frames, of which alone the rest is told, and `under 20` how many have fewer. Intervals in which
the script changes the traffic are left out.

The ceiling beside `top-1` and beside `kind` is what the best possible observer reaches with what
the taps left (`replay/observer.py`): packets that are left tell it all about the hops that they
passed, so that it lacks the queues between them, and which of several spines a flow took that
nothing names (`replay/ceiling.py`). Both are counted from what is left of the very same run.

`off by` is the largest distance of confidence from the share that is right, over those `bins` of a
tenth that hold at least 200 flow-intervals. `skill` is Brier's skill of the headline's confidence
over always saying how often headlines are right; it can only be told where at least 20 calls are
`wrong`. `of set` is the skill of the ranked candidates: in congested intervals each of the listed
`hops` is a forecast, over how often a listed hop is the bottleneck (`replay/proof.py`).

Falls are told of flow-intervals that are scored with and without the fault, each figure as a share
of the ceiling under that fault. Intervals of 100 ms and 1 s are scored apart, in fabrics of 1 Gb/s.
Worlds are played in as many processes as there are cores. All bars that are not met stand at the
end. `--small` prints the piece that the tests keep, `--seeds` others.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing import get_context

import polars as pl
from bar import end

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
from replay.fall import falls
from replay.matrix import lines, small, unmet
from replay.taps import ALL, Taps
from replay.world import MS

SEEDS = (FIRST_SCORED + 3, FIRST_SCORED + 4)
CLEAR = Plan("every frame of every host's port, intervals of 1 ms")
CARRIED = Plan(CLEAR.name, casts=(STACKS,))
ALONE = Plan(CLEAR.name, casts=(("ioam",), ("int_reports",)))
"""Other carriers of the INT kind: all beside each other, and with the first seed two that tell no
counters alone."""
LONG = Plan("every frame, intervals of 40 ms", 80 * MS, 40 * MS)
"""What is sampled: at 1:100 a flow needs 2,000 packets an interval."""
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
SAMPLED = ("incast", "calm", "uplink hot spot", "core hot spot", "two in a row", "core link")
"""Scenarios that are played long enough to be sampled, with the first seed."""
FAULTS = (
    (CLEAR, "1 % of the mirrored frames lost", Taps(loss=0.01)),
    (CLEAR, "clocks of the taps off by up to 10 us", Taps(skew_ns=10_000)),
    (LONG, "one frame in 100 sampled, by each tap for itself", Taps(one_in=100)),
    (LONG, "one packet in 100 sampled, the same at all taps", Taps(one_in=100, choice="packet")),
)
"""Plan that is played again, what is wrong then, and with which taps; each has its bar."""
ELSEWHERE = (
    (replace(CLEAR, casts=(KINDS,)), "mirrors only where leaves send to spines",
     Taps(where="uplinks")),
    (replace(CLEAR, casts=(KINDS,)), "mirrors at one leaf only", Taps(leaves=("leaf2",))),
)  # fmt: skip
"""The same with fewer taps, of which no bar speaks."""


def faulty(plan: Plan, name: str, taps: Taps) -> Plan:
    """A plan that is played again with other taps."""
    return replace(plan, name=name, taps=taps)


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
    sampled = [name for name in names if name in SAMPLED]
    yield LONG, sampled, seeds[:1]
    for fault in (*FAULTS, *ELSEWHERE):
        yield faulty(*fault), sampled if fault[0] is LONG else again, seeds[:1]


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
    missed = []
    for plan in (CLEAR,) if asked.clear else (CLEAR, *SLOW):
        shown = (*KINDS, *STACKS) if plan is CLEAR else KINDS
        (seeds,) = {tuple(seeds) for each, _, seeds in wanted if each is plan}
        mine = rows.filter(plan=plan.name)
        print(f"{plan.name}; seeds {', '.join(map(str, seeds))}\n")
        print("\n".join(lines(mine, shown)), "\n", flush=True)
        missed += [f"{plan.name}: {line}" for line in unmet(mine, shown)]
    for plan, name, _ in () if asked.clear else (*FAULTS, *ELSEWHERE):
        barred = any(name == each for _, each, _ in FAULTS)
        print(f"{name}{'' if barred else ' (no bar)'}; {plan.name} before")
        for met, line in falls(rows.filter(plan=plan.name), rows.filter(plan=name), KINDS):
            print(line)
            missed += [f"{name}: {line.strip()}"] * (barred and met is False)
        print(flush=True)
    print(f"all bars that are not met: {len(missed)}")
    print(*(f"  {line}" for line in missed), sep="\n")
    print(f"played in {time.perf_counter() - begun:.0f} s, {asked.processes} processes")
    end(missed)


if __name__ == "__main__":
    main()
