"""Replay: decisions a second on one core, plain, with every reason in words, and as JSON.

Observations are there already, as a decoder hands them on: DCTCP's ACKs with marks (1,000 flows,
three rows in four are data) and HPCC++'s ACKs with stacks of five hops. `decided` is order, copies
and recurrences; `explained` adds line, sentence and standing of each decision, `json` writes
objects. In processor seconds, after three batches that take the memory: the median, and the best,
which is what a core does that is not shared. On a virtual machine what others do on the same core
counts as ours, up to half as much again. The bars are about the median. Last a capture of 1 GB,
segments and their acknowledgments cut to 96 octets, from the command `hopsight replay --report` to
its file: by the clock, and in processor time, which is all it takes where others use the cores too.
The very first run on a machine, which compiles, stands beside those that follow.
"""

import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bar import end, met

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
import traffic
from stopwatch import one_core, spent, spent_by

from collector import SCHEMA
from collector.observe import repeated
from pipeline import Decider, PipelineSettings, Rerun
from replay import Heard, lines, trace

FLOWS, BATCH, WARM, TURNS, WORDY = 1_000, 400_000, 3, 25, 5
HOPS, B_BPS, MSS = 5, 10**11, 1_448
LEAST, LEAST_EXPLAINED = 3e6, 3e5
CAPTURE_BYTES, MOST_S = 10**9, 60.0
KEYS = pl.DataFrame(
    schema={"flow": pl.UInt64, "src": pl.String, "sport": pl.UInt16, "dst": pl.String,
            "dport": pl.UInt16}
)  # fmt: skip


def rows(first: int, columns: dict[str, Any]) -> pl.DataFrame:
    """Rows of flows in turns that look random, with what all of them have."""
    number = np.arange(first, first + BATCH)
    flow = (number * 7_919 % FLOWS).astype(np.uint64) + np.uint64(1)
    shared = {
        "time_ns": number * 100, "conversation": flow * np.uint64(0x9E3779B97F4A7C15),
        "flow": flow, "protocol": np.full(BATCH, 6, np.uint8), "frame": number.astype(np.uint64),
        "ecn": np.full(BATCH, 2, np.uint8), "ip_id": (number % 65_536).astype(np.uint16),
    }  # fmt: skip
    texts = {
        name: repeated(name, text, BATCH) for name, text in (("point", "tap"), ("source", "s"))
    }
    made = pl.DataFrame(shared | columns | texts)
    return made.cast({name: SCHEMA[name] for name in made.columns})


def of_hpcc(turn: int) -> pl.DataFrame:
    """ACKs that reflect the stack of their data."""
    first = turn * BATCH
    number = np.arange(first, first + BATCH)
    columns: dict[str, Any] = {
        "direction": np.ones(BATCH, np.uint8), "flags": np.full(BATCH, 16, np.uint16),
        "seq": np.zeros(BATCH, np.uint32), "ack": (number * 10).astype(np.uint32),
        "payload_bytes": np.zeros(BATCH, np.uint32), "hop_count": np.full(BATCH, HOPS, np.uint8),
        "int_reflected": np.ones(BATCH, np.bool_),
    }  # fmt: skip
    values = {"node": 1, "port": 1, "qlen_bytes": 1000, "b_bps": B_BPS}
    for hop in range(HOPS):
        columns |= {f"h{hop}_{name}": np.full(BATCH, value) for name, value in values.items()}
        columns[f"h{hop}_ts_ns"] = number * 100
        columns[f"h{hop}_tx_bytes"] = number * (1000 + hop)
    return rows(first, columns)


