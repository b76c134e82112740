"""Telemetry reports: worked examples, a second reader of random datagrams, malformed ones."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from compare import differences
from octets import ethernet, frames_of, ipv4, udp
from plain import observed
from report_by_hand import INNER, datagram, expected

from collector import CollectorSettings, Decoder, Scalar, complete
from collector.walk import Walk

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
FRAMES = 2500
PORT = 32766
GROUP = bytes.fromhex("20c000050000000a")
REPORT = bytes.fromhex("140e022050000000000000000007000901000020")
FIRST = bytes.fromhex("15300042000000090000004d0001e24000010002")
LOCAL = bytes.fromhex("022000020000004d0001e2400000000900010002030000400001e2a4")
DROP = bytes.fromhex("018000020000004e0001e2400000000900010002031a0000")
WITHOUT_FLOW = ("DROP_RPT", "TCP6_2HOPS")
"""Published reports: one holds no packet, one names TCP where a UDP header lies."""
STACKED = bytes.fromhex(
    "9c40022b002c0000140723442000020690000000000000000000000203000123000000010000001064617461"
)
"""UDP with two hops of INT."""


def frame(payload: bytes) -> bytes:
    """A frame with a report datagram."""
    return ethernet(ipv4(udp(payload, PORT), 17))


def rows_of(payload: bytes, **settings: Any) -> list[dict[str, Any]]:
    """What the rows of a datagram say, nulls left out."""
    chosen = CollectorSettings(**settings)
    rows = complete(Decoder(chosen).decode(frames_of([frame(payload)]), ["tap"], "test"))
    return [{name: value for name, value in row.items() if value is not None}
            for row in rows.to_dicts()]  # fmt: skip


def counted(payload: bytes, **settings: Any) -> dict[str, int]:
    """Reasons by which a datagram ended."""
    decoder = Decoder(CollectorSettings(**settings))
    decoder.decode(frames_of([frame(payload)]), ["tap"], "test")
    return dict(decoder.accounting.reasons)


def told(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of the report and its hops."""
    return {name: value for name, value in row.items()
            if name.startswith(("report_", "h0_", "h1_", "h2_", "hop_count"))}  # fmt: skip


FLOW = {"sport": 1000, "dport": 2000, "protocol": 6, "seq": 1}


def flow(row: dict[str, Any]) -> dict[str, Any]:
    """The inner flow."""
    return {name: row[name] for name in FLOW}


