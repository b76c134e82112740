"""What speaks for a headline, and where else signals point: the JSON columns of verdicts. Pure.

A candidate is {signal, node, port, device, interface, u_mean, probability, samples}; a piece of
evidence is {signal, name, value, unit, samples, point}, and of a hop what `testimony` adds.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import fsum
from operator import itemgetter
from typing import Any, NamedTuple

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


class Pointed(NamedTuple):
    """Entries of column `candidates` by signal and hop, and the intervals each signal speaks in."""

    hops: Mapping[tuple[str, tuple[int, int]], Sequence[Row]]
    intervals: Mapping[str, int]

    @property
    def named(self) -> dict[tuple[int, ...], Row]:
        """An entry that names a hop, by its ids."""
        return {hop: entries[-1] for (_, hop), entries in self.hops.items()}


def pointed(rows: Sequence[Row]) -> Pointed:
    """Where signals point in rows, which are of an interval each, in order of time."""
    hops: dict[tuple[str, tuple[int, int]], list[Row]] = {}
    intervals: Counter[str] = Counter()
    for row in rows:
        time_ns, entries = row["time_ns"], from_json(row["candidates"] or "[]")
        for entry in entries:
            entry["time_ns"] = time_ns
            hops.setdefault((entry["signal"], ids(entry)), []).append(entry)
        intervals.update({entry["signal"] for entry in entries})
    return Pointed(hops, intervals)


def candidates(found: Pointed) -> list[dict[str, Any]]:
    """Every hop that a signal points at, per signal the likeliest first; the headline's before all.

    `probability` is the mean over the intervals in which the signal speaks; of hops that are as
    likely in whole percent the one that was so last comes first.
    """
    ranked = []
    for (signal, hop), entries in found.hops.items():
        chance = fsum([entry["probability"] or 0.0 for entry in entries]) / found.intervals[signal]
        newest = (e["time_ns"] for e in reversed(entries) if (e["probability"] or 0.0) > LIKELY)
        rank = signal != "headline", signal, -round(chance, 2), -next(newest, 0), hop
        ranked.append((rank, {
            "signal": signal,
            "hop": hop_of(entries[-1]),
            "u_mean": weighted(entries, "u_mean"),
            "probability": chance,
            "samples": sum([entry["samples"] for entry in entries]),
        }))  # fmt: skip
    return [told for _, told in sorted(ranked, key=itemgetter(0))]


class Said:
    """What a signal says under one name: in how many intervals, and its entries by hop."""

    __slots__ = ("hops", "intervals", "of_path", "time_ns")

    def __init__(self, signal: str, name: str) -> None:
        self.of_path = name in OF_PATHS or signal in {STATE, "window"}
        self.hops: dict[tuple[int, ...], list[Row]] = {}
        self.intervals, self.time_ns = 0, -1

    def seen(self, time_ns: int) -> None:
        """It is said in an interval, which may have been told before; no earlier one comes."""
        self.intervals += time_ns != self.time_ns
        self.time_ns = time_ns

    def about(self, entry: Row, of: tuple[int, int]) -> tuple[int, ...]:
        """The hop that an entry is about, none of a path; older ones are the headline's, `of`."""
        if self.of_path:
            return ()
        return of if entry.get("node") is None else (entry["node"], entry["port"])


def evidence(rows: Sequence[Row], named: Mapping[tuple[int, ...], Row]) -> list[dict[str, Any]]:
    """What speaks in the intervals that are `here`: a piece a signal, what it says, and its hop.

    `named` are entries that name hops (`Pointed.named`). `share` is their share of all intervals in
    which the signal says it. Values are means weighted by samples; of the states of congestion
    control the last counts.
    """
    known: dict[tuple[int, ...], Row] = {**named}
    known.update((ids(row), row) for row in rows)
    found: dict[tuple[str, str, str], Said] = {}
    for row in rows:
        time_ns, here, of = row["time_ns"], row["here"], ids(row)
        for entry in from_json(row["evidence"] or "[]"):
            key = entry["signal"], entry["name"], entry["unit"]
            if (said := found.get(key)) is None:
                said = found[key] = Said(*key[:2])
            said.seen(time_ns)
            if here:
                entry["time_ns"] = time_ns
                said.hops.setdefault(said.about(entry, of), []).append(entry)
    told = []
    for (signal, name, unit), said in found.items():
        for hop in sorted(said.hops, key=lambda each: -len(said.hops[each]))[:MOST_HOPS]:
            piece = {"signal": signal, "name": name, "unit": unit}
            where = hop_of(known[hop]) if hop in known else None
            told.append(piece | told_of(said.hops[hop], said.intervals) | {"hop": where})
    return told


def told_of(entries: Sequence[Row], intervals: int) -> dict[str, Any]:
    """What entries of one signal, name, unit and hop say together."""
    last = entries[-1]
    found = {name: last[name] for name in ("node", "port", "echo", "locators", "ago_ns")
             if name in last}  # fmt: skip
    return {
        "value": last["value"] if last["signal"] == STATE else weighted(entries, "value"),
        "samples": sum([entry["samples"] for entry in entries]),
        "share": len({entry["time_ns"] for entry in entries}) / intervals,
        "points": sorted({e["point"] for e in entries if e.get("point")}),
        "frames": [],
        **found,
    }


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


def grouped(entries: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Any, list[Row]]:
    """Entries by key, in the order in which keys first occur."""
    found: dict[Any, list[Row]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found
