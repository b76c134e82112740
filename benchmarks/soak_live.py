"""A real sender on an interface of our own, faster than what is behind it: nothing goes uncounted.

    soak_live.py [--seconds S] [--rate FRAMES_A_SECOND] [--rows]

`tcpreplay` puts the frames of a busy mirror on one end of a veth pair, over and over; `hopsight up`
captures the other end through dumpcap, judges and stores in the embedded engine, and sheds whole
flows when it falls behind (`bus.overload = "shed"`). With `--rows` it is `hopsight collect` with a
store, which keeps what each frame said and judges nothing, and has its frames through files in
memory (`collector.ring_directory`), as the manual has it for such rates. Every frame that was sent
is then either a row of the store or in a counter of drops (kernel, pipe, shedding), else the run
fails. Without a rate the sender is as fast as it can; the load that it came to is told. Sender,
capture and service share the machine's cores. Memory of the service is looked at all the time: that
of the last fifth of a run of ten minutes is at most a tenth above that of the second fifth.
"""

import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import mirror
import traffic
from bar import end, met

from pipeline import Store
from replay.wiring import topology

SECONDS, LOAD, MOST_GROWTH, MOST_MB = 60.0, 300_000, 1.1, 1500.0
FRAMES = 300_000
WARM_FRAMES = 30_000
LONG_S = 300.0
"""Seconds from which a run tells whether memory is flat."""
LOOK_S = 0.5
DRAIN_S = 900.0
START_S = 120.0
RINGS = "/dev/shm/hopsight"  # noqa: S108 - in memory, with a lock
"""Where the frames of a collector come through."""
SETTLE_S = 5.0
"""What waits in the kernel's buffer when dumpcap is told to end, it neither reads nor counts."""
ENDS = tuple(f"hs-{end}{os.getpid()}" for end in "ab")
SENT = re.compile(r"Successful packets:\s+(\d+)")
OURS = f"tcp or ether proto 0x{traffic.CSIG[:2].hex()}"
"""What is sent; the system puts frames of its own on the link."""
HOPSIGHT = [sys.executable, "-m", "service.cli"]
PAGE = os.sysconf("SC_PAGE_SIZE")
EAGER = ("nice", "-n", "-10")
"""A mirror sends whatever its receiver does: the sender goes first, where it may."""


@contextmanager
def wire() -> Iterator[None]:
    """Two ends of a link of our own; ends the run with a sentence where none can be made."""
    made = ["ip", "link", "add", ENDS[0], "type", "veth", "peer", "name", ENDS[1]]
    if subprocess.run(made, check=False, capture_output=True).returncode:  # noqa: S603 - our own
        raise SystemExit("no interface can be made here: not shown")
    try:
        for name in ENDS:
            subprocess.run(["ip", "link", "set", name, "up"], check=True)  # noqa: S603, S607 - ours
        yield
    finally:
        subprocess.run(["ip", "link", "del", ENDS[0]], check=True)  # noqa: S603, S607 - ours


BURSTS_A_SECOND = 500
LEAST = 0.95
"""Share of a rate from which it counts as offered."""


