"""Verdicts held against the truth of simulated fabrics, scenario by scenario and bar by bar.

Seeds that nobody developed with say which hosts and switches play the parts of a scenario. Every
scenario is played with all kinds of telemetry beside each other and with each kind alone; `cover`
is the share of flow-intervals with at least 20 observed data frames, of which alone the rest is
told. The ceiling is what the best possible observer with the same bits, topology and taps would
name (`replay/ceiling.py`). `--small` prints the piece that the tests keep, `--seeds` others.
"""

import argparse
import time

import polars as pl

from replay.campaign import FIRST_SCORED, KINDS, SCENARIOS, Plan, campaign
from replay.matrix import falls, lines, small
from replay.taps import Taps
from replay.world import MS

SEEDS = (FIRST_SCORED + 1, FIRST_SCORED + 2)
CLEAR = Plan("every frame of every host's port, intervals of 1 ms")
LONG = Plan("every frame, intervals of 10 ms", 30 * MS, 10 * MS, casts=(KINDS,))
FAULTY = ("incast", "last hop elephant", "slow receiver", "calm", "uplink hot spot",
          "core hot spot", "two in a row", "core link")  # fmt: skip
"""Scenarios that are played again with faults of mirrors."""
FAULTS = (
    (CLEAR, "1 % of the mirrored frames lost", Taps(loss=0.01)),
    (CLEAR, "clocks of the taps off by up to 10 us", Taps(skew_ns=10_000)),
    (CLEAR, "mirrors only where leaves send to spines", Taps(where="uplinks")),
    (CLEAR, "mirrors at one leaf only", Taps(leaves=("leaf2",))),
    (LONG, "one frame in 100 sampled, by each tap for itself", Taps(one_in=100)),
    (LONG, "one packet in 100 sampled, the same at all taps", Taps(one_in=100, choice="packet")),
)
"""Plan that is played again, what is wrong then, and with which taps."""


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="print what the tests keep")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="others than scored")
    parser.add_argument("--only", nargs="*", default=[*SCENARIOS], help="scenarios")
    parser.add_argument("--clear", action="store_true", help="leave the faults of mirrors out")
    asked = parser.parse_args()
    if asked.small:
        print(small())
        return
    begun = time.perf_counter()
    print(f"{CLEAR.name}; seeds {', '.join(map(str, asked.seeds))}\n")
    rows = {CLEAR: campaign(CLEAR, asked.only, asked.seeds)}
    print("\n".join(lines(rows[CLEAR], KINDS)), flush=True)
    again = [name for name in asked.only if name in FAULTY]
    for plan, name, taps in () if asked.clear else FAULTS:
        if plan not in rows:
            rows[plan] = campaign(plan, again, asked.seeds[:1])
        faulty = Plan(name, plan.duration_ns, plan.interval_ns, taps, (KINDS,))
        after = campaign(faulty, again, asked.seeds[:1])
        before = (
            rows[plan]
            .filter(pl.col("mixed"), seed=asked.seeds[0])
            .filter(pl.col("scenario").is_in(again))
        )
        print(f"\n{name}; {plan.name} before")
        print("\n".join(falls(before, after, KINDS)), flush=True)
    print(f"\nplayed in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
