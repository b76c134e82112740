"""The flow table: who is given up, who begins anew, and that a flood takes only its own places."""

from typing import Any

import numpy as np
import polars as pl

from pipeline import Tracker
from pipeline.flow import PROVEN

KNOWN = {"T_ns": 20_000, "B_nic_bps": 10**10}
SECOND = 10**9
FIN, RST, SYN = 0x11, 0x14, 0x02


def acks(conversations: Any, time_ns: Any, *, flags: int = 16, seq: int = 0) -> pl.DataFrame:
    """One acknowledgment a row, each with the telemetry of one hop."""
    time = np.asarray(time_ns, np.int64)
    size = len(time)
    return pl.DataFrame(
        {
            "time_ns": time,
            "conversation": np.asarray(conversations, np.uint64),
            "direction": np.ones(size, np.uint8),
            "protocol": np.full(size, 6, np.uint8),
            "flags": np.full(size, flags, np.uint16),
            "seq": np.full(size, seq, np.uint32),
            "ack": (time // 1000).astype(np.uint32),
            "payload_bytes": np.zeros(size, np.uint32),
            "frame": np.arange(size, dtype=np.uint64),
            "hop_count": np.ones(size, np.uint8),
            "int_reflected": np.ones(size, np.bool_),
            "h0_node": np.ones(size, np.uint32),
            "h0_port": np.ones(size, np.uint32),
            "h0_ts_ns": time.astype(np.uint64),
            "h0_tx_bytes": time.astype(np.uint64),
            "h0_qlen_bytes": np.zeros(size, np.uint64),
            "h0_b_bps": np.full(size, 10**10, np.uint64),
        }
    ).with_columns(point=pl.lit("p"), source=pl.lit("s"))


def branches(tracker: Tracker, rows: pl.DataFrame) -> list[str]:
    """What each row decided."""
    return tracker.advance(rows).decisions["branch"].cast(pl.String).to_list()


def test_a_flood_of_flows_of_one_packet_does_not_touch_the_others() -> None:
    tracker = Tracker(KNOWN, flows=1024)
    live = np.arange(1, 501)
    flooded, now = 0, SECOND
    for turn in range(PROVEN):
        tracker.advance(acks(live, turn * 1_000_000 + np.arange(500)))
    for _ in range(30):
        assert "first_ack" not in branches(tracker, acks(live, now + np.arange(500)))
        now += 100_000_000
        flood = np.arange(flooded, flooded + 20_000) + 10**12
        tracker.advance(acks(flood, now + np.arange(20_000)))
        flooded += 20_000
        now += 20_000
    assert tracker.counters["flows_evicted_live"] == 0
    assert tracker.counters["flows_new"] == 500 + flooded
    assert tracker.counters["flows_evicted"] == 500 + flooded - 2048
    assert len(tracker.memory.slots) <= 4096


def test_a_flow_that_was_silent_too_long_begins_anew() -> None:
    tracker = Tracker(KNOWN, idle_ns=10 * SECOND)
    assert branches(tracker, acks([7, 7], [0, 9 * SECOND])) == ["first_ack", "full_update_ai"]
    assert branches(tracker, acks([7], [18 * SECOND])) == ["full_update_ai"]
    assert branches(tracker, acks([7], [29 * SECOND])) == ["first_ack"]
    assert tracker.counters["flows_expired"] == 1
    assert tracker.counters["flows_new"] == 1


def test_a_closed_flow_is_given_up_before_one_that_lives() -> None:
    tracker = Tracker(KNOWN, flows=8)
    for turn in range(4):
        tracker.advance(acks(np.arange(1, 17), turn * SECOND + np.arange(16)))
    tracker.advance(acks([16], [4 * SECOND], flags=RST))
    assert tracker.counters["connections_closed"] == 1
    assert branches(tracker, acks([99], [5 * SECOND])) == ["first_ack"]
    assert tracker.counters["flows_evicted_live"] == 0
    told = branches(tracker, acks(np.arange(1, 16), 6 * SECOND + np.arange(15)))
    assert "first_ack" not in told


def test_ports_used_again_begin_a_new_connection() -> None:
    tracker = Tracker(KNOWN)
    tracker.advance(acks([5, 5], [0, 1000]))
    tracker.advance(acks([5], [2000], flags=RST))
    tracker.advance(acks([5], [3000], flags=SYN, seq=77).with_columns(direction=pl.lit(0)))
    assert tracker.counters["connections_new"] == 1
    assert branches(tracker, acks([5], [4000])) == ["first_ack"]


def test_rows_that_go_back_in_time_count_as_not_idle() -> None:
    tracker = Tracker(KNOWN, idle_ns=SECOND)
    tracker.advance(acks([5], [100 * SECOND]))
    assert branches(tracker, acks([5], [10 * SECOND])) == ["bad_telemetry"]
