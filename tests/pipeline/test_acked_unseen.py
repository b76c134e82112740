"""Data that nobody captured: ACKs of it say that its flow sent, trailing ACKs do not."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
import pytest

from pipeline.settings import PipelineSettings
from pipeline.signals import reverse
from pipeline.worker import Worker
from tests.pipeline.conftest import observations

SYN, RST, ACK, ECE, CWR, T0 = 2, 4, 16, 64, 128, 1_760_000_000_000_000_000
MS, STEP, PAYLOAD, TURNS, ISS = 1_000_000, 20_000, 1_000, 40, (1 << 32) - 30_000
BACK = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000, "payload_bytes": 0}

Row = dict[str, Any]


def number(at: int) -> int:
    """The sequence number of a segment; numbers begin anew on the way."""
    return (ISS + 1 + at * PAYLOAD) % (1 << 32)


def handshake() -> list[Row]:
    return [
        {"flags": SYN | ECE | CWR, "seq": ISS, "payload_bytes": 0},
        {**BACK, "flags": SYN | ACK | ECE, "seq": 0, "ack": number(0)},
        {"flags": ACK, "seq": number(0), "ack": 1, "payload_bytes": 0},
    ]


def data(first: int, count: int) -> list[Row]:
    return [
        {"flags": ACK, "seq": number(first + at), "ack": 1, "payload_bytes": PAYLOAD, "ecn": 2}
        for at in range(count)
    ]


def acks(first: int, count: int) -> list[Row]:
    """Of so many segments, each."""
    return [
        {**BACK, "flags": ACK | ECE, "seq": 1, "ack": number(first + at + 1)} for at in range(count)
    ]


def timed(at_ms: float, rows: Iterable[Row], **also: Any) -> list[Row]:
    begun = T0 + round(at_ms * MS)
    return [
        {"window": 9_000, **row, **also, "time_ns": begun + at * STEP}
        for at, row in enumerate(rows)
    ]


def judged(rows: Sequence[Row], cut: int = 0, flow: int | None = None) -> pl.DataFrame:
    """Verdicts on a flow, or on that of the first row, with the number of their interval."""
    told = observations(sorted(rows, key=lambda row: row["time_ns"]))
    settings = PipelineSettings(interval_ms=1.0, disorder_us=1.0)
    worker = Worker(settings, None, ("a",))
    parts = [told[:cut], told[cut:]] if cut else [told]
    made = [worker.advance(part).tables for part in parts]
    made.append(worker.finish().tables)
    verdicts = pl.concat([each["verdicts"] for each in made if "verdicts" in each])
    own = verdicts.filter(pl.col("flow") == (flow or told["flow"][0]))
    return own.with_columns(((pl.col("time_ns") - T0) // MS).alias("at"))


@pytest.mark.parametrize("cut", [0, 1, 3, 30, 60])
def test_a_flow_of_which_a_handshake_and_acknowledgments_were_captured_is_judged(cut: int) -> None:
    rows = timed(0, handshake())
    for at in range(3):
        rows += timed(at + 0.1, acks(at * TURNS, TURNS))
    found = judged(rows, cut)
    assert found["at"].to_list() == [0, 1, 2]
    assert set(found["kind"]) == {"congested_path"}, "all of it was marked"
    assert found["completeness"].to_list() == [None] * 3


@pytest.mark.parametrize("cut", [0, 20, 83, 100])
def test_a_flow_whose_data_goes_where_nobody_looks_goes_on_being_judged(cut: int) -> None:
    rows = timed(0, handshake()) + timed(0.1, data(0, TURNS)) + timed(0.11, acks(0, TURNS))
    for at in range(1, 4):
        rows += timed(at + 0.1, acks(at * TURNS, TURNS))
    assert judged(rows, cut)["at"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize("points", [("p", "p"), ("p", "q")])
def test_trailing_acknowledgments_are_no_data(points: tuple[str, str]) -> None:
    """Nor that of a FIN or of a last segment that was not captured."""
    there, back = points
    rows = timed(0, handshake(), point=there) + timed(0.1, data(0, TURNS), point=there)
    rows += timed(1.1, acks(0, TURNS + 1), point=back)
    assert judged(rows)["at"].to_list() == [0]


def test_acknowledgments_of_the_other_end_alone_make_no_flow() -> None:
    """A receiver whose own ACKs were captured has sent nothing, whatever its sender does."""
    rows = timed(0.1, acks(0, TURNS)) + timed(1.1, acks(TURNS, TURNS))
    assert judged(rows).is_empty()


def test_another_connection_on_the_same_ports_begins_at_numbers_of_its_own() -> None:
    """What lies between the numbers of two connections was not sent by anybody."""
    rows = timed(0, data(0, TURNS)) + timed(0.9, acks(0, 2))
    far = [{**row, "ack": (row["ack"] + (1 << 30)) % (1 << 32)} for row in acks(0, 1)]
    assert judged(rows + timed(1.1, far) + timed(2.1, far))["at"].to_list() == [0]


def test_attempts_to_connect_send_nothing() -> None:
    """Numbers of one attempt and of the next are apart, and no data lies between."""
    first, second = ({**handshake()[0], "seq": seq} for seq in (1_000, 500_000))
    refused = {**BACK, "flags": RST | ACK, "seq": 0, "ack": 500_001}
    assert judged(timed(0.1, [first, second, refused, second, refused])).is_empty()


def test_ece_tells_of_ecn_where_neither_handshake_nor_data_was_captured() -> None:
    """Marks that nobody saw are echoed; of a handshake without ECN the same flag says nothing."""
    rows = timed(0.1, acks(0, TURNS)) + timed(1.1, acks(TURNS, TURNS))
    unseen = reverse(observations(rows))[0]
    found = judged(rows, flow=unseen)
    assert found.select("at", "kind").rows() == [(0, "congested_path"), (1, "congested_path")]
    begun = timed(0, [{**row, "flags": row["flags"] & ~(ECE | CWR)} for row in handshake()])
    assert "congested_path" not in judged(begun + rows)["kind"].to_list()
