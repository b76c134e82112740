"""The Lua dissectors end and go on where the plain reader does, in short and odd frames as well."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from generate import grown
from lua_shown import Shown, filters, hold, mutated, reached, reasons, showing
from octets import aecn_frame, ethernet, ipv4, tcp, udp
from test_lua import FRAMES

from collector import CollectorSettings
from collector.scalar import Scalar

GENERATED, FEWEST = 700, 0.8
OTHERWISE = frozenset(("gre1_acknowledgment", "timestamp_tag"))
"""Wireshark 4.0 reads no acknowledgment of enhanced GRE, and no timestamps of other versions."""
SHORT = {
    "ifa, of which two octets were sent": ethernet(ipv4(b"\x2f\x11", 253)),
    "ifa, of which nothing was sent": ethernet(ipv4(b"", 253)),
    "a reflection in four octets": ethernet(ipv4(tcp(bytes.fromhex("fd04c516")))),
    "an identifier of another in four octets": ethernet(ipv4(tcp(bytes.fromhex("fd04f989")))),
    "an identifier that is cut off": ethernet(ipv4(tcp(bytes.fromhex("fd03c500")))),
    "a reflection that is cut off": ethernet(ipv4(tcp(bytes.fromhex("fd05c5162b000000")))),
    "a reflection of a length of its own": ethernet(ipv4(tcp(bytes.fromhex("fd08c5162b850000")))),
    "information that is cut off": aecn_frame(bytes.fromhex("06013e0300980104068877665544332211")),
    "a reflection behind the list's end": ethernet(ipv4(tcp(bytes.fromhex("00fd06c5162b8500")))),
    "an INT shim without its header": ethernet(ipv4(udp(bytes.fromhex("1007"), 555), 17)),
}


@pytest.fixture(scope="module")
def shown(tool: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What tshark shows of frames."""
    return showing(tool("tshark"), tmp_path_factory.mktemp("lua"))


def test_a_header_that_was_sent_too_short_is_not_that_header(shown: Shown) -> None:
    settings = CollectorSettings()
    hold(shown, list(SHORT.values()), settings)
    assert len(reasons(shown, list(SHORT.values()), settings)) == len(SHORT)
    told = shown(list(SHORT.values())[:2], settings)
    assert told == [{}, {}]


GROUP, REPORT = "20c000050000000a", "140e022050000000000000000007000901000020"
WORDS = "9000000000000000" + "00000002030001230000000100000010"
ODD = {
    "report_bad_length": udp(bytes.fromhex(GROUP + REPORT[:10]), 32766),
    "int_hop_words": udp(bytes.fromhex("14072344" + "20000406" + WORDS), 555),
    "too_many_rows": udp(bytes.fromhex(GROUP + "24000020" * 257), 32766),
}
"""Datagrams by what is said of them."""


def test_what_lengths_contradict_is_told_by_its_name(shown: Shown) -> None:
    packets = [ethernet(ipv4(each, 17)) for each in ODD.values()]
    assert reasons(shown, packets, CollectorSettings()) == [{name} for name in ODD]


def test_octets_that_no_table_explains_are_shown(shown: Shown) -> None:
    settings = CollectorSettings()
    few = "06013e0c00980000501e02aabbccddee"
    none = "06013e0700980000501e020103000000"
    many = "06023e1400980000501e02" + "010203040506070809aabbcc" + "00"
    own = "06013e0c01980000501e02aabbccddee"
    packets = [aecn_frame(bytes.fromhex(each)) for each in (few, none, many, own)]
    assert hold(shown, packets, settings) > len(packets)
    told = shown(packets, settings)
    assert [each["hopsight.aecn.rest_bytes"] for each in told] == [[5], [0], [13], [8]]
    assert told[0]["hopsight.aecn.rest"] == [0xAABBCCDDEE]
    assert "hopsight.aecn.rest" not in told[1]
    assert told[2]["hopsight.aecn.rest"] == [0x0102030405060708]


SIGNALS = ("csig_echo_compact", "csig_echo_expanded")
LITERAL: list[tuple[str, dict[str, Any]]] = [
    ("c8022b85", {"csig_echo_kind": 200, "csig_echo_length": "data"}),
    ("c80612342abcde00", {"csig_echo_kind": 200, "csig_echo_length": "data"}),
    ("fd02c5162b85", {"csig_echo_length": "data"}),
    ("0101fd0212342b85", {"csig_echo_length": "data"}),
    ("fd08c51612342abcde002b85", {"csig_echo_length": "data"}),
    ("fdffc5162b850000", {"csig_echo_length": "data"}),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("option", "changed"), LITERAL)
def test_a_length_of_the_data_alone_is_followed(
    option: str, changed: dict[str, Any], shown: Shown
) -> None:
    settings = CollectorSettings.model_validate(changed)
    packet = ethernet(ipv4(tcp(bytes.fromhex(option) + b"\1" * (-len(option) // 2 % 4), b"data")))
    hold(shown, [packet], settings)
    reasons(shown, [packet], settings)
    kept = any(name in SIGNALS for each in Scalar(settings).read(packet)
               for name, _ in each.headers)  # fmt: skip
    assert any("csig_echo" in name for name in shown([packet], settings)[0]) == kept


def test_damaged_frames_end_for_the_reason_of_the_decoder(shown: Shown) -> None:
    settings, draw = CollectorSettings(), random.Random(17)
    scalar = Scalar(settings)
    packets = [each for packet in FRAMES for each in mutated(packet, scalar, draw)]
    told = reasons(shown, packets, settings)
    assert len({reason for each in told for reason in each}) > 5


def test_frames_cut_at_any_octet_end_for_the_reason_of_the_decoder(shown: Shown) -> None:
    settings = CollectorSettings()
    packets = [packet[:length] for packet in FRAMES for length in range(14, len(packet))]
    reasons(shown, packets, settings)
    captured = reasons(shown, packets, settings, cut=50)
    assert sum("truncated" in each for each in captured) > len(FRAMES)


def test_generated_frames_show_what_the_decoder_reads(shown: Shown) -> None:
    """Where Wireshark comes as far: its own dissectors stop at other odd octets than ours."""
    settings = CollectorSettings()
    scalar, names_of = Scalar(settings), filters(settings)
    packets = [bytes(each.octets) for each in grown(0, GENERATED, 900) if each.link == 1]
    packets = [packet for packet in packets if not OTHERWISE & {
        name for row in scalar.read(packet) for name, _ in row.headers}]  # fmt: skip
    promised = seen = 0
    for packet, fields in zip(packets, shown(packets, settings), strict=True):
        for row in scalar.read(packet):
            for right in reached(row, names_of, fields):
                assert right is not False, (packet.hex(), row.headers, fields)
                promised, seen = promised + 1, seen + bool(right)
    assert seen > FEWEST * promised > FEWEST * len(packets) / 2
