"""Live sources that take turns: what several interfaces cost beside one with the same frames.

20,000 frames a second of 64 flows come in time, as one source or dealt to several, each with a
batch every 100 ms, and are judged by one worker through the bus of a process. A pass of the worker
takes about as long however few rows it has, so what waits of all sources is taken at once. For
comparison two sources are read one batch after the other. The bar: eight sources take at most one
and a half times the processor seconds of one.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import mirror
import numpy as np
import polars as pl
from bar import end, met

from collector import Batch, CollectorSettings, Decoder, MemoryBus, open_capture
from collector.bus import JOINED_ROWS
from pipeline import Output, PipelineSettings, Worker, drain
from replay import topology

RATE, SECONDS, FLOWS = 20_000, 6.0, 64
BATCH_S = 0.1
SOURCES = (1, 2, 4, 8)
BAR = 1.5
T0 = 1_760_000_000_000_000_000
WAITING = 16


class Took(NamedTuple):
    """A run: passes of the worker, processor seconds, and how late verdicts were in the middle."""

    passes: int
    cpu_s: float
    late_s: float


def observations() -> pl.DataFrame:
    """Rows at even times."""
    with TemporaryDirectory() as place:
        path = Path(place) / "frames.pcap"
        mirror.FLOWS = FLOWS
        mirror.csig(path, round(RATE * SECONDS))
        decoder = Decoder(CollectorSettings())
        with open_capture(path) as capture:
            parts = [decoder.decode(part, capture.points, "live") for part in capture.chunks()]
    rows = pl.concat(parts, how="diagonal")
    times = T0 + pl.int_range(rows.height, dtype=pl.Int64) * round(1e9 / RATE)
    return rows.with_columns(times.alias("time_ns"))


def dealt(rows: pl.DataFrame, sources: int) -> Iterator[tuple[float, Batch]]:
    """Batches and when they come; each flow is one source's."""
    step = round(RATE * BATCH_S)
    for number, first in enumerate(range(0, rows.height, step), start=1):
        part, reached = rows[first : first + step], T0 + round(number * BATCH_S * 1e9)
        for source in range(sources):
            name, own = f"live {source}", part.filter(pl.col("flow") % sources == source)
            own = own.with_columns(pl.lit(name).alias("source"))
            batch = Batch(own, name, T0, first + 1, first + step, reached_ns=reached)
            yield number * BATCH_S, batch


def worked(rows: pl.DataFrame, sources: int, joined_rows: int) -> Took:
    """The rows in time through a worker."""
    names = tuple(f"live {number}" for number in range(sources))
    worker = Worker(PipelineSettings(), topology(mirror.CSIG_WORLD), names)
    late: list[float] = []
    passes = 0
    bus = MemoryBus(WAITING, joined_rows)
    batches = list(dealt(rows, sources))
    begun = cpu = 0.0

    def sink(output: Output, _: str) -> None:
        nonlocal passes
        passes += 1
        if "verdicts" in output.whole and output.whole["verdicts"].height:
            newest = int(output.whole["verdicts"]["time_ns"].to_numpy().max())
            late.append(time.monotonic() - begun - (newest - T0) * 1e-9)

    async def feed() -> None:
        for at, batch in batches:
            await asyncio.sleep(max(begun + at - time.monotonic(), 0))
            await bus.publish(batch)
        await bus.close()

    async def run() -> None:
        nonlocal begun, cpu
        begun, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(feed(), drain(bus, worker, sink))

    asyncio.run(run())
    return Took(passes, time.process_time() - cpu, float(np.median(late)))


def main() -> None:
    """Run and print."""
    rows = observations()
    worked(rows[: RATE // 2], 1, JOINED_ROWS)  # compiles
    one = worked(rows, SOURCES[0], JOINED_ROWS)
    print(f"{'sources':>7} {'passes':>7} {'CPU s':>6} {'of one':>7} {'judged after':>13}")

    def told(sources: int, took: Took, said: str = "") -> float:
        """Print a row; the share of what one source takes."""
        share = took.cpu_s / one.cpu_s
        row = f"{sources:>7} {took.passes:>7} {took.cpu_s:>6.1f} {share:>6.2f}x"
        print(f"{row} {took.late_s:>11.2f} s{said}")
        return share

    share = told(SOURCES[0], one)
    for sources in SOURCES[1:]:
        share = told(sources, worked(rows, sources, JOINED_ROWS))
    told(SOURCES[1], worked(rows, SOURCES[1], 1), ", one batch after the other")
    print(f"{SOURCES[-1]} sources take at most {BAR} times what one does: {met(share <= BAR)}")
    end()


if __name__ == "__main__":
    main()