def test_a_report_inside_a_report_says_nothing_of_the_next_one() -> None:
    """The second report of the outer datagram is of the outer datagram's node."""
    inner = ipv4(udp(bytes.fromhex("210000060000004d") + REPORT + INNER, PORT), 17)
    inner += bytes(-len(inner) % 4)
    outer = bytes([0x14, 4 + len(inner) // 4]) + REPORT[2:] + inner
    rows = rows_of(GROUP + outer + REPORT + INNER)
    kept = [(row["report_node"], row["report_sequence"], row["h0_node"]) for row in rows]
    assert kept == [(0x4D, 6, 0x4D), (10, 5, 10)]


def test_the_example_of_version_2() -> None:
    (row,) = rows_of(GROUP + REPORT + INNER)
    assert flow(row) == FLOW
    assert told(row) == {
        "report_version": 2, "report_hardware": 3, "report_sequence": 5, "report_node": 10,
        "report_flags": 2, "hop_count": 1, "h0_node": 10, "h0_ingress_port": 7, "h0_port": 9,
        "h0_queue": 1, "h0_qlen_bytes": 0x20,
    }  # fmt: skip


def test_the_example_of_version_1() -> None:
    (row,) = rows_of(FIRST + INNER)
    assert flow(row) == FLOW
    assert told(row) == {
        "report_version": 1, "report_hardware": 2, "report_sequence": 77, "report_node": 9,
        "report_flags": 2, "hop_count": 1, "h0_node": 9, "h0_ingress_port": 1, "h0_port": 2,
        "h0_ingress_ts_ns": 123456,
    }  # fmt: skip


def test_the_examples_of_version_05() -> None:
    (local,) = rows_of(LOCAL + ethernet(INNER))
    (drop,) = rows_of(DROP + ethernet(INNER))
    assert flow(local) == flow(drop) == FLOW
    both = {"report_version": 0, "report_hardware": 2, "report_node": 9, "hop_count": 1,
            "h0_node": 9, "h0_ingress_port": 1, "h0_port": 2, "h0_queue": 3,
            "h0_ingress_ts_ns": 123456}  # fmt: skip
    assert told(local) == both | {
        "report_sequence": 77, "report_flags": 2, "h0_qlen_bytes": 0x40, "h0_ts_ns": 123556,
    }  # fmt: skip
    assert told(drop) == both | {
        "report_sequence": 78, "report_flags": 8, "report_drop_reason": 0x1A,
    }  # fmt: skip


def test_every_report_of_a_datagram_is_a_row_with_the_group_s_columns() -> None:
    rows = rows_of(GROUP + REPORT + INNER + REPORT + INNER + REPORT + INNER)
    assert [row["report_sequence"] for row in rows] == [5, 5, 5]
    assert all(flow(row) == FLOW and row["h0_port"] == 9 for row in rows)


def test_every_metadata_bit() -> None:
    words = (
        "000b000c 0000000d 0e00000f 0000000000000010 0000000000000011 00000012 00000013"
        "40000000 15000016 09090909 0a0a0a0a 0b0b0b0b 0c0c0c0c 0d0d0d0d 0e0e0e0e 17180000"
    )
    head = bytes.fromhex("14ff12f0 7fff0000 00000000")
    (row,) = rows_of(
        GROUP + head + bytes.fromhex(words) + INNER,
        report_utilization_full=1 << 31, int_occupancy_bytes=80,
    )  # fmt: skip
    assert told(row) == {
        "report_version": 2, "report_hardware": 3, "report_sequence": 5, "report_node": 10,
        "report_flags": 15, "report_drop_reason": 0x18, "hop_count": 1, "h0_node": 10,
        "h0_ingress_port": 11, "h0_port": 12, "h0_latency_ns": 13, "h0_queue": 14,
        "h0_qlen_bytes": 15 * 80, "h0_ingress_ts_ns": 16, "h0_ts_ns": 17, "h0_l2_ingress_port": 18,
        "h0_l2_port": 19, "h0_utilization": 0.5, "h0_buffer": 21, "h0_buffer_bytes": 22 * 80,
    }  # fmt: skip


def test_a_report_s_node_is_the_hop_behind_the_last_of_the_packet_s_own_stack() -> None:
    inner = ipv4(STACKED, 17)
    length = (5 * 4 - 4 + len(inner)) // 4
    (row,) = rows_of(GROUP + bytes([0x14, length]) + REPORT[2:] + inner)
    assert (row["hop_count"], row["dport"]) == (3, 9028)
    assert {row["h0_node"], row["h1_node"]} == {1, 2}
    assert (row["h2_node"], row["h2_port"], row["h2_qlen_bytes"]) == (10, 9, 0x20)


def test_a_packet_alone_has_no_hop_and_ioam_s_contents_are_payload() -> None:
    alone = bytes.fromhex("040a0540") + INNER
    (row,) = rows_of(GROUP + alone)
    assert (flow(row), row["hop_count"], row["report_flags"]) == (FLOW, 0, 4)
    assert rows_of(GROUP + bytes.fromhex("240a0000") + INNER) == []
    assert counted(GROUP + bytes.fromhex("240a0000") + INNER) == {}


def test_domain_specific_tlvs_are_skipped_and_the_packet_behind_them_is_read() -> None:
    tlvs = bytes.fromhex("00020001 aaaaaaaa bbbbbbbb 50000000 200a0000") + INNER
    (row,) = rows_of(GROUP + bytes([0x01, len(tlvs) // 4, 0, 0x20]) + tlvs)
    assert flow(row) == FLOW
    assert counted(GROUP + bytes([0x01, 2, 0, 0x20]) + tlvs[:8]) == {}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\x30" + GROUP[1:] + REPORT + INNER, "report_unknown_version"),
        (b"\xf0", "report_unknown_version"),
        (GROUP + b"\x14\x01" + REPORT[2:] + INNER, "report_bad_length"),
        (GROUP + b"\x14\x0e\x01" + REPORT[3:] + INNER, "report_bad_length"),
        (GROUP + b"\x14\x03\xff" + REPORT[3:] + INNER, "report_bad_length"),
        (b"\x13" + FIRST[1:] + INNER, "report_bad_length"),
        (b"\x14" + FIRST[1:] + INNER, "bad_version"),
        (GROUP[:7], "report_bad_length"),
        (GROUP + REPORT[:3], "report_bad_length"),
        (GROUP + REPORT[:19], "report_bad_length"),
        (GROUP + b"\x01\x00\x00\x20\x10\x00", "report_bad_length"),
        (FIRST[:15], "report_bad_length"),
        (DROP[:-1], "report_bad_length"),
        (GROUP + REPORT + INNER[:30], "truncated"),
        (LOCAL[:-1], "report_bad_length"),
        (DROP, None),
    ],
)
def test_a_malformed_report_ends_by_its_reason(payload: bytes, reason: str | None) -> None:
    assert counted(payload) == ({reason: 1} if reason else {})


@pytest.mark.parametrize("payload", [GROUP + REPORT, FIRST, LOCAL, DROP])
def test_what_the_capture_cut_of_a_report_is_truncated(payload: bytes) -> None:
    whole = frames_of([frame(payload + INNER)])
    for captured in range(43, 42 + len(payload)):
        decoder = Decoder(CollectorSettings())
        whole.captured[:] = captured
        decoder.decode(whole, ["tap"], "test")
        assert decoder.accounting.reasons == {"truncated": 1}, captured


def test_a_hand_written_reader_agrees_on_random_datagrams() -> None:
    draw = random.Random(4)
    settings = CollectorSettings(report_utilization_full=1024, int_occupancy_bytes=3)
    made = [datagram(draw) for _ in range(FRAMES)]
    rows = complete(
        Decoder(settings).decode(frames_of([frame(each) for each in made]), ["tap"], "test")
    ).to_dicts()
    by_frame: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_frame.setdefault(row["frame"], []).append(row)
    for number, payload in enumerate(made, 1):
        wanted = expected(payload)
        found = by_frame.get(number, [])
        assert len(found) == len(wanted), payload.hex()
        for row, each in zip(found, wanted, strict=True):
            own = told({name: value for name, value in row.items() if value is not None})
            assert own | flow(row) == each | FLOW, payload.hex()


def test_the_compiled_walk_and_the_plain_reader_agree() -> None:
    draw = random.Random(5)
    made = [frame(datagram(draw)) for _ in range(FRAMES)]
    for at in range(0, FRAMES, 3):
        octets = bytearray(made[at])
        octets[draw.randrange(42, len(octets))] ^= 1 << draw.randrange(8)
        made[at] = bytes(octets[: draw.randrange(42, len(octets) + 1)])
    settings = CollectorSettings()
    assert differences(Walk(settings), Scalar(settings), frames_of(made)) == []


def test_published_reports_of_another_reading_invent_no_flow() -> None:
    path = CAPTURES / "cablelabs_trpt_v2_reports.json"
    if not path.exists():
        pytest.skip("no published reports here")
    payloads = {
        name: bytes.fromhex(octets) for name, octets in json.loads(path.read_text()).items()
    }
    for name, payload in payloads.items():
        assert rows_of(payload) == []
        rows = rows_of(payload, report_quirk="cablelabs")
        assert len(rows) == (name not in WITHOUT_FLOW)
        for row in rows:
            assert (row["report_version"], row["report_node"]) == (2, 0xEA)
            assert row["src_lo"] & 0xFFFF in (0x0102, 2)


def test_the_plain_reader_has_the_same_columns() -> None:
    (row,) = observed([frame(FIRST + INNER)]).to_dicts()
    assert (row["h0_node"], row["hop_count"], row["report_flags"]) == (9, 1, 2)
