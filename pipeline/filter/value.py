"""A value of a filter as its field means it: numbers with units, prefixes, protocols, texts."""

import math
import re
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network

from lark import Token

from pipeline.filter.field import Field
from pipeline.filter.filter_error import FilterError
from pipeline.protocol_names import PROTOCOLS
from pipeline.question import MAPPED, address_words

UNITS = {
    "": {},
    "ratio": {"%": 0.01},
    "bit/s": {"bps": 1, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12},
    "bytes": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30},
    "ns": {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9},
}
"""What may stand behind a number, by the unit of its field, in small letters."""
SPELT = {
    "ratio": "%",
    "bit/s": "bps, kbps, Mbps, Gbps, Tbps",
    "bytes": "B, kB, MB, GB, KiB, MiB, GiB",
    "ns": "ns, us, ms, s",
}
"""The same as it is usually written."""
NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)([A-Za-z%]*)", re.ASCII)
QUOTES = "\"'"
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MOST_PROTOCOL = 255
BEFORE_IPV4 = 96
"""Bits before an IPv4 address in a mapped one."""
IPV4 = IPv6Network((MAPPED, BEFORE_IPV4))
"""All of them."""
Words = tuple[int, int]


def text_of(token: Token) -> str:
    """What a word or a quoted text says. Raises FilterError."""
    said = str(token)
    if said[0] in QUOTES:
        said = ESCAPED.sub(r"\1", said[1:-1])
    if "\x00" in said or not said.isprintable():
        raise FilterError(token.column or 1, "a text has printable characters only")
    return said


def word_of(token: Token, field: Field) -> str:
    """A text that a field can be, also as tables show it. Raises FilterError."""
    said = text_of(token)
    if not field.values:
        return said
    if (word := said.lower().replace(" ", "_")) in field.values:
        return word
    near = get_close_matches(word, field.values, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise FilterError(token.column or 1, f"{field.name} is one of {field.accepted}{hint}")


def number_of(token: Token, field: Field) -> float:
    """A number in the unit of its field. Raises FilterError."""
    units = UNITS[field.unit]
    found = NUMBER.fullmatch(text_of(token))
    if found is None or (found[2] and found[2].lower() not in units):
        units_text = f" with or without {SPELT[field.unit]}" if units else ""
        raise FilterError(token.column or 1, f"{field.name} is compared with a number{units_text}")
    number = float(found[1]) * (units[found[2].lower()] if found[2] else 1)
    if not math.isfinite(number):
        raise FilterError(token.column or 1, "the number is too large")
    return number


def ranges_of(token: Token) -> list[tuple[Words, Words]]:
    """First and last address of a prefix or of one address, each in two words.

    Of an IPv6 prefix around them IPv4 addresses, which flows keep mapped, are left out.
    """
    meant = network_of(token)
    if meant is None:
        said = f"{text_of(token).strip('[]')[:60]!r} is no address or prefix; write 10.0.0.0/8"
        raise FilterError(token.column or 1, said)
    if isinstance(meant, IPv4Network) or not IPV4.subnet_of(meant):
        return [(address_words(meant[0]), address_words(meant[-1]))]
    around = ((int(meant[0]), int(IPV4[0]) - 1), (int(IPV4[-1]) + 1, int(meant[-1])))
    return [(address_words(IPv6Address(first)), address_words(IPv6Address(last)))
            for first, last in around if first <= last]  # fmt: skip


def network_of(token: Token) -> IPv4Network | IPv6Network | None:
    """A prefix, or one address; None: it is none, or has a zone (RFC 4007), which is a host's."""
    text = text_of(token).strip("[]")
    try:
        return None if "%" in text else _mapped(ip_network(text, strict=False))
    except ValueError:
        return None


def _mapped(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """IPv4 that is written as mapped IPv6 (::ffff:0:0/96) as IPv4, as flows keep it."""
    plain = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if plain is None or network.prefixlen < BEFORE_IPV4:
        return network
    return IPv4Network((plain, network.prefixlen - BEFORE_IPV4))


def protocol_of(token: Token) -> int:
    """A protocol by its name or number. Raises FilterError."""
    name = text_of(token).lower()
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if name.isascii() and name.isdigit() and int(name) <= MOST_PROTOCOL:
        return int(name)
    names = ", ".join(PROTOCOLS)
    raise FilterError(token.column or 1, f"protocol is {names}, or a number from 0 to 255")


def pattern_of(token: Token, field: Field) -> str:
    """A text with `*` and `?` as the store's LIKE has it."""
    said = text_of(token).replace(" ", "_") if field.values else text_of(token)
    plain = re.sub(r"([%_\\])", r"\\\1", said)
    return plain.replace("*", "%").replace("?", "_")
