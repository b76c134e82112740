"""Fields of a packet as people read them: addresses, flags, moments; numbers stay what they are."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from collector import Field
from pipeline import protocol_name
from service.endpoint import NS_PER_S, parse_address

ENDS = ("source", "destination", "agent")
"""Fields that are addresses; which kind, their bits say."""
HALF, MAC_BITS, V4_BITS, OCTET = 64, 48, 32, 8
HALVES = (("_high", "_low"), ("_hi", "_lo"))
"""How the two halves of an IPv6 address are called, in headers and in columns."""
PROTOCOLS = ("protocol", "next_header")
"""Fields of one octet that IANA numbers as IP protocols, of more that are ethertypes."""
HEXADECIMAL = (
    "ethertype", "checksum", "bitmap", "domain_bitmap", "trace_type", "exid", "spi", "key", "oui",
)  # fmt: skip
MOMENTS = ("ts", "ingress_ts", "egress_ts", "seconds")
EARLIEST_S, LATEST_S = 978_307_200, 4_102_444_800
"""A counter whose value lies from 2001 to 2100 is a clock that is set: its moment is told too."""
DIGITS = 6


def fields_text(fields: Mapping[str, int], table: Mapping[str, Field]) -> dict[str, str]:
    """The fields of a header by name, as text; halves of an address are one."""
    told = dict(joined(fields))
    return {name: field_text(name, value, table.get(name), fields) for name, value in told.items()}


def columns_text(columns: Mapping[str, Any], flags: Field | None = None) -> dict[str, str]:
    """Columns that the walk keeps, as text."""
    return {name: column_text(name, value, flags) for name, value in joined(columns)}


def joined(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values, where the halves of an address are one address; a high half may be 0."""
    for name, value in values.items():
        high, low = next((pair for pair in HALVES if name.endswith(pair)), ("", ""))
        if not low:
            yield name, value
        elif name.endswith(low):
            own = name.removesuffix(low)
            yield own, parse_address(str(IPv6Address(values.get(own + high, 0) << HALF | value)))
        elif name.removesuffix(high) + low not in values:
            yield name, value


def field_text(name: str, value: Any, field: Field | None, beside: Mapping[str, int]) -> str:
    """One field by its name and width; an address of a link layer has a length beside it."""
    if field is None:
        return column_text(name, value)
    if name in ENDS and field.bits in (V4_BITS, MAC_BITS):
        short = field.bits == V4_BITS
        return str(IPv4Address(value)) if short else octets_text(value, field.bits)
    if name == "address" and "address_length" in beside:
        length = min(OCTET * beside["address_length"], field.bits)
        return octets_text(value >> (field.bits - length), length)
    if name in HEXADECIMAL or (name in PROTOCOLS and field.bits > OCTET):
        return f"0x{value:0{-(-field.bits // 4)}x}"
    return column_text(name, value, field)


def column_text(name: str, value: Any, flags: Field | None = None) -> str:
    """One value by its name alone."""
    if name == "flags" and flags is not None:
        return flags_text(value, flags)
    if name in PROTOCOLS:
        return protocol_text(value)
    if name in MOMENTS and isinstance(value, int):
        unit = 1 if name == "seconds" else NS_PER_S
        if EARLIEST_S <= value // unit < LATEST_S:
            return f"{value} ({moment_text(value * (NS_PER_S // unit))})"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(column_text('', each) for each in value)}]"
    return str(value)


def protocol_text(value: int) -> str:
    """An IP protocol by its number, with its name where it has one here."""
    name = protocol_name(value)
    return name if name == str(value) else f"{value} ({name})"


def flags_text(value: int, field: Field) -> str:
    """Flags by the names that the field's description lists, the highest first; else the number."""
    names = field.doc.rstrip(".").split()
    if len(names) != field.bits:
        return str(value)
    places = range(field.bits - 1, -1, -1)
    lit = [name for place, name in zip(places, names, strict=True) if value >> place & 1]
    return f"{value} ({' '.join(lit) or 'none'})"


def octets_text(value: int, bits: int) -> str:
    """Octets as link layers write them, with colons."""
    return value.to_bytes(bits // OCTET, "big").hex(":")


def moment_text(time_ns: int) -> str:
    """A moment as RFC 3339 in UTC, to the nanosecond."""
    seconds, rest = divmod(time_ns, NS_PER_S)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
