"""Advanced ECN: the worked examples, its units, and a second reader that agrees."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from aecn_by_hand import (
    DESTINATION,
    HOP_BY_HOP,
    OPTION_TYPE,
    ROUTING,
    frame,
    make,
    options,
    read,
    segment_routing,
)
from octets import aecn_frame, frames_of, udp

from collector import CollectorSettings, Decoder, complete, write_pcapng
from collector.wire import aecn

FRAMES = 1500
INFOS = ("inflight_ratio", "dre", "queue_utilization", "queue_delay", "congested_hops",
         "available_bandwidth")  # fmt: skip
UNITS = ("aecn_u", "aecn_dre_ratio", "aecn_queue_ratio", "aecn_queue_delay_ns", "aecn_abw_bps")
SEGMENTS = bytes.fromhex(
    "110404000000000020010db8000000000000000000000001fc0700980000501e0204050000000000"
)


def decoded(*packets: bytes, **settings: Any) -> tuple[pl.DataFrame, dict[str, int]]:
    """Observations of these frames, every column; and why frames ended early."""
    decoder = Decoder(CollectorSettings(**settings))
    rows = complete(decoder.decode(frames_of(packets), ["tap"], "test"))
    return rows, decoder.accounting.reasons


def row_of(packet: bytes, **settings: Any) -> dict[str, Any]:
    """The only observation of a frame that is decoded."""
    rows, reasons = decoded(packet, **settings)
    assert reasons == {}
    (row,) = rows.to_dicts()
    return row


def infos(row: dict[str, Any]) -> tuple[Any, ...]:
    """All that an option can say, as on the wire."""
    return tuple(row[f"aecn_{name}"] for name in INFOS)


def rest(row: dict[str, Any]) -> tuple[Any, ...]:
    """What cannot be read, and how long it is."""
    return row["aecn_rest"], row["aecn_rest_bytes"]


def option(octets: str, **settings: Any) -> dict[str, Any]:
    """The observation of a frame with these octets behind an option's length."""
    data = bytes.fromhex(octets)
    header = options(b"\x3e" + bytes([len(data)]) + data)
    return row_of(frame([(HOP_BY_HOP, header)], udp(b"data", 9)), **settings)


def test_the_worked_example_in_a_hop_by_hop_option() -> None:
    row = row_of(aecn_frame())
    assert infos(row) == (80, None, None, 30, 2, None)
    assert (row["aecn_flags"], row["aecn_type"], rest(row)) == (0, 0x980000, (None, 0))
    assert (row["protocol"], row["payload_bytes"]) == (6, 4)


def test_the_worked_example_in_a_segment_routing_tlv() -> None:
    packet = frame([(ROUTING, SEGMENTS)], udp(b"data", 9))
    row = row_of(packet)
    assert infos(row) == (80, None, None, 30, 2, None)
    assert (row["protocol"], row["dport"], row["payload_bytes"]) == (17, 9, 4)
    assert infos(row_of(packet, aecn_srh_types=(0xFD,))) == (None,) * 6


def test_the_same_option_in_front_of_the_destination() -> None:
    content = bytes.fromhex("3e0700980000501e02")
    packet = frame([(ROUTING, SEGMENTS[:1] + b"\x02" + SEGMENTS[2:24]),
                    (DESTINATION, options(content))], udp(b"data", 9))  # fmt: skip
    assert infos(row_of(packet)) == (80, None, None, 30, 2, None)


def test_the_last_option_of_a_frame_counts_alone() -> None:
    first, last = bytes.fromhex("3e0700980000501e02"), bytes.fromhex("3e050040000007")
    chain = [(HOP_BY_HOP, options(first)), (DESTINATION, options(last))]
    assert infos(row_of(frame(chain, udp(b"", 9)))) == (None, 7, None, None, None, None)
    customised = bytes.fromhex("3e060198000001aa")
    chain[1] = (DESTINATION, options(customised))
    row = row_of(frame(chain, udp(b"", 9)))
    assert (infos(row), row["aecn_flags"], rest(row)) == ((None,) * 6, 1, (0x01AA, 2))
    row = row_of(frame([(DESTINATION, options(customised + first))], udp(b"", 9)))
    assert (infos(row)[0], row["aecn_flags"], rest(row)) == (80, 0, (None, 0))


