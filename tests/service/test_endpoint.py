"""What users type to name flows and times."""

import pytest

from pipeline import protocol_name
from service.endpoint import (
    parse_duration,
    parse_endpoint,
    parse_protocol,
    parse_time,
    time_text,
)

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.0.0.1:5001", "10.0.0.1:5001"),
        ("[2001:db8::1]:5001", "[2001:db8::1]:5001"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        (" 10.0.0.1:0 ", "10.0.0.1:0"),
    ],
)
def test_an_end_is_read_and_shown(text: str, shown: str) -> None:
    assert str(parse_endpoint(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.0.0.1",
        ":80",
        "10.0.0.1:65536",
        "10.0.0.1:-1",
        "10.0.0.1:٣",
        "2001:db8::1:80",
        "a:80",
    ],
)
def test_a_wrong_end_is_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not (an IP address|a port|ADDRESS:PORT)"):
        parse_endpoint(text)


@pytest.mark.parametrize(
    ("text", "ns"), [("10s", 10 * SECOND), ("1.5ms", 1_500_000), ("2 h", 7200 * SECOND), ("7ns", 7)]
)
def test_durations(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "10", "-1s", "1y", "nan s"])
def test_wrong_durations_name_the_units(text: str) -> None:
    with pytest.raises(ValueError, match="ns, us, ms, s, m, h, d"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [("0s", "at least 1ns"), ("0.1ns", "at least 1ns"), ("106752d", "at most 106751d"),
     ("9" * 400 + "d", "at most 106751d")],
)  # fmt: skip
def test_durations_of_another_length_name_the_one_that_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1700000000", 1_700_000_000 * SECOND),
        ("1700000000.000000001", 1_700_000_000 * SECOND + 1),
        ("1700000000000000123", 1_700_000_000_000_000_123),
        ("2023-11-14T22:13:20Z", 1_700_000_000 * SECOND),
        ("2023-11-14 23:13:20.5+01:00", 1_700_000_000 * SECOND + SECOND // 2),
        ("2023-11-14T22:13:20", 1_700_000_000 * SECOND),
        ("2023-11-14t22:13:20z", 1_700_000_000 * SECOND),
    ],
)
def test_times(text: str, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize(
    "text", ["1969-01-01T00:00:00Z", "9999-01-01", "0001-01-01T00:00:00+14:00"]
)
def test_times_that_no_store_has_name_those_that_it_has(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time from 1970 to 2262-04-11"):
        parse_time(text)


@pytest.mark.parametrize("text", ["", "yesterday", "1" * 19 + "x"])
def test_wrong_times_say_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="2026-01-31T12:00:00Z or seconds"):
        parse_time(text)


def test_a_time_is_shown_as_it_can_be_typed() -> None:
    assert parse_time(time_text(1_700_000_000_123_456_000)) == 1_700_000_000_123_456_000


def test_protocols_by_name_and_number() -> None:
    assert parse_protocol("TCP") == parse_protocol("6") == 6
    assert (protocol_name(6), protocol_name(253)) == ("tcp", "253")
    with pytest.raises(ValueError, match="tcp, udp"):
        parse_protocol("256")
