"""The stored flows that have the ends of a question: the rows of query `flow_of_key`, joined. Pure.

The store keeps a row of a flow in each part of its table until it has merged these. A question
has one flow or few, so that joining them here costs nothing.
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import polars as pl

from pipeline.protocol_names import protocol_name
from pipeline.question import Question, address_words, time_text
from pipeline.tables.flow_by_ends import TOLD, ends_number
from pipeline.tables.flows import FLOWS
from pipeline.told_row import reader_of, values_of

MOST = 16
"""Flows with the same ends that are told of."""
FEW = 3
"""Flows with the same ends that are named beside the one that is taken."""
READERS = {column.name: reader_of(column) for column in FLOWS.columns}
NARROWING = ("protocol", "tenant", "vrf", "vni")


def ends_of(question: Question) -> dict[str, int]:
    """The parameters of queries about the flows between two addresses."""
    src, dst = address_words(question.src), address_words(question.dst)
    return {"src_hi": src[0], "src_lo": src[1], "dst_hi": dst[0], "dst_lo": dst[1]}


def whole_ends(question: Question) -> dict[str, int]:
    """Both addresses and ports of a question, as the store keeps them."""
    return ends_of(question) | {"sport": question.sport, "dport": question.dport}


def key_of(question: Question) -> dict[str, int]:
    """The parameters of query `flow_of_key`."""
    return {"ends": ends_number(whole_ends(question))}


def found_flows(
    rows: pl.DataFrame,
    question: Question,
    most: int | None = MOST,
    seen: tuple[int | None, int | None] = (None, None),
) -> list[dict[str, Any]]:
    """The flows that the question may mean, the one seen last first; `rows` answer its key.

    They are `most` at most (None: all), those that were seen in a time first (`seen_in`).
    """
    wanted = whole_ends(question).items()
    parts: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        whole = row | told_flow(row["told"])
        narrow = all(getattr(question, name) in {None, whole[name]} for name in NARROWING)
        if narrow and wanted <= whole.items():
            parts.setdefault(row["flow"], []).append(whole)
    flows = [joined(each, question) for each in parts.values()]
    return seen_in(sorted(flows, key=lambda flow: (-flow["last_ns"], flow["flow"])), *seen)[:most]


def seen_in(
    found: Sequence[dict[str, Any]], from_ns: int | None, to_ns: int | None
) -> list[dict[str, Any]]:
    """The same flows, those that were seen from `from_ns` to before `to_ns` first.

    Of the others those that were seen nearest to that time come first; else they stay in order.
    None: there is no such end, ns since 1970.
    """

    def away(flow: Mapping[str, Any]) -> int:
        before = 0 if from_ns is None else from_ns - flow["last_ns"]
        after = 0 if to_ns is None else flow["first_ns"] - to_ns + 1
        return max(before, after, 0)

    return sorted(found, key=away) if len(found) > 1 else [*found]


def same_ends(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is said where several flows may be meant, of which the first is taken."""
    taken, *others = found or [{}]
    if not others:
        return []
    last = taken["last_ns"] >= max(flow["last_ns"] for flow in others)
    which = "seen last" if last else "seen in that time, or nearest to it"
    names = [name for name in NARROWING if len({flow[name] or None for flow in found}) > 1]
    own = f", with {_by(names, taken)}" if names else ""
    beside = [f"with {_by(names, flow)} " if names else "" for flow in others[:FEW]]
    told = [
        f"{text}from {time_text(flow['first_ns'])} to {time_text(flow['last_ns'])}"
        for text, flow in zip(beside, others, strict=False)
    ]
    more = [f"{len(others) - FEW} more"] if len(others) > FEW else []
    seen = ", ".join([*told, *more])
    return [f"{len(found)} flows have these ends; this is the one {which}{own}; also seen: {seen}"]


def _by(names: Sequence[str], flow: Mapping[str, Any]) -> str:
    """What tells a flow from others with the same ends."""
    return " and ".join(_named(name, flow[name]) for name in names)


def told_flow(text: str) -> dict[str, Any]:
    """What the text of a flow tells (`flow_by_ends.TOLD`)."""
    told = dict(zip(TOLD, values_of(text), strict=True))
    return {name: None if value is None else READERS[name](value) for name, value in told.items()}


def differing(flow: Mapping[str, Any], question: Question) -> str:
    """In what a flow with the ends of a question is not the one that is meant."""
    pairs = ((name, flow[name], getattr(question, name)) for name in NARROWING)
    return " and ".join(
        f"{_named(name, own)} instead of {_named(name, asked)}"
        for name, own, asked in pairs
        if asked not in {None, own}
    )


def _named(name: str, value: Any) -> str:
    """One thing that tells flows with the same ends apart."""
    if name == "protocol":
        value = protocol_name(value)
    return f"no {name}" if value in {None, ""} else f"{name} {value}"


def joined(parts: Sequence[Mapping[str, Any]], question: Question) -> dict[str, Any]:
    """One flow out of its rows; what controls it is what was seen last."""
    newest = sorted(parts, key=lambda row: -row["last_ns"])
    told = {name: next((row[name] for row in newest if row[name] is not None), None)
            for name in newest[0]}  # fmt: skip
    return {
        "flow": told["flow"], "tenant": told["tenant"], "vrf": told["vrf"], "vni": told["vni"],
        "src": _text(question.src), "sport": question.sport,
        "dst": _text(question.dst), "dport": question.dport,
        "protocol": told["protocol"], "conversation": told["conversation"],
        "direction": told["direction"], "first_ns": min(row["first_ns"] for row in parts),
        "last_ns": told["last_ns"], "cc": told["cc"],
    }  # fmt: skip


def _text(address: IPv4Address | IPv6Address) -> str:
    """An address as the store writes it."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
