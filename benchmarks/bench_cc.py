"""HPCC++ from ACK records of five hops: beside the same loop in C and in plain Python, by flows.

Every record goes through path, hop loads, MeasureInflight, ComputeWind and NewAck on one core;
medians of five in processor seconds, in turns, senders and records being there already. C is
compiled here by `cc -O3`; plain Python is written for Python; "not compiled" is our own source run
as it is. All end with the same U. Then the whole tracker (columns in, flow table, decisions as
columns out) over more and more live flows, the memory that its state takes, and how fast it is kept
and put back.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bar import end, met

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
from numpy.typing import NDArray
from plain_hpcc import Link, PlainSender
from stopwatch import Spent, in_turns, one_core, spent

from collector import borrowing
from pipeline import Tracker, hop_record, hpcc

HOPS, SENDERS = 5, 1000
RECORDS, PLAIN_RECORDS = 500_000, 20_000
T_NS, B_BPS = 10_000, 10**11
ETA, MAX_STAGE = 0.95, 5
LIVE = (10, 1_000, 100_000, 1_000_000)
BATCH = 131_072
LEAST, LEAST_PLAIN, MOST_C, MOST_SPREAD, MOST_BYTES = 5_000_000, 100, 2.0, 1.5, 400
C_SENDER = np.dtype(
    [
        *((name, "f8") for name in ("U", "W", "Wc", "R", "T", "W_init", "W_ai")),
        ("last_update", "i8"), ("path", "u8"), ("stage", "i4"), ("nhop", "i4"), ("started", "i4"),
        ("L", "i8", (hop_record.MAX_HOPS, len(hop_record.LINK.names or ()))),
    ],
    align=True,
)  # fmt: skip


class Trace:
    """ACK records of many senders over the same five links, in order of time."""

    def __init__(self, records: int) -> None:
        """Draw a trace; the same each time."""
        chance = np.random.default_rng(1)
        self.which = chance.integers(0, SENDERS, records)
        self.ack = np.arange(records) * 10
        self.snd_nxt = self.ack + 50_000
        self.told = np.zeros((len(hop_record.KINDS), HOPS, records), np.int64)
        for hop in range(HOPS):
            self.told[hop_record.TS, hop] = np.arange(records) * 80 + hop
            self.told[hop_record.TX, hop] = np.cumsum(chance.integers(500, 1100, records))
            self.told[hop_record.QLEN, hop] = chance.integers(0, 40_000, records)
        self.told[hop_record.B] = B_BPS
        self.u = np.empty((HOPS, records))
        self.kept = np.empty(records)


@borrowing
def loop(
    states: NDArray[Any], p: NDArray[Any], links: Any, told: Any, u: Any, which: Any, ack: Any,
    snd_nxt: Any, kept: Any,
) -> None:  # fmt: skip
    """Ours: what the tracker does with a record, without the tracker."""
    for at in range(which.size):
        s = states[which[at]]
        path = np.uint64(HOPS)
        for hop in range(HOPS):
            path = hop_record.path_with(path, hop, hop, 1)
        hop_record.path_changed(s, path)
        hpcc.new_ack(
            s, p[0], links, ack[at], snd_nxt[at], HOPS, told, at, hop_record.WIDEST,
            hop_record.WIDEST, u,
        )  # fmt: skip
        kept[at] = s.U


def parameters() -> Any:
    """One sender's."""
    return hpcc.record({"T_ns": T_NS, "B_nic_bps": B_BPS})


def ours(trace: Trace) -> Spent:
    """All records through the compiled recurrence, from columns; L lies as in the tracker."""
    record = parameters()
    states, links = hpcc.state(SENDERS), hop_record.links(SENDERS)
    hpcc.reset(states[0], record)
    states[:] = states[0]
    states["link"], states["room"] = np.arange(SENDERS) * HOPS, HOPS
    rule = np.array([record], record.dtype)
    return spent(lambda: loop(
        states, rule, links, trace.told, trace.u, trace.which, trace.ack, trace.snd_nxt, trace.kept
    ))  # fmt: skip


