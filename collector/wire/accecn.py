"""Accurate ECN options of TCP (RFC 9768, section 3.2.3), and their experiments.

kind 172     | 172 8 | length 8 | EE0B 24 | ECEB 24 | EE1B 24 |
kind 174     | 174 8 | length 8 | EE1B 24 | ECEB 24 | EE0B 24 |
experimental | 253 or 254 8 | length 8 | ExID 16 | counters as in kind 172 or 174 |

Each counts payload octets that arrived with ECT(0), CE or ECT(1), modulo 2^24. Counters at the end
may be left out.
"""

from dataclasses import replace
from itertools import product, starmap

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header

COUNTERS = {
    "ee0b": Field("ee0b", 24, "Echo of ECT(0) bytes.", "accecn_e0b"),
    "eceb": Field("eceb", 24, "Echo of CE bytes.", "accecn_ceb"),
    "ee1b": Field("ee1b", 24, "Echo of ECT(1) bytes.", "accecn_e1b"),
}
ORDERS = {"e0b": ("ee0b", "eceb", "ee1b"), "e1b": ("ee1b", "eceb", "ee0b")}
"""Order of the counters, by the one that comes first."""
KINDS = {172: "e0b", 174: "e1b"}
EXPERIMENTS = (253, 254)
"""TCP option kinds with an experiment identifier (RFC 6994)."""
COUNTS = range(4)
HEAD, COUNTER, EXID = 2, 3, 2
"""Octets of kind and length, of a counter, of an experiment identifier."""


def option(first: str, count: int, exid: int | None = None) -> Header:
    """The option with so many counters; with an ExID for kinds 253 and 254."""
    identifier: tuple[Field, ...] = ()
    if exid is not None:
        identifier = (Field("exid", 16, "Experiment identifier (RFC 6994)."),)
    return Header(
        name(first, count, exid),
        "RFC 9768 §3.2.3",
        (
            Field("kind", 8),
            Field("length", 8),
            *identifier,
            *(COUNTERS[each] for each in ORDERS[first][:count]),
        ),
        doc=f"Accurate ECN, {first} first, {count} of three counters.",
        checks=() if exid is None else _own(exid, count),
        layer="accecn",
    )


def _own(exid: int, count: int) -> tuple[Check, ...]:
    """Checks of an experiment: rivals on its kind may lead here with another length."""
    octets = HEAD + EXID + COUNTER * count
    return (Check("length", octets, octets, None), Check("exid", exid, exid, None))


def name(first: str, count: int, exid: int | None = None) -> str:
    """Name of an option's table."""
    return f"accecn_{first if exid is None else f'{exid:04x}'}_{count}"


def experiments(exids: dict[int, str], count: int) -> list[Header]:
    """The options with so many counters of each ExID, each tried after the one before."""
    tried: list[Header] = []
    for exid, first in reversed(exids.items()):
        following = tried[-1].name if tried else None
        tried.append(replace(option(first, count, exid), otherwise=following))
    return tried[::-1]


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    plain = tuple(starmap(option, product(ORDERS, COUNTS)))
    exids = dict[int, str](settings.accecn_exids)
    return (*plain, *(header for count in COUNTS for header in experiments(exids, count)))


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """TCP options by kind and octets."""
    own = {
        (kind, HEAD + COUNTER * count): name(first, count)
        for (kind, first), count in product(KINDS.items(), COUNTS)
    }
    for exid, first in list(settings.accecn_exids.items())[:1]:
        own |= {
            (kind, HEAD + EXID + COUNTER * count): name(first, count, exid)
            for kind, count in product(EXPERIMENTS, COUNTS)
        }
    return {"tcp_option": own}
