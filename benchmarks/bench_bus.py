"""Rows a second into the messages of the Kafka bus: placement, Arrow, lz4; no broker in between."""

import numpy as np
import polars as pl
from stopwatch import rate

from collector.bus import Batch
from collector.kafka_message import Placement, messages

ROWS, HOPS, PARTITIONS = 50_000, 5, 8

chance = np.random.default_rng(1)
frame = pl.DataFrame(
    {
        "time_ns": np.arange(ROWS, dtype=np.int64) * 80,
        "frame": np.arange(1, ROWS + 1, dtype=np.uint64),
        "conversation": chance.integers(0, 2**64, 1000, np.uint64)[chance.integers(0, 1000, ROWS)],
        **{f"h{i}_qlen_bytes": chance.integers(0, 10**6, ROWS, np.uint64) for i in range(HOPS)},
        **{f"h{i}_tx_bytes": chance.integers(0, 10**12, ROWS, np.uint64) for i in range(HOPS)},
    }
)
batch = Batch(frame, "bench", 0, 1, ROWS)


def encode() -> int:
    """Size of all messages of the batch."""
    return sum(
        len(message)
        for _, piece in Placement().placed(batch, PARTITIONS)
        for _, message in messages(piece)
    )


rate("encode for Kafka", "rows", ROWS, encode)
print(f"encode for Kafka: {encode() / ROWS:.0f} octets/row")
