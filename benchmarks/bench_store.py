"""A capture file into the store, in one process: raw rows, intervals, verdicts, rollups, findings.

The captures are those of a busy mirror (`mirror.py`): thousands of flows of a fabric whose topology
is known, CSIG on TCP with ACKs that reflect it, and INT-MD of five hops. Everything is stored by
the embedded engine, as `hopsight analyze --store` does it, and counted by a question to it
afterwards. Beside it, in turns: the same file decoded alone; decoded, and the rows alone inserted;
decoded and analyzed without a store. The bar is set beside the rows alone and beside everything.
Medians of three, on the clock and in processor seconds; since a clock also shows what else a
machine does, the rate that two cores would reach is told beside it. The engine merges parts later;
what it takes to make one part of all raw rows is told by itself.

The capture lasts a second or two, so that most flows have one row of a second, of which the flow's
own number takes half. Rows of seconds are weighed by a capture of their own, of 512 flows that last
for 20 s and have 10,000 frames a second.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import mirror
import traffic
from bar import end, met
from stopwatch import Spent, in_turns, spent

from collector import CollectorSettings, Decoder, MemoryBus, feed, open_capture
from pipeline import READERS, TABLES, Output, PipelineSettings, Store, Topology, take_in
from replay.wiring import topology
from service.keeping import store_sink
from service.run import Job, run_job

RUNS = 3
FRAMES = {"CSIG + TCP": 2_097_150, "INT-MD, 5 hops": 1_048_575}
BARS = {"CSIG + TCP": 1.0, "INT-MD, 5 hops": 0.35}
"""Million frames a second that are promised."""
ROOM: dict[str, dict[str, int]] = {
    "observations": {"CSIG + TCP": 25, "INT-MD, 5 hops": 60},
    "link_seconds": dict.fromkeys(FRAMES, 200),
}
"""Most bytes of a row on the disk that are promised."""
SECOND_BYTES = 16
"""Most bytes of a row of one flow in one second that are promised."""
LASTING_S, LASTING_FLOWS, LASTING_FRAMES = 20, 512, 200_000
KINDS = {
    "CSIG + TCP": (mirror.csig, mirror.CSIG_WORLD),
    "INT-MD, 5 hops": (mirror.stacks, mirror.INT_WORLD),
}
PARTS = """
SELECT sum(bytes_on_disk), sum(rows) FROM system.parts
WHERE active AND database = currentDatabase() AND table = {table:String}
"""
Kept = tuple[int, float, float]
"""Rows of a table, bytes of one on the disk, and microseconds of a processor to merge it."""
WAITING = 1
"""Batches that wait to be inserted while one is inserted and one decoded."""
CORES = 2
"""Cores of the machine that the bars are of."""
SETTINGS = CollectorSettings(int_dscp=traffic.INT_DSCP)


def decode(path: Path) -> None:
    """Decode a file."""
    decoder = Decoder(SETTINGS)
    with open_capture(path) as capture:
        for frames in capture.chunks(SETTINGS.frames_per_batch):
            decoder.decode(frames, capture.points, "bench")


async def keep_rows(path: Path, store: Store) -> None:
    """Decode a file, and insert its rows alone beside it, as `hopsight collect --store` does."""
    bus, sink = MemoryBus(WAITING), store_sink(store)
    with open_capture(path) as capture:
        readers = (take_in(bus, sink) for _ in range(READERS))
        await asyncio.gather(feed([capture], Decoder(SETTINGS), bus), *readers)


def analyze(path: Path, topology: Topology, keep: Callable[[Output, str], None]) -> None:
    """Decode a file and put it through the worker."""
    run_job(Job([path], SETTINGS, PipelineSettings(), topology), lambda _: keep, "")


def into_store(work: Callable[[Store], object], told: dict[str, Kept] | None = None) -> Spent:
    """Time of some work on a new store; rows and bytes of a row by table are `told` afterwards."""
    with tempfile.TemporaryDirectory() as folder, Store(f"chdb://{folder}/store") as store:
        store.migrate()
        took = spent(lambda: work(store))
        if told is not None:
            told.update(sizes(store))
        return took


def sizes(store: Store) -> dict[str, Kept]:
    """Rows of each table as a question counts them, and bytes on disk of a row, merged."""
    found = {}
    for table in TABLES:
        [(rows,)] = store._writer.rows(f"SELECT count() FROM {table}")  # noqa: S608, SLF001 - no verb counts
        merging = f"OPTIMIZE TABLE {table} FINAL"
        took = spent(lambda merging=merging: store._writer.command(merging))  # type: ignore[misc]  # noqa: SLF001 - nor merges; mypy knows no type of a default
        [(octets, kept)] = store._writer.rows(PARTS, table=table)  # noqa: SLF001 - nor tells sizes
        most = max(int(kept), 1)
        found[table] = int(rows), float(octets) / most, took.cpu / most * 1e6
    return found


def lasting(path: Path, name: str) -> tuple[int, float]:
    """Rows of flows that last, by second, and bytes of one on the disk."""
    write, world = KINDS[name]
    usual = mirror.STEP_NS, mirror.FLOWS
    mirror.STEP_NS, mirror.FLOWS = LASTING_S * 10**9 // LASTING_FRAMES, LASTING_FLOWS
    try:
        write(path, LASTING_FRAMES // mirror.TURN * mirror.TURN)
    finally:
        mirror.STEP_NS, mirror.FLOWS = usual
    told: dict[str, Kept] = {}
    into_store(lambda store: analyze(path, topology(world), store_sink(store)), told)
    return told["flow_seconds"][:2]


def measured(path: Path, topology: Topology) -> tuple[dict[str, Spent], dict[str, Kept]]:
    """Medians of the whole and of what it is set beside, and what the store has in the end."""
    last: dict[str, Kept] = {}
    rows: dict[str, Kept] = {}

    def raw(store: Store) -> None:
        asyncio.run(keep_rows(path, store))

    def everything(store: Store) -> None:
        analyze(path, topology, store_sink(store))

    works = {
        "decoded": lambda: spent(lambda: decode(path)),
        "decoded, rows inserted": lambda: into_store(raw),
        "decoded, analyzed": lambda: spent(lambda: analyze(path, topology, lambda *_: None)),
        "all of it": lambda: into_store(everything),
    }
    into_store(everything, last)  # compiles and fills caches too
    into_store(raw, rows)
    if rows["observations"][0] != last["observations"][0]:
        raise SystemExit(f"{rows['observations'][0]:,} rows were stored of the rows alone")
    return in_turns(works, RUNS), last


def show(name: str, frames: int, took: dict[str, Spent], stored: dict[str, Kept]) -> None:
    """Print what was found of one capture."""
    print(f"{name}, {frames:,} frames of {mirror.FLOWS:,} flows:")
    for work, each in took.items():
        rate, cost = frames / each.wall / 1e6, each.cpu / frames * 1e6
        print(f"  {work:24}{rate:8.2f} M frames/s{cost:8.2f} us of a processor a frame")
    rows, _, merging = stored["observations"]
    if rows != frames:
        raise SystemExit(f"{rows:,} rows were stored of {frames:,} frames")
    print(
        f"  {rows:,} rows counted in the store;"
        f" merged later at {merging:.2f} us of a processor a row"
    )
    bar = BARS[name]
    for work, what in (("decoded, rows inserted", "the rows alone"), ("all of it", "everything")):
        rate, free = frames / took[work].wall / 1e6, CORES * frames / took[work].cpu / 1e6
        print(
            f"  {what} stored, at least {bar} M frames/s: {met(rate >= bar)}"
            f" ({rate:.2f}; {CORES} free cores: {free:.2f})"
        )
    for table in ("flow_intervals", "flow_seconds"):
        rows, octets, _ = stored[table]
        print(f"  {table}: {rows:,} rows, {octets:.1f} bytes a row on disk")
    for table, most in ROOM.items():
        rows, octets, _ = stored[table]
        print(
            f"  {table}: {rows:,} rows, {octets:.1f} bytes a row on disk,"
            f" at most {most[name]}: {met(octets <= most[name])}"
        )


def main() -> None:
    """Write the captures, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="part of the frames (1)")
    part = parser.parse_args().part
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, world) in KINDS.items():
            path = Path(folder) / "mirror.pcap"
            frames = int(FRAMES[name] * part) // mirror.TURN * mirror.TURN
            write(path, frames)
            show(name, frames, *measured(path, topology(world)))
            rows, octets = lasting(path, name)
            print(
                f"  flow_seconds of flows that last: {rows:,} rows, {octets:.1f} bytes a row on"
                f" disk, at most {SECOND_BYTES}: {met(octets <= SECOND_BYTES)}"
            )
    end()


if __name__ == "__main__":
    main()
