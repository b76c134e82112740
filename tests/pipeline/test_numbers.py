"""Sequence numbers that a sender would not heed, and that no connection goes on with."""

from typing import Any

import polars as pl
import pytest

from tests.pipeline.test_track import Trace

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
    assert set(rows["acked_bytes"]) == {MSS}
    assert rows["cwnd"].max() < (PAST + 20) * MSS
    after = rows[PAST:]
    assert after.height == PAST
    assert after[0].select("quality", "why").row(0) == ("unknown", "mid_flow")
    assert after["alpha"][-1] > 0.9, "its windows end"


def test_acknowledgments_alone_go_on_behind_a_gap() -> None:
    """Where data takes another way, what passed unseen is not told by it."""
    trace = Trace()
    for k in range(20):
        trace.ack(1001 + k * MSS)
    for k in range(20):
        trace.ack(500_000_001 + k * MSS, ece=True)
    trace.data(500_000_001 + 19 * MSS)
    trace.ack(500_000_001 + 20 * MSS, ece=True)
    rows = trace.decisions()
    assert rows.height == 1
    assert rows["acked_bytes"].to_list() == [MSS]