def test_a_header_lies_as_in_its_picture() -> None:
    settings = CollectorSettings()
    head = {"option_type": 0x3E, "option_length": 7}
    told = aecn.bitmap(settings).unpack(bytes.fromhex("3e0780981234"))
    assert told == head | {"flags": 0x80, "type": 0x981234}
    own = aecn.customised(settings)
    told = own.unpack(bytes.fromhex("3e0747981234"))
    assert told == head | {"flags": 0x23, "customised": 1, "type": 0x981234}
    other = aecn.customised(CollectorSettings(aecn_flags_numbering="lsb"))
    told = other.unpack(bytes.fromhex("3e07a3981234"))
    assert told == head | {"flags": 0x23, "customised": 1, "type": 0x981234}


def test_every_info_in_its_unit() -> None:
    row = option("00fc0000" + "50321904020a")
    assert infos(row) == (80, 50, 25, 4, 2, 10)
    assert tuple(row[name] for name in UNITS) == pytest.approx((0.8, 0.5, 0.25, 4000.0, 10e9))
    scales = {
        "aecn_inflight_scale": 1 / 64,
        "aecn_dre_scale": 1 / 255,
        "aecn_queue_scale": 1 / 128,
        "aecn_queue_delay_ns": 512.0,
        "aecn_bandwidth_bps": 4e8,
    }
    row = option("00fc0000" + "50321904020a", **scales)
    expected = (80 / 64, 50 / 255, 25 / 128, 2048.0, 4e9)
    assert tuple(row[name] for name in UNITS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "bits"),
    [
        ({}, 0b101001),
        ({"aecn_saturation": {0: 255, 1: 200}}, 0b000011),
        ({"aecn_saturation": {}}, 0),
        ({"aecn_saturation": {4: 2}}, 0b010000),
    ],
)
def test_an_info_may_be_more_than_it_says(settings: dict[str, Any], bits: int) -> None:
    assert option("00fc0000" + "ffc819ff02ff", **settings)["aecn_saturated"] == bits | (
        8 if settings == {} else 0
    )


def test_saturation_is_unknown_without_any_info() -> None:
    assert option("0000000000")["aecn_saturated"] is None


def test_bits_counted_from_the_other_end() -> None:
    row = option("0000001950" + "1e02", aecn_numbering="lsb")
    assert infos(row) == (80, None, None, 30, 2, None)
    row = option("0098000050" + "1e02", aecn_numbering="lsb")
    assert (infos(row), rest(row)) == ((None,) * 6, (0x501E02, 3))


def test_what_an_undefined_bit_names_is_kept_as_it_is() -> None:
    row = option("00988000501e02" + "abcd")
    assert (infos(row), rest(row)) == ((80, None, None, 30, 2, None), (0xABCD, 2))
    row = option("00000001" + "0102030405060708090a")
    assert (infos(row), rest(row)) == ((None,) * 6, (0x0102030405060708, 10))
    assert rest(option("0098000050" + "1e02" + "ff")) == (0xFF, 1)


def test_the_successors_bit_may_be_undefined() -> None:
    row = option("008400005007")
    assert (row["aecn_available_bandwidth"], rest(row)) == (7, (None, 0))
    row = option("008400005007", aecn_available_bandwidth=False)
    assert (infos(row), rest(row)) == ((80, *(None,) * 5), (7, 1))


