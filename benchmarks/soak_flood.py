"""Ten million flows of one packet beside a thousand live ones, whose decisions stay the same.

    soak_flood.py [FLOWS]

The same acknowledgments of live flows go through a tracker that is flooded and through one that is
not; fails when any of their decisions differs, or when the flood takes a live flow's place.
"""

import sys
import time

import numpy as np
import polars as pl

from pipeline import Tracker

FLOWS, LIVE, TABLE, TURN = 10_000_000, 1000, 8192, 200_000
KNOWN = {"T_ns": 20_000, "B_nic_bps": 10**10}
STATE = ("conversation", "branch", "U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "ack")


def acks(conversations: np.ndarray[tuple[int], np.dtype[np.uint64]], first_ns: int) -> pl.DataFrame:
    """One acknowledgment a flow, a microsecond apart, each with the telemetry of one hop."""
    size = len(conversations)
    at = first_ns + np.arange(size) * 1000
    columns = {
        "time_ns": at, "conversation": conversations, "direction": np.ones(size, np.uint8),
        "protocol": np.full(size, 6, np.uint8), "flags": np.full(size, 16, np.uint16),
        "seq": np.zeros(size, np.uint32), "ack": (at // 1000).astype(np.uint32),
        "payload_bytes": np.zeros(size, np.uint32), "frame": np.arange(size, dtype=np.uint64),
        "hop_count": np.ones(size, np.uint8), "int_reflected": np.ones(size, np.bool_),
        "h0_node": np.ones(size, np.uint32), "h0_port": np.ones(size, np.uint32),
        "h0_ts_ns": at.astype(np.uint64), "h0_tx_bytes": at.astype(np.uint64),
        "h0_qlen_bytes": np.zeros(size, np.uint64), "h0_b_bps": np.full(size, 10**10, np.uint64),
    }  # fmt: skip
    return pl.DataFrame(columns).with_columns(point=pl.lit("p"), source=pl.lit("s"))


def main() -> int:
    """Flood, compare and print."""
    flows = int(sys.argv[1]) if len(sys.argv) > 1 else FLOWS
    flooded, calm = Tracker(KNOWN, flows=TABLE), Tracker(KNOWN, flows=TABLE)
    live = np.arange(1, LIVE + 1, dtype=np.uint64)
    spoofed, now, decided, began = 0, 0, 0, time.perf_counter()
    while spoofed < flows:
        for _ in range(4):
            rows = acks(live, now)
            ours, theirs = (each.advance(rows).decisions.select(STATE) for each in (flooded, calm))
            assert ours.equals(theirs, null_equal=True), f"after {spoofed:,} spoofed flows"
            decided += ours.height
            now += LIVE * 1000
        some = np.arange(spoofed, spoofed + TURN, dtype=np.uint64) + np.uint64(10**12)
        flooded.advance(acks(some, now))
        spoofed, now = spoofed + TURN, now + TURN * 1000
    lost = flooded.counters["flows_evicted_live"]
    print(f"{spoofed:,} spoofed flows in {time.perf_counter() - began:.0f} s:")
    print(f"  {decided:,} decisions of {LIVE:,} live flows the same, {lost} of these given up")
    print(f"  {flooded.state_bytes / 1e6:.1f} MB of state")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
