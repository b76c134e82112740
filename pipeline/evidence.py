"""What speaks for a headline, and where else signals point: the JSON columns of verdicts. Pure.

A candidate is {signal, node, port, device, interface, u_mean, probability, samples}; a piece of
evidence is {signal, name, value, unit, samples, point}, and of a hop what `testimony` adds.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from math import fsum
from operator import itemgetter
from typing import Any

from pydantic_core import from_json

from pipeline.hop import Row, hop_of, ids, weighted

TITLES = {"int": "INT", "csig": "CSIG, all signals", "csig_abw": "min(ABW)",
          "csig_utilization": "min(ABW/C)", "csig_delay": "max(PD)", "delay": "queueing delay",
          "aecn": "Advanced ECN", "ecn": "ECN", "window": "advertised window"}  # fmt: skip
"""Signals of which each says by itself where it points, as people call them."""
HIGHEST = "inflight ratio at its highest value"
OF_PATHS = frozenset({"mark share", "CE share", "inflight ratio", HIGHEST, "queue delay",
                      "congested hops"})  # fmt: skip
"""Evidence that is of the path and of no hop."""
MOST_HOPS = 3
"""Hops of one signal that evidence is shown of, those of most intervals first."""
LIKELY = 1 / 2
"""A candidate above is more likely than all others together."""
STATE = "state"
"""Signal of evidence that is a state of congestion control: of several values the last counts."""


def candidates(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Every hop that a signal points at, per signal the likeliest first; the headline's before all.

    `found` are the entries of column `candidates` (`listed`). `probability` is the mean over the
    intervals in which the signal speaks; of hops that are as likely in whole percent the one that
    was so last comes first.
    """
    speaks: dict[str, set[int]] = {}
    hops: dict[tuple[str, tuple[int, int]], list[Row]] = {}
    for entry in found:
        signal = entry["signal"]
        speaks.setdefault(signal, set()).add(entry["time_ns"])
        hops.setdefault((signal, ids(entry)), []).append(entry)
    ranked = []
    for (signal, hop), entries in hops.items():
        chances = [entry["probability"] or 0.0 for entry in entries]
        chance = fsum(chances) / len(speaks[signal])
        likely = (e["time_ns"] for e, each in zip(entries, chances, strict=True) if each > LIKELY)
        rank = signal != "headline", signal, -round(chance, 2), -max(likely, default=0), hop
        ranked.append((rank, {
            "signal": signal,
            "hop": hop_of(entries[-1]),
            "u_mean": weighted(entries, "u_mean"),
            "probability": chance,
            "samples": sum([entry["samples"] for entry in entries]),
        }))  # fmt: skip
    return [told for _, told in sorted(ranked, key=itemgetter(0))]


def evidence(rows: Sequence[Row], pointed: Iterable[Row]) -> list[dict[str, Any]]:
    """What speaks in the intervals that are `here`: a piece a signal, what it says, and its hop.

    `pointed` are the entries of column `candidates`, which name hops. `share` is their share of all
    intervals in which the signal says it. Values are means weighted by samples; of the states of
    congestion control the last counts.
    """
    named = {(each["node"], each["port"]): each for each in pointed}
    named |= {ids(row): row for row in rows}
    said: dict[tuple[str, str, str], tuple[set[int], dict[tuple[int, ...], list[Row]]]] = {}
    for entry in listed(rows, "evidence"):
        times, hops = said.setdefault((entry["signal"], entry["name"], entry["unit"]), (set(), {}))
        times.add(entry["time_ns"])
        if entry["here"]:
            hops.setdefault(about(entry), []).append(entry)
    told = []
    for (signal, name, unit), (times, hops) in said.items():
        for hop in sorted(hops, key=lambda each: -len(hops[each]))[:MOST_HOPS]:
            piece = {"signal": signal, "name": name, "unit": unit}
            where = hop_of(named[hop]) if hop in named else None
            told.append(piece | told_of(hops[hop], len(times)) | {"hop": where})
    return told


def told_of(entries: Sequence[Row], intervals: int) -> dict[str, Any]:
    """What entries of one signal, name, unit and hop say together."""
    last = entries[-1]
    found = {name: last[name] for name in ("node", "port", "echo", "locators", "ago_ns")
             if name in last}  # fmt: skip
    return {
        "value": last["value"] if last["signal"] == STATE else weighted(entries, "value"),
        "samples": sum(entry["samples"] for entry in entries),
        "share": len({entry["time_ns"] for entry in entries}) / intervals,
        "points": sorted({e["point"] for e in entries if e.get("point")}),
        "frames": [],
        **found,
    }


def about(entry: Row) -> tuple[int, ...]:
    """The ids of the hop that an entry is about, none of a path; older ones are the headline's."""
    if entry["name"] in OF_PATHS or entry["signal"] in {STATE, "window"}:
        return ()
    of: tuple[int, int] = entry["of"]
    return of if entry.get("node") is None else (entry["node"], entry["port"])


def signals(candidates: Sequence[Row], evidence: Sequence[Row]) -> list[dict[str, Any]]:
    """Each signal by itself: its hops by probability, and what it says."""
    told = []
    pointing, saying = (grouped(each, itemgetter("signal")) for each in (candidates, evidence))
    for signal, title in TITLES.items():
        hops, pieces = pointing.get(signal, []), saying.get(signal, [])
        if hops or pieces:
            told.append({
                "signal": signal,
                "title": title,
                "hop": hops[0]["hop"] if hops else None,
                "probability": hops[0]["probability"] if hops else None,
                "candidates": [{"hop": each["hop"]["name"] if each["hop"] else None,
                                "probability": each["probability"]} for each in hops],
                "says": [{"name": each["name"], "value": each["value"], "unit": each["unit"],
                          "samples": each["samples"],
                          "hop": each["hop"]["name"] if each["hop"] else None} for each in pieces],
            })  # fmt: skip
    return told


def listed(rows: Sequence[Row], column: str) -> Iterator[Row]:
    """The entries of a JSON column, each with `time_ns`, `here` and the hop (`of`) of its row."""
    for row in rows:
        known = {"time_ns": row["time_ns"], "here": row["here"], "of": ids(row)}
        for entry in from_json(row[column] or "[]"):
            entry.update(known)
            yield entry


def grouped(entries: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Any, list[Row]]:
    """Entries by key, in the order in which keys first occur."""
    found: dict[Any, list[Row]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found
