"""How long a million flows are without a worker when theirs is killed.

    soak_takeover.py [FLOWS [ROUNDS]]

Two workers of a group share partitions; each holds so many live flows, with telemetry of a hop. In
each round one is killed, and what counts is the time until the other one has the state of all its
partitions: the broker has to miss the dead, the group to be arranged anew, the state to be loaded.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from threading import Event

import numpy as np
import polars as pl
from kill_world import PARTITIONS, PATIENCE_S, SESSION_S, TAKEN, Process, World

from collector import SCHEMA, Batch
from pipeline import PipelineSettings, Store, Worker
from pipeline.again import again
from pipeline.group_part import Part

FLOWS, ROUNDS, TURN = 1_000_000, 10, 100_000
GBPS = 10**9
MOST_S = 15.0
TOPIC = "takeover"
CALM_S = 3.0
"""How long after the last partition was taken over the group is taken to be at rest."""


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
    place = f"{TOPIC}.v1.p2/{partition}"
    made = Part(store, place, lambda: Worker(PipelineSettings()), again(Event(), Counter()))
    made.claim()
    return made


def filled(store: Store, partition: int, flows: int) -> int:
    """Fill a partition, keep its state and give it up; live flows.

    The topic has no messages: the rows are said to come before the first one.
    """
    part = part_of(store, partition)
    for first in range(0, flows, TURN):
        rows = observations(min(TURN, flows - first), first, partition)
        part.cut(0, -1)
        frames = rows["frame"]
        part.work(0, -1, [Batch(rows, "tap", 0, int(frames[0]), int(frames[-1]))])
    part.snapshot()
    return part.kept.worker.tracker.snapshot(full=True).num_rows


def taken(worker: Process, known: int, partitions: int) -> list[float]:
    """When a worker took partitions over behind its first `known` ones, s; once it has so many."""
    until = time.monotonic() + PATIENCE_S
    while len(found := TAKEN.findall(worker.text())[known:]) < partitions:
        if time.monotonic() > until:
            raise TimeoutError(f"{found} were taken over: {worker.text()[-2000:]}")
        time.sleep(0.1)
    return [float(at) for at, _ in found]


def killed(victim: Process, other: Process) -> float:
    """Seconds from the death of one worker until the other has all that it had."""
    known = len(TAKEN.findall(other.text()))
    at = time.time()
    victim.kill()
    took = max(taken(other, known, PARTITIONS // 2)) - at
    known = len(TAKEN.findall(victim.text()))
    victim.start()
    taken(victim, known, PARTITIONS // 2)
    time.sleep(CALM_S)
    return took


def main() -> int:
    """Fill, kill, and print how long it took."""
    flows, rounds = [*map(int, sys.argv[1:]), *(FLOWS, ROUNDS)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as name:
        world = World(Path(name))
        try:
            with Store(world.dsn(TOPIC)) as store:
                store.migrate()
                share = flows * 2 // PARTITIONS
                entries = sum(filled(store, each, share) for each in range(PARTITIONS))
            print(f"{PARTITIONS} partitions, two workers: {entries:,} flows of live state")
            workers = [world.worker(each, TOPIC, TOPIC) for each in ("one", "two")]
            for each in workers:
                taken(each, 0, PARTITIONS // 2)
            time.sleep(CALM_S)
            took = []
            for number in range(rounds):
                took.append(killed(workers[number % 2], workers[1 - number % 2]))
                print(f"round {number + 1}: {took[-1]:.1f} s", flush=True)
        finally:
            world.close()
    worst = float(np.percentile(took, 95))
    print(f"a worker of {flows:,} flows, session {SESSION_S:g} s: half within")
    print(f"{np.median(took):.1f} s, p95 {worst:.1f} s, bar {MOST_S:g} s")
    return worst > MOST_S


if __name__ == "__main__":
    sys.exit(main())
