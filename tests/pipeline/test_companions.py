"""Companions: what they hear of the tracker's trail, in any split, beside decisions unchanged."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import COMPANIONS, Tracker, companion_fields, fault_names, parameter_table, swift
from pipeline.companions import companion
from tests.pipeline.conftest import observations
from tests.pipeline.test_track import DATA
from tests.pipeline.test_track import observations as captured

MSS, RTT_NS = 1000, 50_000
PIECE = DATA / "dctcp_a1.pcap.zst"
ALL: dict[str, dict[str, Any]] = {name: {} for name in COMPANIONS}


def exchange(*steps: tuple[str, int, int], **told: Any) -> pl.DataFrame:
    """A handshake, then steps ("data", time, seq) or ("ack", time, ack) of one flow."""
    there, back = {"direction": 0}, {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000,
                                     "dport": 1000, "direction": 1}  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"time_ns": 0, "flags": 2, "seq": 0, "payload_bytes": 0, "mss": MSS, **there},
        {"time_ns": RTT_NS, "flags": 18, "seq": 0, "ack": 1, "payload_bytes": 0, "mss": MSS,
         **back},
        {"time_ns": RTT_NS, "flags": 16, "seq": 1, "ack": 1, "payload_bytes": 0, **there},
    ]  # fmt: skip
    for what, time_ns, number in steps:
        if what == "data":
            rows.append(
                {"time_ns": time_ns, "seq": number, "ack": 1, "payload_bytes": MSS, **there}
            )
        else:
            rows.append(
                {"time_ns": time_ns, "seq": 1, "ack": number, "payload_bytes": 0, **back, **told}
            )
    return observations(rows)


def swift_of(rows: pl.DataFrame, **parameters: Any) -> pl.DataFrame:
    return Tracker(companions={"swift": parameters}).advance(rows).companions["swift"]


def test_swift_hears_each_ack_of_new_data_with_its_round_trip() -> None:
    rows = exchange(
        ("data", 100_000, 1), ("data", 101_000, 1001), ("ack", 160_000, 1001),
        ("ack", 170_000, 2001), ("ack", 180_000, 2001),
    )  # fmt: skip
    made = swift_of(rows, base_target_ns=1_000_000)
    assert made["rtt_ns"].to_list() == [60_000, 69_000]
    assert made["acked_bytes"].to_list() == [1000, 1000]
    s, p = swift.state()[0], swift.record({"base_target_ns": 1_000_000})
    swift.reset(s, p)
    for time_ns, rtt_ns, cwnd in zip(
        [160_000, 170_000], [60_000, 69_000], made["cwnd"], strict=True
    ):
        swift.new_ack(s, p, time_ns, rtt_ns, -1, -1, 1, float("nan"), float("nan"))
        assert cwnd == s.cwnd
    assert made["branch"].to_list() == ["increase", "increase"]
    assert made["quality"].to_list() == ["exact", "exact"]
    assert made["why"].to_list() == [None, None]


def test_data_sent_again_is_a_timeout_or_after_three_repeats_a_fast_recovery() -> None:
    lost = [("data", 100_000, 1), ("data", 101_000, 1001), ("ack", 160_000, 1001)]
    late = swift_of(exchange(*lost, ("data", 900_000, 1001), ("ack", 960_000, 2001)))
    assert late["branch"].to_list()[1] in {"timeout", "timeout_hold"}
    assert late["rtt_ns"][2] == late["rtt_ns"][0]  # Karn: data sent again measures nothing
    repeats = [("ack", 170_000 + at, 1001) for at in range(3)]
    fast = swift_of(exchange(*lost, *repeats, ("data", 200_000, 1001), ("data", 200_500, 1001)))
    assert [name.removesuffix("_hold") for name in fast["branch"]][1:] == ["fast_recovery"]


def test_a_capture_that_begins_mid_flow_leaves_the_window_unknown() -> None:
    rows = exchange(("data", 100_000, 1), ("data", 101_000, 1001), ("ack", 160_000, 1001))
    made = swift_of(rows[3:])
    assert made["quality"].to_list() == ["unknown"]
    assert made["why"].to_list() == ["mid_flow"]


def test_reflections_of_csig_are_held_for_a_round_trip() -> None:
    told = {"csig_echo_t": 2, "csig_echo_low": 8_000.0, "csig_echo_high": 12_000.0}
    rows = exchange(("data", 100_000, 1), ("ack", 160_000, 1001), **told)
    made = Tracker(companions=ALL).advance(rows).companions
    assert made["poseidon"]["MPD"].to_list() == [10_000.0]
    assert made["swift"]["faults"][0] & swift.Fault.PD_UNKNOWN == 0
    assert swift_of(rows, delay_source="csig_pd")["delay_ns"].to_list() == [10_000.0]


def test_any_split_gives_the_same_and_decisions_do_not_change() -> None:
    rows = captured(PIECE)
    whole = Tracker(companions=ALL).advance(rows)
    assert_frame_equal(whole.decisions, Tracker().advance(rows).decisions)
    tracker = Tracker(companions=ALL)
    cuts = [0, 1, 2, 7, 500, 501, rows.height]
    parts = [tracker.advance(rows[a:b]) for a, b in pairwise(cuts)]
    for name, frame in whole.companions.items():
        assert frame.height or name not in {"poseidon", "swift"}
        assert_frame_equal(pl.concat([part.companions[name] for part in parts]), frame)


@pytest.mark.parametrize("name", COMPANIONS)
def test_parameters_are_those_of_its_table(name: str) -> None:
    assert parameter_table(name)
    assert companion_fields(name)
    with pytest.raises(ValueError, match="no parameter is called 'nothing'"):
        companion(name, {"nothing": 1})


def test_a_name_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no companion is called 'cubic'; accepted are .*swift"):
        Tracker(companions={"cubic": {}})


def test_a_delay_that_cannot_be_meant_is_null_and_named() -> None:
    rows = exchange(
        ("data", 100_000, 1), ("ack", 160_000, 1001), csig_echo_variant=2, csig_echo_t=2,
        csig_echo_s=1, csig_echo_lm=1, csig_echo_low=float("inf"), csig_echo_high=float("inf"),
    )  # fmt: skip
    made = Tracker(companions={"poseidon": {}}).advance(rows).companions["poseidon"]
    assert made.select("branch", "MPD").row(0) == ("nothing", None)
    assert "out_of_range" in fault_names("poseidon", made["faults"][0])
