"""How long after a frame came by what it says can be asked for: seen, judged, stored, visible.

    bench_fresh.py [--seconds S] [--rate FRAMES_A_SECOND] [--flows N ...]

`tcpreplay` puts the frames of a busy mirror on one end of a veth pair at one rate; `hopsight up`
captures, judges and stores what comes out of the other end. All the time its store is asked how far
its verdicts reach. A frame is visible at the first answer that reaches its time; an interval is
judged when it has ended, so its length (100 ms) is part of the delay. Told are the half and the
99th percentile over the time in which frames were sent, without its first and last seconds.
"""

import argparse
import threading
import time
from pathlib import Path

import mirror
import numpy as np
import soak_live as live
from bar import end, met

from pipeline import OwnerClient, read_owner

SECONDS, RATE, LOAD = 30.0, 100_000, 100_000
FLOWS = 64, 512
"""Flows of a mirror; each is judged ten times a second."""
BAR_S = 1.0
LOOK_S, STEP_S = 0.1, 0.01
FIRST_S, LAST_S = 5.0, 3.0
"""Left out: what is compiled and known anew at first, and what waits for the end."""


class Asking(threading.Thread):
    """How far verdicts reached, at each moment that this was asked; seconds since 1970."""

    def __init__(self, store: Path) -> None:
        super().__init__(daemon=True)
        owner = read_owner(store)
        assert owner is not None
        self.client = OwnerClient(owner)
        self.told: list[tuple[float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Ask until it is over."""
        while not self.over.wait(LOOK_S):
            reached = self.client.query("extent")["to_ns"][0]
            self.told.append((time.time(), int(reached) * 1e-9))


def delays(told: list[tuple[float, float]], from_s: float, to_s: float) -> np.ndarray:
    """Seconds until each moment of a time was visible; infinite where it never was."""
    asked_s, reached_s = np.array(told).T
    moments = np.arange(from_s, to_s, STEP_S)
    first = np.searchsorted(np.maximum.accumulate(reached_s), moments)
    return np.append(asked_s, np.inf)[first] - moments


def main() -> None:
    """Send, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time of the sender (30)")
    parser.add_argument("--rate", type=int, default=RATE, help="frames a second (100,000)")
    parser.add_argument("--flows", type=int, nargs="*", default=FLOWS, help="of the mirror")
    asked = parser.parse_args()
    for flows in asked.flows:
        told(flows, asked.seconds, asked.rate)
    end()


def told(flows: int, seconds: float, rate: int) -> None:
    """Send frames of so many flows, ask meanwhile, and print."""
    mirror.FLOWS = flows
    with live.captured() as (place, process):
        asking = Asking(place / "store")
        asking.start()
        began = time.time()
        pace = (*live.at(rate), "--loop=0", f"--duration={seconds:.0f}")
        sent, took = live.send(place / "sent.pcap", *pace)
        ended = time.time()
        time.sleep(LAST_S)
        asking.over.set()
        endings = live.drained(process)
    load = sent / took
    found = delays(asking.told, began + FIRST_S, ended - LAST_S)
    half, most = np.quantile(found, [0.5, 0.99], method="higher")
    shed = sum(count for name, count in endings.items() if name != "decoded")
    offered = f"{load:,.0f} frames/s of {flows:,} flows offered for {took:.0f} s"
    print(f"{offered}, {shed:,} of {sent:,} shed or dropped:")
    print(f"  seen to visible: half within {half:.2f} s, 99 of 100 within {most:.2f} s")
    shown = met(most < BAR_S and not shed) if load >= live.LEAST * LOAD else "not shown"
    print(f"  99 of 100 within {BAR_S:g} s at {LOAD:,} frames/s, nothing shed: {shown}")


if __name__ == "__main__":
    main()
