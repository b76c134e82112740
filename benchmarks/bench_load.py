"""200 clients at once while frames come in: no failure, answers in time, nothing that grows.

`hopsight up` reads a capture that grows by 100,000 frames a second, whose clock is that of the
frames, as a process of its own; 200 clients, in this process, ask for 60 s: four of five requests
are of consoles and TE controllers, one is `where` of a flow drawn at random. Whoever gets 503 comes
again after the time that it is told. Clients, pump and service share the machine's cores.

First frames come without clients. Where the service falls behind them on this machine, what it
takes is told, a part of that comes in beside the clients, and the bar on what comes in is not met.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import mirror
import traffic
from bar import end, met
from clients import Heard, asked, percentile

from replay.wiring import topology

CLIENTS, SECONDS, RATE = 200, 60.0, 100_000
LEAST_WHERE, MOST_P99_S, MOST_BEHIND_S, MOST_GROWTH = 40.0, 1.0, 5.0, 1.25
WARM_S = 10.0
"""Time before the clients come, in which flows are seen."""
FIRST = 30_000
"""Frames that are analyzed before, so that all code is compiled."""
PROBE_S = 20.0
"""Time over which it is seen whether the service keeps up before clients come."""
PART = 0.5
"""Part of what the service takes without clients that comes in beside them, if that is less."""
DRAIN_S = 10.0
"""Time that the service has to end by itself."""
NS = 10**9
PAGE = os.sysconf("SC_PAGE_SIZE")


class Pump(threading.Thread):
    """Lets a capture grow at a steady rate."""

    def __init__(self, source: Path, target: Path, frames: int, rate: int) -> None:
        super().__init__(daemon=True)
        self.source, self.target = source, target
        self.octets = (source.stat().st_size - len(traffic.FILE_HEAD)) / frames
        self.rate = rate
        self.frames = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Copy what is due, twenty times a second."""
        begun = time.monotonic()
        turn = round(self.octets * mirror.TURN)
        with self.source.open("rb") as read, self.target.open("ab", buffering=0) as write:
            read.seek(len(traffic.FILE_HEAD))
            while not self.over.wait(0.05):
                due = int((time.monotonic() - begun) * self.rate) // mirror.TURN * mirror.TURN
                octets = read.read((due - self.frames) // mirror.TURN * turn)
                if due > self.frames and not octets:
                    raise SystemExit("the capture was too short for this machine")
                write.write(octets)
                self.frames = due

    def now_ns(self) -> int:
        """The time of the last frame."""
        return traffic.BEGIN_S * NS + self.frames * mirror.STEP_NS


@contextmanager
def served(place: Path, live: Path) -> Iterator[tuple[str, int]]:
    """A service that reads a growing capture: its URL and its process."""
    (place / "fabric.yaml").write_text(topology(mirror.CSIG_WORLD).to_yaml())
    command = [
        sys.executable, "-m", "service.cli", "up", str(live), "--follow", "--port", "0",
        "--topology", str(place / "fabric.yaml"), "--store", f"chdb://{place}/store",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        try:
            assert found is not None
            yield found[0], process.pid
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(DRAIN_S)
            process.kill()


def resident(process: int) -> float:
    """Megabytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6


def behind_s(url: str, pump: Pump) -> float:
    """Seconds between the newest frame and the newest verdict that is stored."""
    told = httpx.get(f"{url}/api/v1/bottlenecks?limit=1", timeout=60).json()
    return (pump.now_ns() - told["stored"]["to_ns"]) / NS if told.get("stored") else float("inf")


def patiently(url: str, pump: Pump) -> float:
    """The same; a service that is busy is asked again."""
    for _ in range(20):
        try:
            return behind_s(url, pump)
        except (httpx.HTTPError, KeyError):
            time.sleep(0.5)
    return float("inf")


def taken(url: str, pump: Pump) -> tuple[float, float]:
    """Frames a second that are judged while nobody asks, from the begin on; how far behind, s."""
    time.sleep(WARM_S + PROBE_S)
    lag = patiently(url, pump)
    if lag <= MOST_BEHIND_S:
        return float(pump.rate), lag
    came_s = pump.frames / pump.rate
    return pump.rate * max(1 - lag / came_s, 0.0), lag


@contextmanager
def fed(place: Path, source: Path, frames: int, rate: int) -> Iterator[tuple[str, int, Pump]]:
    """A service with a new store while frames come in at a rate."""
    place.mkdir()
    live = place / "live.pcap"
    live.write_bytes(traffic.FILE_HEAD)
    pump = Pump(source, live, frames, rate)
    with served(place, live) as (url, process):
        pump.start()
        try:
            yield url, process, pump
        finally:
            pump.over.set()


def show(heard: Heard, seconds: float) -> None:
    """Print what the clients heard, beside the bars."""
    statuses = Counter(status for _, status, _ in heard.answers)
    print(f"{len(heard.answers):,} answers in {seconds:.0f} s: {dict(sorted(statuses.items()))}")
    for what in sorted({name for name, _, _ in heard.answers}):
        took = heard.seconds(what)
        print(f"  {what:28}{len(took):8,}  p50 {percentile(took, 0.5) * 1e3:7.1f} ms"
              f"  p99 {percentile(took, 0.99) * 1e3:7.1f} ms")  # fmt: skip
    for line, count in Counter(heard.wrong).most_common(5):
        print(f"  {count} times {line}")
    print(f"no failure but 503 with Retry-After: {met(not heard.wrong, 'failures')}")
    rate = len(heard.flows) / seconds
    print(f"at least {LEAST_WHERE:g} distinct `where` a second: {met(rate >= LEAST_WHERE, 'where')}"
          f" ({rate:.1f})")  # fmt: skip
    p99 = percentile(heard.seconds(), 0.99)
    print(f"p99 of what is served below {MOST_P99_S:g} s: {met(p99 < MOST_P99_S, 'p99')}"
          f" ({p99:.2f} s)")  # fmt: skip


def captured(path: Path, rate: int, seconds: float) -> int:
    """A capture whose clock is that of its frames at a rate; gives how many frames it has."""
    mirror.STEP_NS = NS // rate
    frames = int(rate * (seconds + 2 * (WARM_S + PROBE_S))) // mirror.TURN * mirror.TURN
    mirror.csig(path, frames)
    return frames


def main() -> None:
    """Feed, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long clients ask")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rate", type=int, default=RATE, help="frames a second that come in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, rate = Path(folder), given.rate
        source = place / "whole.pcap"
        mirror.csig(place / "first.pcap", FIRST)
        warm = [sys.executable, "-m", "service.cli", "analyze", str(place / "first.pcap")]
        subprocess.run(warm, check=True, capture_output=True)  # noqa: S603 - our own command
        frames = captured(source, rate, 0)
        with fed(place / "alone", source, frames, rate) as (url, _, pump):
            takes, lag = taken(url, pump)
        print(f"of {rate:,} frames/s {takes:,.0f} are taken while nobody asks ({lag:.1f} s behind)")
        if takes < mirror.TURN:
            raise SystemExit("nothing is judged in time on this machine before anybody asks")
        if lag > MOST_BEHIND_S:
            rate = max(int(takes * PART), mirror.TURN)
        frames = captured(source, rate, given.seconds)
        with fed(place / "beside", source, frames, rate) as (url, process, pump):
            time.sleep(WARM_S + PROBE_S / 2)
            lag = patiently(url, pump)
            told = httpx.get(f"{url}/api/v1/flows?limit=10000&filter=dport%3D5001", timeout=60)
            flows, memory = told.json()["flows"], resident(process)
            if not flows:
                raise SystemExit(f"no flow is stored after {WARM_S + PROBE_S / 2:g} s")
            heard = asyncio.run(asked(url, flows, given.clients, given.seconds))
            late, grown = patiently(url, pump), resident(process)
        print(f"{given.clients} clients, {len(flows):,} flows, {rate:,} frames/s:")
        show(heard, given.seconds)
        print(f"{RATE:,} frames/s come in meanwhile: {met(rate >= RATE, 'rate')} ({rate:,})")
        fresh = late <= max(MOST_BEHIND_S, 2 * lag)
        print(f"verdicts at most {MOST_BEHIND_S:g} s behind the frames: {met(fresh, 'freshness')}"
              f" ({lag:.1f} s before, {late:.1f} s after)")  # fmt: skip
        flat = grown <= memory * MOST_GROWTH
        print(f"memory grows by less than {MOST_GROWTH - 1:.0%}: {met(flat, 'memory')}"
              f" ({memory:,.0f} MB before, {grown:,.0f} MB after)")  # fmt: skip
    end()


if __name__ == "__main__":
    main()