def of_dctcp(turn: int) -> pl.DataFrame:
    """ACKs of a segment each, every eighth with ECE."""
    first = turn * BATCH
    number = np.arange(first, first + BATCH)
    segment = (number // FLOWS) * MSS
    columns: dict[str, Any] = {
        "direction": np.ones(BATCH, np.uint8),
        "flags": np.where(number % 8 == 0, 16 | 64, 16).astype(np.uint16),
        "seq": np.zeros(BATCH, np.uint32), "ack": (segment + MSS).astype(np.uint32),
        "payload_bytes": np.zeros(BATCH, np.uint32), "hop_count": np.zeros(BATCH, np.uint8),
    }  # fmt: skip
    return rows(first, columns)


def begun() -> pl.DataFrame:
    """Data of each flow, so that ECN is seen and its ACKs are those of somebody."""
    data = of_dctcp(0).head(FLOWS)
    return data.with_columns(
        pl.lit(0, pl.UInt8).alias("direction"), pl.lit(MSS, pl.UInt32).alias("payload_bytes"),
        pl.col("time_ns") - 10**9, pl.lit(0, pl.UInt32).alias("seq"),
    )  # fmt: skip


class Steps:
    """What is done with a batch, one after the other."""

    def __init__(self, rerun: Rerun, batch: pl.DataFrame) -> None:
        self.rerun, self.batch = rerun, batch

    def decide(self) -> None:
        """Order, copies, recurrences."""
        [self.decided] = self.rerun.advance(self.batch).tracked

    def say(self) -> None:
        """Every reason in words."""
        self.traced = trace(Heard().advance(self.decided), KEYS, 0.95, 5)

    def write(self) -> None:
        """Objects as text."""
        self.text = lines(self.traced)


def measured(name: str, make: Any, before: pl.DataFrame | None) -> float:
    """Print the rates of one algorithm; returns the lower of what the bars are about."""
    settings = PipelineSettings(base_rtt_us=10, nic_gbps=100)
    rerun = Rerun(settings, [Decider(settings)])
    if before is not None:
        rerun.advance(before)
    for turn in range(WARM):  # memory is taken, which those that follow use again
        rerun.advance(make(turn))
    rates: dict[str, list[float]] = {"decided": [], "explained": [], "json": []}
    for turn in range(WARM, WARM + TURNS):
        steps = Steps(rerun, make(turn))
        took = spent(steps.decide).cpu
        count = steps.decided.decisions.height
        rates["decided"].append(count / took)
        if turn < WARM + WORDY:
            words, written = spent(steps.say).cpu, spent(steps.write).cpu
            rates["explained"].append(count / (took + words))
            rates["json"].append(count / (took + words + written))
    print(f"{name}, {count:,} decisions a batch of {BATCH:,} rows:{'median':>18}{'best':>14}")
    for kind, values in rates.items():
        print(f"  {kind:48}{median(values):14,.0f}{max(values):14,.0f} decisions/s")
    decided, explained = median(rates["decided"]), median(rates["explained"])
    bar("at least 3 M decisions/s", decided >= LEAST, decided / 1e6)
    bar("at least 0.3 M with reasons", explained >= LEAST_EXPLAINED, explained / 1e6)
    return decided


def bar(what: str, holds: bool, figure: float) -> None:
    """One promise and whether it is kept."""
    print(f"  {what}: {met(holds, what)} ({figure:,.2f})")


def report() -> None:
    """A large capture from the command to its report, on all cores."""
    os.environ.pop("POLARS_MAX_THREADS")
    with TemporaryDirectory() as directory:
        capture, made = Path(directory) / "large.pcap", Path(directory) / "report.html"
        frames = CAPTURE_BYTES // (traffic.RECORD_HEAD + traffic.CAPTURED)
        traffic.conversations(capture, frames)
        command = [sys.executable, "-m", "service.cli", "replay", str(capture), "--report"]
        cache = os.environ.get("HOPSIGHT_CACHE_DIR")
        os.environ["HOPSIGHT_CACHE_DIR"] = str(Path(directory) / "cache")
        runs = {
            name: spent_by([*command, str(made)]) for name in ("the very first run", "a later run")
        }
        os.environ.pop("HOPSIGHT_CACHE_DIR")
        if cache is not None:
            os.environ["HOPSIGHT_CACHE_DIR"] = cache
        size = capture.stat().st_size / 1e9
    print(f"a capture of {size:.2f} GB, {frames:,} frames, to its report:")
    for name, took in runs.items():
        print(f"  {name}: {took.wall:.0f} s by the clock, {took.cpu:.0f} s of processor time")
        bar(f"less than 60 s on these cores, {name}", took.wall < MOST_S, took.wall)


def main() -> None:
    """Measure and print."""
    report()
    one_core()
    measured("DCTCP", of_dctcp, begun())
    measured("HPCC++ of five hops", of_hpcc, None)
    end()


if __name__ == "__main__":
    main()
