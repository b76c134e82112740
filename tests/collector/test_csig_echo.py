"""Reflections of congestion signals: in TCP options, and in datagrams."""

from typing import Any

import pytest
from octets import ethernet, ipv4, tcp, udp
from test_csig import SIGNAL, row_of, signal

from collector import CollectorSettings
from collector.wire import csig_echo

REFLECTIONS = [
    ("c8042b85", {"csig_echo_kind": 200}, (1, 1, 23, 5)),
    ("c80812342abcde00", {"csig_echo_kind": 200}, (2, 2, 0xABCDE, 0x1234)),
    ("fd06c5162b85", {}, (1, 1, 23, 5)),
    ("fd0ac51612342abcde00", {}, (2, 2, 0xABCDE, 0x1234)),
    ("fe06beef2b85", {"csig_echo_kind": 254, "csig_echo_exid": 0xBEEF}, (1, 1, 23, 5)),
    ("fd042b85", {"csig_echo_exid": None}, (1, 1, 23, 5)),
    ("c8022b85", {"csig_echo_kind": 200, "csig_echo_length": "data"}, (1, 1, 23, 5)),
    (
        "c80612342abcde00",
        {"csig_echo_kind": 200, "csig_echo_length": "data"},
        (2, 2, 0xABCDE, 0x1234),
    ),
    ("fd02c5162b85", {"csig_echo_length": "data"}, (1, 1, 23, 5)),
]


@pytest.mark.parametrize(("option", "settings", "expected"), REFLECTIONS)
def test_a_tcp_option_reflects_by_either_rule_of_its_length(
    option: str, settings: dict[str, Any], expected: tuple[int, ...]
) -> None:
    row = row_of(ethernet(ipv4(tcp(bytes.fromhex(option + "0204022b")))), **settings)
    assert signal(row, "csig_echo")[:4] == expected
    assert row["mss"] == 0x022B
    assert row["csig_echo_valid"] is True
    assert signal(row) == (None,) * len(SIGNAL)


@pytest.mark.parametrize("option", ["fd04c516", "fd05c51677", "fd08c51612342abc"])
def test_a_reflection_without_a_whole_signal_is_an_observation(option: str) -> None:
    row = row_of(ethernet(ipv4(tcp(bytes.fromhex(option)))))
    assert row["csig_echo_valid"] is False
    assert signal(row, "csig_echo") == (None,) * len(SIGNAL)


def test_another_experiment_is_no_reflection() -> None:
    for option in ("fd06acce2b85", "fd03c5", "fd02"):
        row = row_of(ethernet(ipv4(tcp(bytes.fromhex(option)))))
        assert row["csig_echo_valid"] is None


PONY = {"csig_echo_udp_ports": (777,), "csig_echo_udp_offset": 3, "csig_echo_udp_valid": 0x40}


def pony(payload: str, **settings: Any) -> dict[str, Any]:
    """The observation of a datagram to the reflecting port."""
    packet = ethernet(ipv4(udp(bytes.fromhex(payload), 777), 17))
    return row_of(packet, **{**PONY, **settings})


def test_a_datagram_reflects_behind_its_flags() -> None:
    row = pony("0a0b0c" + "41" + "2b85" + "eeee")
    assert signal(row, "csig_echo")[:4] == (1, 1, 23, 5)
    assert (row["csig_echo_flags"], row["csig_echo_valid"], row["payload_bytes"]) == (0x41, True, 2)
    wide = pony("0a0b0c" + "41" + "12342abcde00", csig_echo_udp_variant="expanded")
    assert signal(wide, "csig_echo")[:4] == (2, 2, 0xABCDE, 0x1234)
    always = pony("0a0b0c" + "00" + "2b85", csig_echo_udp_valid=0)
    assert (always["csig_echo_s"], always["csig_echo_valid"]) == (23, True)
    first = pony("40" + "2b85", csig_echo_udp_offset=0)
    assert (first["csig_echo_s"], first["csig_echo_valid"]) == (23, True)


def test_an_invalid_or_empty_datagram_is_an_observation_without_a_signal() -> None:
    for payload in ("0a0b0c" + "bf" + "2b85", "0a0b0c" + "40"):
        row = pony(payload)
        assert (row["csig_echo_valid"], row["csig_echo_s"]) == (False, None)
    assert pony("0a0b")["csig_echo_valid"] is None


def test_the_signals_of_both_directions_are_kept_apart() -> None:
    option = bytes.fromhex("fd0ac51612342abcde00")
    row = row_of(ethernet(bytes.fromhex("2b850800") + ipv4(tcp(option)), 0x9900))
    assert signal(row)[:4] == (1, 1, 23, 5)
    assert signal(row, "csig_echo")[:4] == (2, 2, 0xABCDE, 0x1234)


@pytest.mark.parametrize(
    ("name", "octets", "values"),
    [
        ("csig_echo_compact", "fd06c516b9cb",
         {"kind": 253, "length": 6, "exid": 0xC516, "t": 5, "r": 1, "s": 19, "lm": 75}),
        ("csig_echo_expanded", "fd0ac51612342abcde7f",
         {"kind": 253, "length": 10, "exid": 0xC516, "lm": 0x1234, "t": 2, "s": 0xABCDE,
          "r": 0x7F}),
        ("csig_echo_empty", "fd04c516", {"kind": 253, "length": 4, "exid": 0xC516}),
        ("csig_echo_udp_flags", "41", {"flags": 0x41}),
        ("csig_echo_udp_compact", "b9cb", {"t": 5, "r": 1, "s": 19, "lm": 75}),
        ("csig_echo_udp_expanded", "12342abcde7f",
         {"lm": 0x1234, "t": 2, "s": 0xABCDE, "r": 0x7F}),
    ],
)  # fmt: skip
def test_a_reflection_lies_as_in_its_picture(
    name: str, octets: str, values: dict[str, int]
) -> None:
    tables = {header.name: header for header in csig_echo.headers(CollectorSettings())}
    assert tables[name].unpack(bytes.fromhex(octets)) == values
