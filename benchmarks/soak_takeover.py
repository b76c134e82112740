"""How long a worker needs to take over partitions that hold a million flows.

    soak_takeover.py [FLOWS [PARTITIONS]]

State of live flows, each with telemetry of a hop, is kept in a store over HTTP, then loaded by
another worker, all partitions at once, as after the death of their worker. What a broker needs to
see that a worker is dead, the session's time-out, comes on top.
"""

import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import polars as pl
from kill_world import SESSION_S, Process, free_port, reachable

from collector import SCHEMA, Batch
from pipeline import PipelineSettings, Store, Worker
from pipeline.again import again
from pipeline.group_part import Part

FLOWS, PARTITIONS, TURN = 1_000_000, 4, 100_000
GBPS = 10**9
MOST_S = 15.0


def observations(flows: int, first: int, partition: int) -> pl.DataFrame:
    """One acknowledgment a flow, a microsecond apart, with the telemetry of one hop."""
    number = np.arange(first, first + flows, dtype=np.int64)
    key = (number * 8 + partition).astype(np.uint64)
    columns = {
        "time_ns": 10**18 + number * 1000, "frame": number + 1, "flow": key * 2 + 1,
        "conversation": key, "direction": 1, "src_lo": 0xFFFF_0A01_0000 + number,
        "dst_lo": 0xFFFF_0A02_0000 + number, "src_hi": 0, "dst_hi": 0, "sport": 5001,
        "dport": 40_000, "protocol": 6, "flags": 16, "seq": 0, "ack": number % 2**32,
        "payload_bytes": 0, "length": 66, "status": 0, "layers": 0, "ip_id": number % 65_536,
        "hop_count": 1, "h0_node": number % 64, "h0_port": 1, "h0_ts_ns": number * 1000,
        "h0_tx_bytes": number * 1000, "h0_qlen_bytes": 0, "h0_b_bps": 100 * GBPS,
    }  # fmt: skip
    made = pl.DataFrame(
        {name: np.broadcast_to(value, flows) for name, value in columns.items()}
    ).cast({name: SCHEMA[name] for name in columns})
    texts = {"source": "tap", "point": "leaf1:Ethernet1", "tenant": "", "vrf": ""}
    return made.with_columns(
        *(pl.lit(text).alias(name) for name, text in texts.items()),
        pl.lit(value=True).alias("int_reflected"),
    )


def part_of(store: Store, partition: int) -> Part:
    """A partition, claimed."""
    settings = PipelineSettings(flows=1 << 20)
    place = f"takeover.v1.p2/{partition}"
    made = Part(store, place, lambda: Worker(settings), again(Event(), Counter()))
    made.claim()
    return made


def filled(store: Store, partition: int, flows: int) -> int:
    """Fill a partition, keep its state and give it up; live flows."""
    part = part_of(store, partition)
    for cut, first in enumerate(range(0, flows, TURN)):
        rows = observations(min(TURN, flows - first), first, partition)
        part.cut(cut, cut)
        frames = rows["frame"]
        part.work(cut, cut, [Batch(rows, "tap", 0, int(frames[0]), int(frames[-1]))])
    part.snapshot()
    return part.kept.worker.tracker.snapshot(full=True).num_rows


def main() -> int:
    """Fill, take over, and print how long it took."""
    flows, partitions = [*map(int, sys.argv[1:]), *(FLOWS, PARTITIONS)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as name:
        directory, port = Path(name), free_port()
        endpoint = Path(__file__).resolve().parent.parent / "tests" / "store_endpoint.py"
        command = [sys.executable, str(endpoint), str(port), str(directory / "engine")]
        process = Process(command, directory / "store.log")
        process.start()
        reachable(port)
        try:
            with Store(f"http://127.0.0.1:{port}/takeover") as store:
                store.migrate()
                share = flows // partitions
                entries = sum(filled(store, each, share) for each in range(partitions))
                began, spent = time.monotonic(), time.process_time()
                with ThreadPoolExecutor(partitions) as pool:
                    parts = list(pool.map(lambda each: part_of(store, each), range(partitions)))
                took, spent = time.monotonic() - began, time.process_time() - spent
                held = sum(part.kept.worker.tracker.snapshot(full=True).num_rows for part in parts)
        finally:
            process.kill()
    print(f"{partitions} partitions, {flows:,} flows: {entries:,} entries of state kept")
    print(f"taken over: {held:,} entries in {took:.1f} s ({spent:.1f} s of processor time)")
    print(f"with a session of {SESSION_S:g} s: {took + SESSION_S:.1f} s, bar {MOST_S:g} s")
    return held != entries or took + SESSION_S > MOST_S


if __name__ == "__main__":
    sys.exit(main())
