"""How long after a frame came by what it says can be asked for: seen, judged, stored, visible.

    bench_fresh.py [--seconds S] [--rate FRAMES_A_SECOND] [--flows N ...] [--bus NAME ...]
                   [--elephant SHARE ...]

`tcpreplay` puts the frames of a busy mirror on one end of a veth pair at one rate; `hopsight up`
captures, judges and stores what comes out of the other end. Through Kafka a collector captures, a
worker judges, and broker and store are processes of their own beside them (as in `bench_kafka.py`);
the topic has one partition (`kafka-1`), or four, which the worker judges together.
All the time the store is asked how far its verdicts reach. A frame is visible at the first answer
that reaches its time; an interval is judged when it has ended, so its length (100 ms) is part of
the delay. All flows are judged in one pass, so that one which has most of the frames (an elephant)
could hold up all others: with `--elephant` one has that share. Told are the half and the 99th
percentile over the time in which frames were sent, without its first and last seconds.
"""

import argparse
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import bench_kafka as kafka
import mirror
import numpy as np
import polars as pl
import soak_live as live
from bar import end, met
from kill_world import PARTITIONS, TAKEN, hopsight

from pipeline import OwnerClient, Store, read_owner

SECONDS, RATE, LOAD = 30.0, 100_000, 100_000
FLOWS = 64, 128, 256, 512
"""Flows of a mirror; each is judged ten times a second: the more there are, the more is judged."""
ENDS = min(FLOWS), max(FLOWS)
"""Those that are sent through Kafka: broker, store and two more processes share the cores there."""
ELEPHANTS = 0.0, 0.6
"""Share of the frames that one of the flows has, beside whom the fewest others are judged."""
BAR_S, KAFKA_BAR_S = 1.0, 2.0
"""Most seconds until 99 of 100 are visible, in one process and with Kafka between capture and
judging."""
TAKEN_S = 60.0
"""Seconds within which the worker has its partitions."""
LOOK_S, STEP_S = 0.1, 0.01
FIRST_S, LAST_S = 5.0, 3.0
"""Left out: what is compiled and known anew at first, and what waits for the end."""


class Asking(threading.Thread):
    """How far verdicts reached, at each moment that this was asked; seconds since 1970."""

    def __init__(self, ask: Callable[[str], pl.DataFrame]) -> None:
        super().__init__(daemon=True)
        self.ask = ask
        self.told: list[tuple[float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Ask until it is over."""
        while not self.over.wait(LOOK_S):
            reached = self.ask("extent")["to_ns"][0] or 0
            self.told.append((time.time(), int(reached) * 1e-9))


class Running(NamedTuple):
    """What captures, judges and stores."""

    frames: Path
    """What is to be sent."""
    ask: Callable[[str], pl.DataFrame]
    """A query of its store."""
    drained: Callable[[], dict[str, int]]
    """Ends the capture; how the frames ended."""


@contextmanager
def in_one() -> Iterator[Running]:
    """One process that does it all."""
    with live.captured() as (place, process):
        owner = read_owner(place / "store")
        assert owner is not None
        yield Running(place / "sent.pcap", OwnerClient(owner).query, lambda: live.drained(process))


@contextmanager
def through_kafka(partitions: int) -> Iterator[Running]:
    """A collector, a broker, a worker and a store."""
    with kafka.place(partitions) as place, live.wire():
        mirror.csig(place.directory / "sent.pcap", live.FRAMES)
        live.warmed(place.directory, judged=True)
        with Store(place.dsn) as store:
            store.migrate()
            worker, until = place.worker(0), time.monotonic() + TAKEN_S
            collector = place.begun(
                "collector", *hopsight("collect"), "--interface", live.ENDS[1], "--filter",
                live.OURS, "--bus", place.url, "--json", HOPSIGHT_BUS__OVERLOAD="shed",
            )  # fmt: skip
            while len(TAKEN.findall(worker.text())) < partitions:
                if time.monotonic() > until:
                    raise SystemExit(f"no partition is taken over: {worker.text()[-2000:]}")
                time.sleep(LOOK_S)

            def drained() -> dict[str, int]:
                collector.signal(signal.SIGINT)
                collector.wait()
                found = json.loads(collector.text().splitlines()[-1])["accounting"]
                return {"decoded": found["decoded"], **found["reasons"]}

            yield Running(place.directory / "sent.pcap", store.query, drained)


class Way(NamedTuple):
    """A way from the capture to the store."""

    begun: Callable[[], AbstractContextManager[Running]]
    bar_s: float
    flows: tuple[int, ...] = ENDS


BUSES = {
    "memory": Way(in_one, BAR_S, FLOWS),
    "kafka-1": Way(partial(through_kafka, 1), KAFKA_BAR_S),
    f"kafka-{PARTITIONS}": Way(partial(through_kafka, PARTITIONS), KAFKA_BAR_S, ENDS[:1]),
}


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
    parser.add_argument("--flows", type=int, nargs="*", help="of the mirror (64 to 512)")
    parser.add_argument("--elephant", type=float, nargs="*", help="share of one flow (0, 0.6)")
    parser.add_argument("--bus", choices=BUSES, nargs="*", default=tuple(BUSES))
    asked = parser.parse_args()
    for bus in asked.bus:
        for flows in asked.flows or BUSES[bus].flows:
            shares = ELEPHANTS if flows == min(FLOWS) else ELEPHANTS[:1]
            for share in shares if asked.elephant is None else asked.elephant:
                told(bus, flows, share, asked.seconds, asked.rate)
    end()


def told(bus: str, flows: int, share: float, seconds: float, rate: int) -> None:
    """Send frames of so many flows, ask meanwhile, and print."""
    mirror.FLOWS, mirror.ELEPHANT = flows, share
    with BUSES[bus].begun() as running:
        asking = Asking(running.ask)
        asking.start()
        began = time.time()
        pace = (*live.at(rate), "--loop=0", f"--duration={seconds:.0f}")
        sent, took = live.send(running.frames, *pace)
        ended = time.time()
        time.sleep(LAST_S)
        asking.over.set()
        endings = running.drained()
    load = sent / took
    found = delays(asking.told, began + FIRST_S, ended - LAST_S)
    half, most = np.quantile(found, [0.5, 0.99], method="higher")
    shed = sum(count for name, count in endings.items() if name != "decoded")
    heavy = f", of which one has {share:.0%} of the frames," if share else ""
    offered = f"{load:,.0f} frames/s of {flows:,} flows{heavy} offered for {took:.0f} s"
    print(f"bus in {bus}: {offered}, {shed:,} of {sent:,} shed or dropped:")
    within = ["not in the time of the run" if each == np.inf else f"within {each:.2f} s"
              for each in (half, most)]  # fmt: skip
    print(f"  seen to visible: half {within[0]}, 99 of 100 {within[1]}")
    bar_s = BUSES[bus].bar_s
    shown = met(most < bar_s and not shed) if load >= live.LEAST * LOAD else "not shown"
    print(f"  99 of 100 within {bar_s:g} s at {LOAD:,} frames/s, nothing shed: {shown}")


if __name__ == "__main__":
    main()