@pytest.mark.parametrize(
    ("flags", "settings", "customised"),
    [
        (0x01, {}, True),
        (0x80, {}, False),
        (0x80, {"aecn_flags_numbering": "lsb"}, True),
        (0x01, {"aecn_flags_numbering": "lsb"}, False),
        (0x83, {"aecn_numbering": "lsb"}, True),
        (0x7F, {"aecn_numbering": "lsb"}, False),
        (0x7F, {"aecn_numbering": "lsb", "aecn_flags_numbering": "msb"}, True),
    ],
)
def test_a_customised_option_is_kept_as_it_is(
    flags: int, settings: dict[str, Any], customised: bool
) -> None:
    row = option(f"{flags:02x}" + "800001" + "5060", **settings)
    assert (row["aecn_flags"], row["aecn_type"]) == (flags, 0x800001)
    if customised:
        assert (infos(row), rest(row)) == ((None,) * 6, (0x5060, 2))
        assert (row["aecn_u"], row["aecn_saturated"]) == (None, None)
    else:
        assert (row["aecn_inflight_ratio"], rest(row)) == (0x50, (0x60, 1))


@pytest.mark.parametrize(
    ("number", "header", "reason"),
    [
        (HOP_BY_HOP, options(bytes.fromhex("3e0600980000501e")), "aecn_bad_length"),
        (HOP_BY_HOP, options(bytes.fromhex("3e03009800")), "bad_option"),
        (HOP_BY_HOP, bytes.fromhex("00003e0900980000"), "bad_option"),
        (ROUTING, segment_routing(bytes.fromhex("fc0500980000500000"), 1), "aecn_bad_length"),
        (ROUTING, SEGMENTS[:4] + b"\x03" + SEGMENTS[5:], "bad_option"),
    ],
)
def test_what_contradicts_itself_is_counted_and_its_flow_is_kept(
    number: int, header: bytes, reason: str
) -> None:
    rows, reasons = decoded(frame([(number, header)], udp(b"data", 9)))
    assert reasons == {reason: 1}
    assert rows["dport"].to_list() == [9]


def test_other_routing_headers_are_passed_over() -> None:
    header = b"\0\2\2\1" + bytes(20)
    row = row_of(frame([(ROUTING, header)], udp(b"data", 9)))
    assert (row["dport"], row["aecn_type"]) == (9, None)


NUMBERINGS: dict[str, dict[str, Any]] = {
    "msb": {"aecn_numbering": "msb"},
    "lsb": {"aecn_numbering": "lsb"},
    "mixed": {"aecn_numbering": "msb", "aecn_flags_numbering": "lsb"},
    "without bit 5": {"aecn_numbering": "lsb", "aecn_available_bandwidth": False},
}


@pytest.mark.parametrize("settings", NUMBERINGS.values(), ids=NUMBERINGS)
def test_the_second_reader_agrees_on_every_field_of_every_frame(settings: dict[str, Any]) -> None:
    draw = random.Random(repr(settings))
    packets = [make(draw) for _ in range(FRAMES)]
    rows, reasons = decoded(*packets, **settings)
    assert reasons == {}
    expected = [read(packet, settings) for packet in packets]
    told = [name for name in rows.columns if name.startswith("aecn_") and name not in UNITS]
    for name in told:
        assert rows[name].to_list() == [row.get(name) for row in expected], name
    assert {name for row in expected for name in row} <= set(told)


def test_another_dissector_finds_the_same_options_and_the_same_datagram(
    tool: Callable[..., str], tmp_path: Path
) -> None:
    draw = random.Random(7)
    packets = [make(draw) for _ in range(FRAMES)]
    path = tmp_path / "aecn.pcapng"
    write_pcapng(path, ["tap"], [frames_of(packets)])
    names = ("ipv6.opt.type", "udp.dstport", "udp.length")
    wanted = [argument for name in names for argument in ("-e", name)]
    ran = subprocess.run(
        [tool("tshark"), "-r", str(path), "-T", "fields", "-E", "separator=;", *wanted],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows, _ = decoded(*packets, aecn_srh_types=())
    told = [dict(zip(names, line.split(";"), strict=True)) for line in ran.stdout.splitlines()]
    assert len(told) == rows.height == FRAMES
    for row, other in zip(rows.to_dicts(), told, strict=True):
        kinds = [int(kind, 0) for kind in other["ipv6.opt.type"].split(",") if kind]
        assert (OPTION_TYPE in kinds) == (row["aecn_type"] is not None)
        assert int(other["udp.dstport"]) == row["dport"]
        assert int(other["udp.length"]) == 8 + row["payload_bytes"]
