"""What was found: a finding about a subject, its verdict and evidence, as a row of the store."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import polars as pl

from pipeline.csig_profile import VARIANT_NAMES
from pipeline.health.finding import BY_NAME, CANNOT_TELL, TABLE, YES
from pipeline.health.place import Places, path
from pipeline.tables import TABLES

FEW = 8
"""Frames that show a break of the rules before a device is accused: a damaged one is no proof."""
FRAME = ("source", "frame")


@dataclass(frozen=True, slots=True)
class Found:
    """One finding about one subject."""

    kind: str
    subject: str
    finding: str
    verdict: str
    count: int
    evidence: Mapping[str, Any]


def first_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The first frame that showed it, at the later and at the earlier point."""
    told = {"first": {name: row[name] for name in FRAME} | {"time_ns": row["seen_ns"]}}
    if row.get("before_frame") is not None:
        told["first_before"] = {name: row[f"before_{name}"] for name in FRAME}
    return told


def about(devices: Iterable[str], start: str | None, end: str | None) -> tuple[str, str]:
    """Kind and name of the subject: a device where only one is meant, else the path."""
    known = sorted(devices)
    return ("device", known[0]) if len(known) == 1 else ("path", path(start, end))


def narrowed(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    """The devices that are in every group; empty when a group is, or nothing is in all."""
    known = list(groups)
    return frozenset.intersection(*known) if known else frozenset()


def port_or_locator(places: Places, tag: tuple[int, int, int]) -> tuple[str, str]:
    """Kind and name of what a locator names: an interface, a device, or the locator itself."""
    ports = places.locators.get(tag, frozenset())
    if len(ports) == 1:
        return "interface", next(iter(ports))
    device = places.device_of(tag)
    return ("device", device) if device else ("locator", f"{VARIANT_NAMES[tag[0]]} {tag[2]}")


def sure(count: int) -> str:
    """A verdict by the number of frames that show it."""
    return YES if count >= FEW else CANNOT_TELL


def rows_of(found: Iterable[Found], time_ns: int, interval_ns: int, revision: int) -> pl.DataFrame:
    """Rows of the table, one a subject and finding, in the order of its key."""
    rows = [
        {
            "time_ns": time_ns,
            "interval_ns": interval_ns,
            "kind": each.kind,
            "subject": each.subject,
            "finding": each.finding,
            "class": BY_NAME[each.finding].kind,
            "verdict": each.verdict,
            "count": each.count,
            "evidence": json.dumps(plain(each.evidence), sort_keys=True, allow_nan=False),
            "tells": BY_NAME[each.finding].tells,
            "revision": revision,
        }
        for each in found
    ]
    made = pl.DataFrame(rows, schema=TABLES[TABLE].schema, orient="row")
    best = made.sort(
        "finding", "kind", "subject", "verdict", "count", "evidence",
        descending=[False, False, False, True, True, False],
    )  # fmt: skip
    return best.unique(["finding", "kind", "subject"], keep="first", maintain_order=True)


def plain(value: Any) -> Any:
    """A value as JSON holds it: no infinity, sets as sorted lists."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, float):
        return round(value, 6) if isfinite(value) else None
    return value