def plain(trace: Trace) -> Spent:
    """All records through plain Python, from lists of numbers."""
    senders = [PlainSender(T_NS, B_BPS, ETA, MAX_STAGE) for _ in range(SENDERS)]
    told = trace.told.transpose(2, 1, 0).tolist()
    which, ack, snd_nxt = (each.tolist() for each in (trace.which, trace.ack, trace.snd_nxt))
    return spent(lambda: run_plain(senders, which, ack, snd_nxt, told, trace))


def run_plain(
    senders: list[PlainSender], which: list[int], ack: list[int], snd_nxt: list[int],
    told: list[list[list[int]]], trace: Trace,
) -> None:  # fmt: skip
    """What `loop` does."""
    steps = zip(which, ack, snd_nxt, told, strict=True)
    for at, (number, seq, sent, record) in enumerate(steps):
        sender = senders[number]
        sender.new_ack(seq, sent, [Link(*hop) for hop in record])
        trace.kept[at] = sender.U
        if sender.u:
            trace.u[:, at] = sender.u


def compiled(place: Path) -> Callable[[Trace], Spent]:
    """The same loop in C."""
    library = place / "hpcc_loop.so"
    source = Path(__file__).with_name("hpcc_loop.c")
    subprocess.run(  # noqa: S603 - our own source
        ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source],  # noqa: S607 - the system's compiler
        check=True,
    )
    entry = ctypes.CDLL(str(library)).hpcc_loop

    def run(trace: Trace) -> Spent:
        senders = np.zeros(SENDERS, C_SENDER)
        senders["U"], senders["T"] = 1.0, T_NS
        senders["W_init"] = senders["W"] = senders["Wc"] = B_BPS * T_NS / 8e9
        senders["W_ai"] = senders["W_init"] * (1 - ETA) / 100
        pointer = [each.ctypes.data_as(ctypes.c_void_p) for each in (
            senders, trace.which, trace.told, trace.ack, trace.snd_nxt, trace.u, trace.kept,
        )]  # fmt: skip
        size = ctypes.c_int64(trace.which.size)
        return spent(lambda: entry(
            *pointer[:3], ctypes.c_int64(HOPS), size, *pointer[3:5], ctypes.c_double(ETA),
            ctypes.c_int32(MAX_STAGE), *pointer[5:],
        ))  # fmt: skip

    return run


