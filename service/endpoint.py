"""What a user types to name a flow or a time, read into exact values.

Every function raises `ValueError` with one sentence that says what is accepted; the command line
and the API put the name of the argument in front of it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from pipeline import PROTOCOLS, end_text

NS_PER_S = 1_000_000_000
DAY_NS = 86_400 * NS_PER_S

DURATION_UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "d": DAY_NS,
}
"""Unit suffixes of a duration and their length in nanoseconds."""

MAX_PORT = 65_535
MAX_PROTOCOL = 255
MAX_NS = 2**63 - 1

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|d)", re.ASCII)
_SECONDS = re.compile(r"\d{1,10}(?:\.\d{1,9})?", re.ASCII)
_NANOSECONDS = re.compile(r"\d{16,19}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a flow."""

    address: IPv4Address | IPv6Address
    port: int

    def __str__(self) -> str:
        """`10.0.0.1:5001` or `[2001:db8::1]:5001`."""
        return end_text(self.address, self.port)


def parse_address(text: str) -> IPv4Address | IPv6Address:
    """An IP address without port; an IPv4-mapped IPv6 address is given back as IPv4."""
    try:
        address = ip_address(text.strip().strip("[]"))
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address; write 10.0.0.1 or 2001:db8::1") from None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def parse_port(text: str) -> int:
    """A port number, 0 to 65535."""
    if not (text.isascii() and text.isdigit()) or int(text[:6]) > MAX_PORT:
        raise ValueError(f"{text!r} is not a port; a port is a number from 0 to {MAX_PORT}")
    return int(text)


def parse_endpoint(text: str) -> Endpoint:
    """`10.0.0.1:5001` or `[2001:db8::1]:5001`."""
    host, colon, port = text.strip().rpartition(":")
    unbracketed_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or not host or unbracketed_v6:
        raise ValueError(f"{text!r} is not ADDRESS:PORT; write 10.0.0.1:5001 or [2001:db8::1]:5001")
    return Endpoint(parse_address(host), parse_port(port))


def parse_protocol(text: str) -> int:
    """A protocol's name or IANA number."""
    name = text.strip().lower()
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if name.isascii() and name.isdigit() and int(name[:4]) <= MAX_PROTOCOL:
        return int(name)
    names = ", ".join(PROTOCOLS)
    raise ValueError(
        f"{text!r} is not a protocol; write {names} or a number from 0 to {MAX_PROTOCOL}"
    )


def parse_duration(text: str, least_ns: int = 1) -> int:
    """A length of time such as `10s`, `250ms` or `1.5h`, in nanoseconds."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        units = ", ".join(DURATION_UNITS)
        raise ValueError(
            f"{text!r} is not a duration; write a number and a unit ({units}), such as 10s"
        )
    length = float(match[1]) * DURATION_UNITS[match[2]]
    if length >= MAX_NS:
        raise ValueError(f"{text!r} is too long; at most {MAX_NS // DURATION_UNITS['d']}d is told")
    if round(length) < least_ns:
        raise ValueError(f"{text!r} is too short; at least {least_ns}ns is told")
    return round(length)


def parse_time(text: str) -> int:
    """A moment in nanoseconds since 1970.

    Accepted: RFC 3339 (`2026-01-31T12:00:00.5Z`; without a zone it is UTC), seconds since 1970 with
    up to nine decimals, or nanoseconds since 1970 as an integer of 16 to 19 digits.
    """
    value = text.strip()
    if _NANOSECONDS.fullmatch(value) and int(value) <= MAX_NS:
        return int(value)
    if _SECONDS.fullmatch(value):
        seconds, _, decimals = value.partition(".")
        return int(seconds) * NS_PER_S + int(decimals.ljust(9, "0") or 0)
    try:
        moment = datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write 2026-01-31T12:00:00Z or seconds since 1970"
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    time_ns = (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    if not 0 <= time_ns <= MAX_NS:
        raise ValueError(f"{text!r} is not a time from 1970 to {time_text(MAX_NS)[:10]}")
    return time_ns


def seconds_text(time_ns: int) -> str:
    """A moment exactly, as `parse_time` takes it: seconds since 1970 with nine decimals."""
    return f"{time_ns // NS_PER_S}.{time_ns % NS_PER_S:09d}"


def time_text(time_ns: int) -> str:
    """A moment as RFC 3339 in UTC with microseconds."""
    moment = _EPOCH + timedelta(microseconds=time_ns // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
