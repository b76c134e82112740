"""Sequence numbers that a sender would not heed, and that no connection goes on with."""

from typing import Any

import polars as pl
import pytest

from pipeline import Tracker
from tests.pipeline.test_track import Trace, hop

MSS = 1460
PAST = 200
"""Segments that pass before anything strange comes."""


def busy(trace: Trace, first: int, segments: int) -> int:
    """Segments, each acknowledged, and some with ECE; the next sequence number."""
    for k in range(segments):
        trace.data(first + k * MSS)
        trace.ack(first + (k + 1) * MSS, ece=k % 20 == 7)
    return first + segments * MSS


def played(strange: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Decisions with and without what `strange` adds in the middle."""
    made = []
    for adds in (strange, None):
        trace = Trace()
        trace.connect()
        following = busy(trace, 1001, PAST)
        trace.data(following)
        trace.data(following + MSS)
        trace.ack(following + 2 * MSS)
        if adds is not None:
            adds(trace, following)
        busy(trace, following + 2 * MSS, PAST)
        made.append(trace.decisions())
    with_it, without = made
    return with_it, without


def state(rows: pl.DataFrame) -> dict[str, Any]:
    """What the last decision left."""
    return rows.select("alpha", "cwnd", "ssthresh", "quality").row(-1, named=True)


@pytest.mark.parametrize(
    "strange",
    [
        lambda trace, at: trace.ack(at + MSS, ece=True),
        lambda trace, at: [trace.ack(at + MSS, ece=True) for _ in range(3)],
        lambda trace, at: trace.ack(at + 2 * MSS + 10**9, ece=True),
        lambda trace, at: trace.ack(at - 10**9, ece=True),
    ],
    ids=["overtaken", "overtaken thrice", "of what was not sent", "of long ago"],
)
def test_an_ack_that_a_sender_leaves_changes_nothing(strange: Any) -> None:
    found, expected = played(strange)
    assert found.height == expected.height
    assert state(found) == state(expected)


def test_a_window_that_is_asked_for_with_a_byte_is_no_timeout() -> None:
    def probes(trace: Trace, at: int) -> None:
        for _ in range(3):
            trace.data(at + 2 * MSS, 1, after=10**9)
            trace.ack(at + 2 * MSS)

    found, expected = played(probes)
    assert found["cwnd"].min() == expected["cwnd"].min() >= 2 * MSS


@pytest.mark.parametrize("ahead", [10**9, -(10**9), 2**31 + 5, 1 << 27])
def test_numbers_of_another_connection_are_not_acknowledged(ahead: int) -> None:
    """Its handshake was not captured, and its ports are those of the one before."""
    trace = Trace()
    trace.connect()
    following = busy(trace, 1001, PAST)
    trace.add(0, 0x10, following + ahead, 777_000_000, payload_bytes=MSS)
    trace.add(1, 0x10, 777_000_000, following + ahead + MSS)
    for k in range(1, PAST):
        trace.add(0, 0x10, following + ahead + k * MSS, 777_000_000, payload_bytes=MSS)
        trace.add(1, 0x50, 777_000_000, following + ahead + (k + 1) * MSS)
    rows = trace.decisions()
    assert rows["acked_bytes"].max() == MSS
    assert rows["cwnd"].max() < (PAST + 20) * MSS
    after = rows[PAST:]
    assert after["acked_bytes"].sum() == (PAST - 1) * MSS, "one told where it goes on"
    assert after[0].select("quality", "why").row(0) == ("unknown", "mid_flow")
    assert after["alpha"][-1] > 0.9, "its windows end"


def test_acknowledgments_alone_go_on_behind_a_gap() -> None:
    """Where data takes another way, what passed unseen is not told by it; ECE is heard."""
    trace = Trace()
    for k in range(20):
        trace.ack(1001 + k * MSS)
    for k in range(20):
        trace.ack(500_000_001 + k * MSS, ece=True)
    trace.data(500_000_001 + 19 * MSS)
    trace.ack(500_000_001 + 20 * MSS, ece=True)
    rows = trace.decisions()
    assert rows["acked_bytes"].to_list() == [MSS] * 19
    assert set(rows["quality"]) == {"unknown"}


def test_what_is_in_flight_is_not_far_however_much_it_is() -> None:
    """Where windows are of hundreds of megabytes ACKs are far from SND.NXT."""
    trace, large, count = Trace(), 60_000, 5000
    trace.connect()
    for k in range(count):
        trace.data(1001 + k * large, large, after=1000)
    for k in range(count):
        trace.ack(1001 + (k + 1) * large, after=1000, ece=k % 20 == 7)
    rows = trace.decisions()
    assert (rows.height, rows["acked_bytes"].sum()) == (count, count * large)
    assert set(rows["quality"]) == {"exact"}


def test_telemetry_goes_on_whatever_the_numbers() -> None:
    trace = Trace()
    trace.connect()
    trace.data(1001)
    for k in range(40):
        told = hop(k * 10_000, k * 6250)
        trace.ack(1001 + MSS + (k % 2) * 10**9 + k * 70 * 2**20, int_reflected=True, **told)
    tracked = Tracker({"T_ns": 20_000, "B_nic_bps": 10**10}).advance(trace.frame())
    assert tracked.hop_loads["u0"].drop_nulls().to_list() == [pytest.approx(0.5)] * 39
    assert tracked.decisions.filter(algorithm="hpcc").height == 40