def not_compiled() -> Spent:
    """Our own source as plain Python: what `ours` takes in a process without the compiler."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(  # noqa: S603 - this file
        [sys.executable, __file__, "--not-compiled"], env=environment, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return Spent(*map(float, done.stdout.split()))


def recurrence() -> None:
    """Ours beside C and plain Python."""
    many, few = Trace(RECORDS), Trace(PLAIN_RECORDS)
    ours(many)
    works = {"hopsight": partial(ours, many)}
    amounts = {"hopsight": RECORDS, "plain Python": PLAIN_RECORDS, "not compiled": PLAIN_RECORDS}
    u = many.kept.copy()
    ours(few)
    u_few = few.kept.copy()
    plain(few)
    assert np.array_equal(u_few, few.kept), "plain Python came to another U"
    works["plain Python"] = partial(plain, few)
    works["not compiled"] = not_compiled
    with tempfile.TemporaryDirectory() as folder:
        try:
            in_c = compiled(Path(folder))
        except (OSError, subprocess.CalledProcessError):
            print("no C compiler here: C is not shown")
        else:
            in_c(many)
            assert np.allclose(u, many.kept, rtol=1e-12, atol=0), "C came to another U"
            works["C at -O3"] = partial(in_c, many)
            amounts["C at -O3"] = RECORDS
        found: dict[str, Spent] = in_turns(works)
    rate = {name: amounts[name] / found[name].cpu for name in works}
    for name, each in rate.items():
        print(f"  {name:14}{each:14,.0f} records/s{rate['hopsight'] / each:11,.2f}x")
    bar("at least 5 M records/s", rate["hopsight"] >= LEAST, rate["hopsight"] / 1e6)
    times = rate["hopsight"] / rate["plain Python"]
    bar(f"at least {LEAST_PLAIN}x plain Python", times >= LEAST_PLAIN, times)
    if "C at -O3" in rate:
        slower = rate["C at -O3"] / rate["hopsight"]
        bar(f"at most {MOST_C}x the time of C", slower <= MOST_C, slower)


def bar(what: str, holds: bool, figure: float) -> None:
    """One promise and whether it is kept."""
    print(f"  {what}: {met(holds, what)} ({figure:,.2f})")


def rows(flows: int, size: int, first: int) -> pl.DataFrame:
    """ACKs with reflected telemetry, of so many flows in turns that look random."""
    number = np.arange(first, first + size)
    flow = number * 7_919 % flows
    columns: dict[str, Any] = {
        "time_ns": number * 100,
        "conversation": (flow.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15),
        "direction": np.ones(size, np.uint8), "protocol": np.full(size, 6, np.uint8),
        "flags": np.full(size, 16, np.uint16), "seq": np.zeros(size, np.uint32),
        "ack": (number * 10).astype(np.uint32), "payload_bytes": np.zeros(size, np.uint32),
        "frame": number.astype(np.uint64), "hop_count": np.full(size, HOPS, np.uint8),
        "int_reflected": np.ones(size, np.bool_),
    }  # fmt: skip
    values = {"node": 1, "port": 1, "qlen_bytes": 1000, "b_bps": B_BPS}
    for hop in range(HOPS):
        columns |= {f"h{hop}_{name}": np.full(size, value) for name, value in values.items()}
        columns[f"h{hop}_ts_ns"] = number * 100
        columns[f"h{hop}_tx_bytes"] = number * 1000
    return pl.DataFrame(columns).with_columns(point=pl.lit("tap"), source=pl.lit("s"))


def tracked(flows: int) -> tuple[float, float]:
    """(ns a record, bytes a flow) of the tracker with so many live flows."""
    tracker = Tracker({"T_ns": T_NS, "B_nic_bps": B_BPS}, flows=max(flows, 4096))
    filled = max(2 * flows, BATCH)
    for first in range(0, filled, BATCH):
        tracker.advance(rows(flows, BATCH, first))
    batches = [rows(flows, BATCH, filled + turn * BATCH) for turn in range(5)]
    found = sorted(spent(partial(tracker.advance, each)).cpu for each in batches)
    return found[len(found) // 2] / BATCH * 1e9, tracker.state_bytes / flows


def kept(flows: int) -> None:
    """Print how many flows a second a snapshot takes in and gives back, and how large they are."""
    tracker = Tracker({"T_ns": T_NS, "B_nic_bps": B_BPS}, flows=flows)
    for first in range(0, 2 * flows, BATCH):
        tracker.advance(rows(flows, BATCH, first))
    table = tracker.snapshot()
    other = Tracker({"T_ns": T_NS, "B_nic_bps": B_BPS}, flows=flows)
    found = in_turns({
        "snapshot": partial(spent, partial(tracker.snapshot, full=True)),
        "restore": partial(spent, partial(other.restore, table)),
    })  # fmt: skip
    for name, each in found.items():
        print(
            f"  {name:9} {flows / each.cpu:14,.0f} flows/s {table.nbytes / flows:10,.0f} bytes/flow"
        )


def main() -> None:
    """Measure and print."""
    one_core()
    print(f"HPCC++, ACK records of {HOPS} hops, {SENDERS} senders:")
    recurrence()
    print("\nThe whole tracker, by live flows:")
    times = {}
    for flows in LIVE:
        times[flows], octets = tracked(flows)
        print(f"  {flows:9,} flows {times[flows]:8,.0f} ns/record {octets:10,.0f} bytes/flow")
    spread = max(times.values()) / min(times.values())
    bar(
        f"cost within {MOST_SPREAD}x from {LIVE[0]} to {LIVE[-1]:,} flows",
        spread <= MOST_SPREAD,
        spread,
    )
    bar(f"at most {MOST_BYTES} bytes a live flow", octets <= MOST_BYTES, octets)
    print(f"\nSnapshots of {LIVE[-1]:,} flows:")
    kept(LIVE[-1])


if __name__ == "__main__":
    if "--not-compiled" in sys.argv:
        one_core()
        found = ours(Trace(PLAIN_RECORDS))
        print(found.wall, found.cpu)
    else:
        main()
        end()
