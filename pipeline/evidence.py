"""What speaks for a headline, and where else signals point: the JSON columns of verdicts. Pure.

A candidate is {signal, node, port, device, interface, u_mean, probability, samples}; a piece of
evidence is {signal, name, value, unit, samples, point}.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from math import fsum
from typing import Any

from pipeline.hop import Row, hop_of, ids, weighted

STATE = "state"
"""Signal of evidence that is a state of congestion control: of several values the last counts."""


def candidates(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Every hop that a signal points at, per signal the likeliest first; the headline's before all.

    `probability` is the mean over the intervals in which the signal speaks; of hops that are as
    likely in whole percent the one that was so last comes first.
    """
    found = list(listed(rows, "candidates"))
    speaks = {
        signal: len({entry["time_ns"] for entry in entries})
        for signal, entries in grouped(found, lambda entry: entry["signal"]).items()
    }
    hops = grouped(found, lambda entry: (entry["signal"], ids(entry)))
    pointed = [
        {
            "signal": signal,
            "hop": hop_of(entries[-1]),
            "u_mean": weighted(entries, "u_mean"),
            "probability": fsum(e["probability"] or 0.0 for e in entries) / speaks[signal],
            "samples": sum(e["samples"] for e in entries),
            "likely_ns": max((e["time_ns"] for e in entries if likely(e)), default=0),
        }
        for (signal, _), entries in sorted(hops.items(), key=lambda item: item[0])
    ]
    ranked = sorted(
        pointed,
        key=lambda one: (
            one["signal"] != "headline",
            one["signal"],
            -round(one["probability"], 2),
            -one["likely_ns"],
        ),
    )
    return [{k: v for k, v in one.items() if k != "likely_ns"} for one in ranked]


def likely(entry: Row) -> bool:
    """Whether a candidate is more likely than all others together."""
    return (entry["probability"] or 0.0) > 1 / 2


def evidence(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What speaks for the headline, a piece a signal, from the intervals that are `here`.

    `share` is their share of all intervals in which the signal speaks. Values are means weighted by
    samples; of the states of congestion control the last counts.
    """
    told = []
    pieces = grouped(listed(rows, "evidence"), lambda e: (e["signal"], e["name"], e["unit"]))
    for (signal, name, unit), entries in pieces.items():
        here = [entry for entry in entries if entry["here"]]
        if here:
            value = here[-1]["value"] if signal == STATE else weighted(here, "value")
            told.append(
                {
                    "signal": signal,
                    "name": name,
                    "value": value,
                    "unit": unit,
                    "samples": sum(entry["samples"] for entry in here),
                    "share": len(here) / len(entries),
                    "points": sorted({e["point"] for e in here if e.get("point")}),
                    "frames": [],
                }
            )
    return told


def listed(rows: Sequence[Row], column: str) -> Iterator[Row]:
    """The entries of a JSON column, each with `time_ns` and `here` of its row."""
    for row in rows:
        for entry in json.loads(row[column] or "[]"):
            yield {**entry, "time_ns": row["time_ns"], "here": row["here"]}


def grouped(entries: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Any, list[Row]]:
    """Entries by key, in the order in which keys first occur."""
    found: dict[Any, list[Row]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found