def at(rate: int) -> tuple[str, ...]:
    """Words by which the sender keeps a rate, asleep between bursts.

    Frame by frame it would wait for the clock in a loop, and take a core that no mirror takes.
    """
    burst = max(rate // BURSTS_A_SECOND, 1)
    return f"--pps={rate}", f"--pps-multi={burst}", "--timer=nano"


def send(path: Path, *pace: str) -> tuple[int, float]:
    """Frames that the sender put on the wire, and the seconds that it took."""
    began = time.monotonic()
    command = [*EAGER, "tcpreplay", "--preload-pcap", *pace, "-i", ENDS[0], str(path)]
    told = subprocess.run(  # noqa: S603 - our own command
        command, check=True, capture_output=True, text=True
    )
    found = SENT.search(told.stdout)
    assert found is not None, told.stdout
    return int(found[1]), time.monotonic() - began


def resident(process: int) -> float:
    """Megabytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6


class Look(threading.Thread):
    """Megabytes that a process has, looked at all the time."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.seen: list[float] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        while not self.over.wait(LOOK_S):
            self.seen.append(resident(self.process))

    def fifth(self, number: int) -> float:
        """Median of one of five parts of the run."""
        size = max(len(self.seen) // 5, 1)
        return statistics.median(self.seen[number * size : (number + 1) * size])


@contextmanager
def served(place: Path) -> Iterator["subprocess.Popen[str]"]:
    """A service that captures the far end."""
    command = [
        *HOPSIGHT, "up", "--interface", ENDS[1], "--filter", OURS, "--port", "0", "--json",
        "--topology", str(place / "fabric.yaml"), "--store", f"chdb://{place}/store",
    ]  # fmt: skip
    environment = {**os.environ, "HOPSIGHT_BUS__OVERLOAD": "shed"}
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert "http" in process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def collected(place: Path) -> Iterator["subprocess.Popen[str]"]:
    """A collector that captures the far end and stores rows alone."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        *HOPSIGHT, "collect", "--interface", ENDS[1], "--filter", OURS, "--json",
        "--store", f"chdb://{place}/store",
    ]  # fmt: skip
    told = {
        "HOPSIGHT_BUS__OVERLOAD": "shed", "HOPSIGHT_PROCESS__METRICS": metrics,
        "HOPSIGHT_COLLECTOR__RING_DIRECTORY": RINGS,
    }  # fmt: skip
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **told}
    ) as process:
        try:
            await_capture(metrics)
            yield process
        finally:
            process.kill()


def await_capture(metrics: str) -> None:
    """Return when a collector tells of its frames, which it does as soon as it captures."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with suppress(httpx.HTTPError):
            if "hopsight_collector_queue_ratio" in httpx.get(f"http://{metrics}/metrics").text:
                return
        time.sleep(LOOK_S)
    raise SystemExit(f"nothing was captured within {START_S:.0f} s: not shown")


def warmed(place: Path, *, judged: bool) -> None:
    """Have everything compiled before frames come that nobody can hold up."""
    (place / "fabric.yaml").write_text(topology(mirror.CSIG_WORLD).to_yaml())
    mirror.csig(place / "warm.pcap", WARM_FRAMES)
    keep(place, "warm.pcap", "warm", judged=judged)


def keep(place: Path, capture: str, store: str, *, judged: bool) -> None:
    """Keep what a capture said in a store, and verdicts where it is judged."""
    what = ["analyze", "--topology", str(place / "fabric.yaml")] if judged else ["collect"]
    command = [*HOPSIGHT, *what, str(place / capture), "--store", f"chdb://{place}/{store}"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command


@contextmanager
def captured(
    *, judged: bool = True, before: Callable[[Path], None] = lambda _: None
) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """A service, or a collector, on a link of our own, with all code compiled: place and process.

    The frames to be sent are `sent.pcap` there; `before` may fill the store, `store` there.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the link goes then, too
    with tempfile.TemporaryDirectory() as folder, wire():
        place = Path(folder)
        mirror.csig(place / "sent.pcap", FRAMES)
        warmed(place, judged=judged)
        before(place)
        with (served if judged else collected)(place) as process:
            yield place, process


def drained(process: "subprocess.Popen[str]") -> dict[str, int]:
    """How the frames ended, told when all that came is judged and stored."""
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=DRAIN_S)
    found = json.loads(told.splitlines()[-1])["accounting"]
    return {"decoded": found["decoded"], **found["reasons"]}


def stored(place: Path) -> int:
    """Rows of the store, which has no owner any more."""
    with Store(f"chdb://{place}/store") as store, store.alone() as connection:
        return int(connection.rows("SELECT count() FROM observations")[0][0])


def main() -> None:
    """Send, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time of the sender (60)")
    parser.add_argument("--rate", type=int, help="frames a second (as many as it can)")
    parser.add_argument("--rows", action="store_true", help="rows alone, nothing is judged")
    asked = parser.parse_args()
    pace = [*at(asked.rate)] if asked.rate else ["--topspeed"]
    with captured(judged=not asked.rows) as (place, process):
        look = Look(process.pid)
        look.start()
        sent, took = send(place / "sent.pcap", *pace, "--loop=0", f"--duration={asked.seconds:.0f}")
        look.over.set()
        time.sleep(SETTLE_S)
        endings = drained(process)
        show(sent, sent / took, endings, stored(place), look, took)
    end()


def show(
    sent: int, load: float, endings: dict[str, int], rows: int, look: Look, took: float
) -> None:
    """Print what was found."""
    lost = {name: count for name, count in sorted(endings.items()) if name != "decoded"}
    told = ", ".join(f"{name} {count:,}" for name, count in lost.items()) or "none"
    print(f"{load:,.0f} frames/s offered for {took:.0f} s, {sent:,} frames sent:")
    print(f"  {rows:,} rows stored ({rows / took:,.0f} a second of sending); counted: {told}")
    all_told = met(rows == endings["decoded"] and sent == rows + sum(lost.values()))
    print(f"  sent = stored + counted drops: {all_told}")
    bar = f"no loss at {LOAD:,} frames/s or more"
    print(f"  {bar}: {met(not lost) if load >= LOAD else 'not shown'}")
    print(f"  memory of the service at most {MOST_MB:,.0f} MB: {met(max(look.seen) <= MOST_MB)}"
          f" ({max(look.seen):,.0f})")  # fmt: skip
    early, late = look.fifth(1), look.fifth(4)
    flat = met(late <= MOST_GROWTH * early) if took >= LONG_S else "not shown"
    print(f"  memory of the last fifth at most {MOST_GROWTH}x that of the second: {flat}"
          f" ({early:,.0f} MB, then {late:,.0f} MB)")  # fmt: skip


if __name__ == "__main__":
    main()
