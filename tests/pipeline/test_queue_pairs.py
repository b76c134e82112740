"""Queue pairs found from what they say: each packet is a row made by hand, whose pair is known."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from collector import directed
from pipeline import Tracker
from pipeline.copies import Copies

SEND, SEND_FIRST, READ, ANSWER_FIRST, ANSWER_LAST, ACK, UD_SEND, CNP = (
    0x04, 0x00, 0x0C, 0x0D, 0x0F, 0x11, 0x64, 0x81,
)  # fmt: skip
NAK_SYNDROME = 0x60
PSNS = 1 << 24
SECOND = 10**9
BACK = 500
"""Queue pair 500 + n at the one end talks to n at the other."""
PARAMETERS = {"T_ns": 8000, "B_nic_bps": 25 * 10**9}


def data(qp: int, psn: int, opcode: int = SEND, **more: Any) -> dict[str, Any]:
    return {"roce_opcode": opcode, "roce_qp": qp, "roce_psn": psn % PSNS, "direction": 0,
            "payload_bytes": 0 if opcode == READ else 1000, **more}  # fmt: skip


def ack(qp: int, psn: int, **more: Any) -> dict[str, Any]:
    """An ACK to the queue pair that talks to `qp`, which reflects the telemetry of one hop."""
    return {
        "roce_opcode": ACK, "roce_qp": BACK + qp, "roce_psn": psn % PSNS, "roce_syndrome": 0x1F,
        "direction": 1, "payload_bytes": 0, "hop_count": 1, "int_reflected": True, **more,
    }  # fmt: skip


def observed(packets: Iterable[dict[str, Any]], step_ns: int = 1000) -> pl.DataFrame:
    """Rows of packets between two hosts, one every microsecond where no time is given."""
    rows = [
        {"time_ns": SECOND + at * step_ns, "hop_count": 0, "source": "a", "point": "nic",
         "frame": at, "protocol": 17, "conversation": 77, "int_reflected": None,
         "roce_syndrome": None, "roce_msn": None, **packet}
        for at, packet in enumerate(packets)
    ]  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("conversation", "frame").cast(pl.UInt64),
        pl.col("payload_bytes", "roce_qp", "roce_psn", "roce_msn").cast(pl.UInt32),
        pl.col("direction", "roce_opcode", "roce_syndrome", "hop_count").cast(pl.UInt8),
        pl.col("int_reflected").cast(pl.Boolean),
        flow=pl.col("roce_qp").cast(pl.UInt64),
        h0_ts_ns=pl.col("time_ns") - 300, h0_tx_bytes=pl.col("frame").cast(pl.Int64) * 1500,
        h0_qlen_bytes=20_000, h0_b_bps=25 * 10**9,
    )  # fmt: skip


def followed(packets: Iterable[dict[str, Any]], tracker: Tracker | None = None) -> pl.DataFrame:
    """Decisions, beside them the queue pair of the data that the ACK was taken to be of."""
    tracker, rows = tracker or Tracker(PARAMETERS), observed(packets)
    made = tracker.advance(rows).decisions
    known = rows.filter(pl.col("direction") == 0)
    hashes = {flow_hash(qp): qp for qp in known["roce_qp"].unique()}
    paired = made["flow"].replace_strict(hashes, default=None, return_dtype=pl.Int64)
    told = made.with_columns(data_qp=paired)
    truth = rows.select("frame", acked_qp=pl.col("roce_qp").cast(pl.Int64) - BACK)
    return told.join(truth, on="frame", how="left", maintain_order="left")


def flow_hash(qp: int) -> int:
    """The flow of data to a queue pair, as the collector hashes it."""
    both, flow = np.empty(1, np.uint64), np.empty(1, np.uint64)
    directed(np.array([77], np.uint64), np.zeros(1, np.uint8), both)
    directed(both, np.array([qp], np.uint64), flow)
    return int(flow[0] if qp else both[0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 40, 9000]), min_size=2, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(1, 4)), max_size=150),
)
def test_an_ack_is_never_given_to_another_queue_pair(
    starts: list[int], steps: list[tuple[int, bool, int]]
) -> None:
    nxt, una = list(starts), list(starts)
    packets = []
    for which, acks, count in steps:
        qp = which % len(starts)
        if not acks:
            packets += [data(qp, nxt[qp] + each) for each in range(count)]
            nxt[qp] += count
        elif una[qp] < nxt[qp]:
            una[qp] = min(una[qp] + count, nxt[qp])
            packets.append(ack(qp, una[qp] - 1))
    if not packets:
        return
    made = followed(packets)
    paired = made.filter(pl.col("data_qp").is_not_null())
    assert (paired["data_qp"] == paired["acked_qp"]).all()
    unpaired = made.filter(pl.col("data_qp").is_null())
    assert (unpaired["why"] == "queue_pair").all()
    assert (unpaired["quality"] == "unknown").all()


def test_in_lockstep_it_is_said_that_the_pair_is_not_known_until_one_is_ahead() -> None:
    tracker = Tracker(PARAMETERS)
    packets = [data(qp, psn) for psn in range(4) for qp in range(3)]
    packets += [ack(qp, psn) for psn in range(2) for qp in range(3)]
    packets += [data(2, 4), data(1, 4), data(2, 5)]
    packets += [ack(2, 5), ack(1, 4), ack(0, 3)]
    made = followed(packets, tracker)
    assert made["data_qp"].to_list() == [None] * 6 + [2, 1, 0]
    assert made["why"].to_list() == ["queue_pair"] * 6 + [None] * 3
    assert tracker.counters["acks_ambiguous"] == 6
    assert tracker.counters["acks_unpaired"] == 0


def test_who_was_left_out_once_stays_out() -> None:
    packets = [data(0, 0), data(1, 0), data(1, 1), data(2, 0), data(2, 1)]
    packets += [ack(2, 1), data(0, 1), data(0, 2), data(1, 2), ack(2, 1), ack(1, 2)]
    made = followed([*packets, data(2, 2), ack(1, 2), ack(2, 2)])
    assert made["data_qp"].to_list()[0] is None  # 1 or 2
    paired = made.filter(pl.col("data_qp").is_not_null())
    assert (paired["data_qp"] == paired["acked_qp"]).all()


def test_acks_of_data_that_was_not_seen_drive_a_sender_that_has_no_name() -> None:
    tracker = Tracker(PARAMETERS)
    made = followed([ack(0, 10), ack(0, 11), data(5, 900), ack(0, 12)], tracker)
    assert made["data_qp"].to_list() == [None] * 3
    assert made["flow"].n_unique() == 1
    assert made["branch"].to_list()[0] == "first_ack"
    assert made["U"].is_not_null().all()
    assert tracker.counters["acks_unpaired"] == 3


def test_both_ends_of_a_queue_pair_send() -> None:
    packets = []
    for psn in range(6):
        packets += [data(0, 100 + psn), data(BACK, 7000 + psn, direction=1)]
        packets += [ack(0, 100 + psn), ack(0, 7000 + psn, roce_qp=0, direction=0)]
    tracker = Tracker(PARAMETERS)
    made = followed(packets, tracker)
    assert made.height == 12
    assert made["flow"].n_unique() == 2
    assert made["why"].is_in(["mid_flow", "anchored"]).all()
    assert tracker.counters["acks_unpaired"] == tracker.counters["acks_ambiguous"] == 0
    assert tracker.counters["gaps"] == 0


def test_a_read_takes_the_numbers_of_its_responses() -> None:
    def response(psn: int, opcode: int) -> dict[str, Any]:
        return ack(3, psn, roce_opcode=opcode, payload_bytes=1000, int_reflected=False)

    packets = [data(3, 0), ack(3, 0), data(3, 1, READ), response(1, ANSWER_FIRST)]
    packets += [response(2, ANSWER_FIRST + 1), response(3, ANSWER_LAST), data(3, 4), ack(3, 4)]
    packets += [data(3, 5, READ), data(3, 9), response(5, ANSWER_FIRST), ack(3, 9)]
    tracker = Tracker(PARAMETERS)
    made = followed(packets, tracker)
    assert made["ack"].to_list() == [1, 2, 3, 4, 5, 6, 10]
    assert made["inflight_bytes"].to_list() == [0, 0, 0, 0, 0, 4000, 0]
    assert (made["data_qp"] == 3).all()
    assert tracker.counters["gaps"] == 0


def test_a_number_far_off_is_of_a_new_connection_on_the_queue_pair() -> None:
    packets = [data(0, 10), ack(0, 10), data(0, 11), ack(0, 11)]
    packets += [data(0, 0x900000), data(0, 0x900001), ack(4, 0x900000), ack(4, 0x900001)]
    tracker = Tracker(PARAMETERS)
    made = followed(packets, tracker)
    assert (made["data_qp"] == 0).all()
    assert made["branch"].to_list()[::2] == ["first_ack", "first_ack"]
    assert tracker.counters["connections_new"] == 1
    assert tracker.counters["gaps"] == 0


def test_a_queue_pair_that_was_silent_for_long_begins_anew() -> None:
    packets = [data(0, 10), ack(0, 10), data(0, 11, time_ns=400 * SECOND)]
    tracker = Tracker(PARAMETERS)
    made = followed([*packets, ack(0, 11, time_ns=400 * SECOND + 1)], tracker)
    assert made["branch"].to_list() == ["first_ack", "first_ack"]
    assert tracker.counters["flows_expired"] == 1


def test_a_pair_that_is_contradicted_is_given_up() -> None:
    packets = [data(0, psn) for psn in range(4)]
    packets += [ack(1, 2)]  # the mirror lost the data of 1, so that 0 seems to be meant
    packets += [data(1, psn) for psn in range(4, 30)]
    packets += [ack(1, psn) for psn in range(4, 30)]
    made = followed(packets)
    assert made["data_qp"].to_list()[0] == 0
    assert made["data_qp"].to_list()[-15:] == [1] * 15


def test_what_asks_for_no_acknowledgment_moves_nothing() -> None:
    packets = [data(0, 0), data(9, 55, UD_SEND), ack(0, 0), data(9, 70, UD_SEND)]
    packets += [ack(0, 0, roce_opcode=CNP, roce_syndrome=None, int_reflected=False)]
    tracker = Tracker(PARAMETERS)
    made = followed(packets, tracker)
    assert made["data_qp"].to_list() == [0]
    assert (tracker.counters["cnps"], tracker.counters["gaps"]) == (1, 0)


def test_more_than_can_wait_are_not_guessed() -> None:
    packets = [data(qp, 0) for qp in range(200)]
    made = followed([*packets, data(0, 1), ack(0, 1)])
    assert made["why"].to_list() == ["queue_pair"]


def test_telemetry_of_data_is_taken_when_the_data_is_acknowledged() -> None:
    packets = []
    for psn in range(5):
        packets += [data(0, psn, hop_count=1, int_reflected=False)]
        packets += [ack(0, psn, hop_count=0, int_reflected=None)]
    made = followed(packets)
    assert made["branch"].to_list()[0] == "first_ack"
    assert made["u_max"].is_not_null().sum() == 4
    assert made["why"].unique().to_list() == ["receiver_time"]


def test_what_was_sent_before_a_negative_acknowledgment_came_is_no_gap() -> None:
    packets = [data(0, psn) for psn in range(6)]
    packets += [ack(0, 2, roce_syndrome=NAK_SYNDROME), data(0, 6), data(0, 7)]
    packets += [data(0, psn) for psn in range(2, 9)] + [ack(0, 8)]
    tracker = Tracker(PARAMETERS)
    made = followed(packets, tracker)
    assert made["ack"].to_list() == [2, 9]
    assert made["inflight_bytes"].to_list() == [0, 0]
    assert tracker.counters["gaps"] == 0


def test_packets_that_only_their_numbers_tell_apart_are_no_copies() -> None:
    packets = [data(0, psn) for psn in range(40)] + [ack(0, psn) for psn in range(40)]
    rows = observed(packets, step_ns=10).with_columns(ip_id=pl.lit(0, pl.UInt16))
    again = rows.with_columns(pl.col("time_ns") + 5, pl.col("frame") + 80)
    copies = Copies(50_000)
    assert copies.without(pl.concat([rows, again]).sort("time_ns"))["frame"].to_list() == list(
        range(80)
    )


def test_the_beginning_is_proved_by_the_number_of_messages() -> None:
    begun = [data(0, 50), data(0, 51), ack(0, 51, roce_msn=2), data(0, 52), ack(0, 52, roce_msn=3)]
    assert followed(begun)["quality"].to_list() == ["exact", "exact"]
    middle = [{**packet, "roce_msn": 9} if "roce_msn" in packet else packet for packet in begun]
    assert followed(middle)["why"].is_in(["mid_flow", "anchored"]).all()
