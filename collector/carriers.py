"""Which header follows which: the edges between the wire tables, with those that settings name.

A format is data: what a setting names (a TPID, a port, an option type) becomes an edge in a number
space, so that nothing is compiled again when a format or a setting changes. Each module of
`collector.wire` that is listed here tells its own headers, spaces and edges.
"""

from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

from collector.settings import CollectorSettings
from collector.wire import (
    accecn,
    aecn,
    csig,
    csig_echo,
    encrypted,
    erspan,
    hpcc_int,
    ifa,
    inband,
    inband_shim,
    inband_v1,
    ioam,
    ip,
    link,
    mirror,
    report,
    roce,
    sflow,
    tcp_int,
    timestamp,
    transport,
    tunnel,
)
from collector.wire.table import Header

FORMATS: tuple[ModuleType, ...] = (
    link, ip, transport, tunnel, csig, csig_echo, inband, inband_shim, inband_v1, aecn, ioam,
    ifa, tcp_int, hpcc_int, erspan, mirror, timestamp, encrypted, roce, sflow, accecn, report,
)  # fmt: skip
"""Modules of wire tables. Each has `headers(settings)`, and may have `SPACES`, `edges(settings)`,
`OPTION_SPACES`, `options(settings)`, `option_extra(settings)` and `carried(settings)`."""

SPACES: dict[str, int] = {
    name: default for form in FORMATS for name, default in getattr(form, "SPACES", {}).items()
}
"""Number spaces with what an unlisted number means: 0 payload, or the end by a reason (-code)."""
OPTION_SPACES: tuple[str, ...] = tuple(
    name for form in FORMATS for name in getattr(form, "OPTION_SPACES", ())
)
"""Number spaces of type-length-value lists; an unlisted option is skipped."""

Options = dict[str, dict[tuple[int, int], str]]


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header that these settings can meet, each linked with what else its place can hold."""
    found = {header.name: header for form in FORMATS for header in form.headers(settings)}
    for form in FORMATS:
        for name, branches in _of(form, "carried", settings).items():
            own = found[name]
            found[name] = replace(own, branches=(*own.branches, *branches))
    for first, second in _rivals(settings):
        last = first
        while (following := found[last].otherwise) not in (None, second):
            last = str(following)
        found[last] = replace(found[last], otherwise=second)
    return tuple(found.values())


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Numbers of each space and the header that each announces; a later format wins."""
    merged: dict[str, dict[int, str]] = {name: {} for name in SPACES}
    for form in FORMATS:
        for space, numbers in _of(form, "edges", settings).items():
            merged[space] |= numbers
    return merged


def option_edges(settings: CollectorSettings) -> Options:
    """(kind, octets) of each option space and its header; 0 octets stands for any length.

    Where several formats claim the same option, the first is given; the others are tried in turn
    when a check of the one before fails (`Header.otherwise`).
    """
    merged: Options = {name: {} for name in OPTION_SPACES}
    for form in FORMATS:
        for space, numbers in _of(form, "options", settings).items():
            merged[space] = numbers | merged[space]
    return merged


def option_extra(settings: CollectorSettings) -> dict[str, dict[int, int]]:
    """Octets by which an option is longer than its length says, by space and kind."""
    return {
        space: kinds
        for form in FORMATS
        for space, kinds in _of(form, "option_extra", settings).items()
    }


def _rivals(settings: CollectorSettings) -> list[tuple[str, str]]:
    """Headers that claim the same option, each with the next one."""
    claims: dict[tuple[str, int, int], list[str]] = {}
    for form in FORMATS:
        for space, numbers in _of(form, "options", settings).items():
            for (kind, octets), name in numbers.items():
                claims.setdefault((space, kind, octets), []).append(name)
    return [pair for names in claims.values() for pair in pairwise(names)]


def _of(form: ModuleType, function: str, settings: CollectorSettings) -> dict[str, Any]:
    """What a format tells by one of its functions, if it has that."""
    tell = getattr(form, function, None)
    return tell(settings) if tell else {}
