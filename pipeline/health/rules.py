"""Rules: who breaks those of CSIG and of ECN, by one packet at two points or by tags alone.

LM may change from packet to packet while S stays: nobody is accused of that. Between two points on
the way of one packet it may not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network
from math import inf
from typing import Any

import polars as pl

from pipeline.health.changes import Change, Ecn
from pipeline.health.coverage import pairs_with
from pipeline.health.finding import CANNOT_TELL, YES
from pipeline.health.found import (
    FEW,
    Found,
    about,
    first_of,
    narrowed,
    port_or_locator,
    sure,
)
from pipeline.health.place import Places, Tag, path
from pipeline.health.scene import Scene
from pipeline.signals import ABW, DELAY

BROKEN = {
    Change.INSERTED: "tag_inserted",
    Change.TYPE: "type_changed",
    Change.LM_ALONE: "locator_without_signal",
    Change.AGAINST: "against_aggregation",
}
"""Changes that no device may make."""
MARKED = (Ecn.MARK_KEPT.value, Ecn.MARK_CLEARED.value)
CAPABLE = (*MARKED, Ecn.CAPABLE.value, Ecn.ERASED.value)
LOST = ((Ecn.MARK_CLEARED, MARKED, "mark_cleared"), (Ecn.ERASED, CAPABLE, "ecn_erased"))
"""What may not become of the ECN field, of which packets it could, and the finding."""
Seen = tuple[dict[str, Any], int, frozenset[str]]
"""A change between two points, packets seen at both, and the devices that lie between."""
Evidence = Callable[[dict[str, Any], frozenset[str]], dict[str, Any]]
SHARE = 64
"""One packet in so many must show a break of the rules: two packets may be taken for one."""
MINIMA, SENDERS, DELAYS = 32, 2, 16
"""Tags that name a port with the smallest value, senders of those, and their tags of max(PD)."""
FEW_MINIMA = 4
"""Tags of each sender."""
RATIO = 1.0
MOST_NAMED = 8
"""Senders that evidence names."""


def rules(scene: Scene) -> Iterator[Found]:
    """All findings about devices that break the rules."""
    for change, finding in BROKEN.items():
        yield from broken(scene, change, finding)
    yield from foreign(scene)
    yield from unknown(scene)
    yield from impossible(scene)
    yield from constant(scene)
    yield from unauthorised(scene)
    yield from taken_off(scene)


def broken(scene: Scene, change: Change, finding: str) -> Iterator[Found]:
    """What no device may do to a tag, seen at two points."""
    pairs = pairs_with(scene, pl.col("change") == change.value)
    yield from between(scene, pairs, finding, evidence_of)


def taken_off(scene: Scene) -> Iterator[Found]:
    """What no device may do to the ECN field, seen at two points."""
    for kind, of, finding in LOST:
        pairs = pairs_with(scene, pl.col("ecn") == kind.value, pl.col("ecn").is_in(of))
        yield from between(scene, pairs, finding, points_of)


def between(
    scene: Scene,
    pairs: Iterable[tuple[dict[str, Any], int]],
    finding: str,
    evidence: Evidence,
) -> Iterator[Found]:
    """Findings about the devices between the points of pairs (`pairs_with`)."""
    seen = [
        (row, both, scene.places.between(row["before"], row["point"], row["hops"]))
        for row, both in pairs
    ]
    yield from accused(finding, seen, evidence)


def accused(finding: str, seen: list[Seen], evidence: Evidence) -> Iterator[Found]:
    """Findings about the devices between two points; of one alone where it explains all."""
    solid = [each for each in seen if enough(each[0]["n"], each[1])]
    one = narrowed(way for _, _, way in seen)
    one = one if len(one) == 1 else narrowed(way for _, _, way in solid)
    mine = [each for each in seen if len(one) == 1 and one <= each[2]]
    if mine:
        count, both = sum(row["n"] for row, _, _ in mine), sum(both for _, both, _ in mine)
        told = evidence(mine[0][0], one) | {"frames": count, "seen_twice": both}
        verdict = YES if enough(count, both) else CANNOT_TELL
        yield Found("device", min(one), finding, verdict, count, told)
    for row, both, way in seen:
        if (row, both, way) in mine:
            continue
        kind, subject = about(way, row["before"], row["point"])
        verdict = YES if enough(row["n"], both) else CANNOT_TELL
        told = evidence(row, way) | {"frames": row["n"], "seen_twice": both}
        yield Found(kind, subject, finding, verdict, row["n"], told)


def enough(count: int, both: int) -> bool:
    """Whether so many packets of all that both points saw are no mistake."""
    return count >= FEW and count * SHARE >= both


def evidence_of(row: dict[str, Any], devices: frozenset[str]) -> dict[str, Any]:
    """The tag and the points of a change, and the devices that may have made it."""
    return points_of(row, devices) | {
        "variant": row["variant"], "type": row["t"], "lm": row["lm"],
        "lm_before": row["before_lm"],
    }  # fmt: skip


def points_of(row: dict[str, Any], devices: frozenset[str]) -> dict[str, Any]:
    """The points of a change, and the devices that may have made it."""
    return {"between": path(row["before"], row["point"]), "devices": devices, **first_of(row)}


def foreign(scene: Scene) -> Iterator[Found]:
    """Locators that were written between two points where no port has them."""
    if scene.changes.is_empty():
        return
    key = ["before", "point", "hops", "variant", "t", "lm"]
    replaced = pl.col("change") == Change.REPLACED.value
    now = scene.changes.filter(replaced)[[*key]].unique()
    rows = scene.changed.filter(replaced).join(now, on=key, how="semi", maintain_order="left")
    places = scene.places
    both = {
        tuple(k): n for *k, n in scene.changed.group_by("before", "point", "hops").agg(
            pl.col("n").sum()
        ).iter_rows()
    }  # fmt: skip
    merged: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        segment = (row["before"], row["point"], row["hops"])
        tag = (row["variant"], row["t"], row["lm"])
        if tag in places.locators and places.writable(*segment, tag) is False:
            known = merged.setdefault(segment, {**row, "n": 0})
            known["n"] += row["n"]
    seen = [
        (row, both[segment], places.between(*segment)) for segment, row in sorted(merged.items())
    ]
    yield from accused("foreign_locator", seen, evidence_of)


def unknown(scene: Scene) -> Iterator[Found]:
    """Locators of replaced signals that no port has."""
    places = scene.places
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    touched = scene.paths.filter(pl.col("touched"))
    tags = [
        tag for tag in touched[["variant", "t", "lm"]].unique().iter_rows()
        if tag[:2] in places.complete and tag not in places.locators
    ]  # fmt: skip
    for row in of_tags(touched, tags).iter_rows(named=True):
        found.setdefault((row["variant"], row["lm"]), []).append(row)
    for (variant, lm), rows in sorted(found.items()):
        count = sum(row["n"] for row in rows)
        ways = [places.on_the_way(row["src"], row["dst"]) for row in rows]
        devices = narrowed([*ways, *written(scene, variant, lm)]) or narrowed(ways)
        kind, subject = about(devices, rows[0]["src"], rows[0]["dst"])
        told = {"frames": count, "variant": variant, "lm": lm, "devices": devices,
                "types": sorted({row["t"] for row in rows}), **first_of(rows[0])}  # fmt: skip
        yield Found(kind, subject, "unknown_locator", sure(count), count, told)


def written(scene: Scene, variant: int, lm: int) -> Iterator[frozenset[str]]:
    """Devices between two points of which the later one alone saw a locator."""
    if scene.changed.is_empty():
        return
    rows = scene.changed.filter(
        pl.col("change") == Change.REPLACED.value, pl.col("n") >= FEW, variant=variant, lm=lm
    )
    for way in rows[["before", "point", "hops"]].unique(maintain_order=True).iter_rows():
        yield scene.places.between(*way)


def of_tags(rows: pl.DataFrame, tags: Sequence[Tag]) -> pl.DataFrame:
    """The rows with one of some tags, in their order."""
    key = ["variant", "t", "lm"]
    wanted = pl.DataFrame(tags, schema={name: rows.schema[name] for name in key}, orient="row")
    return rows.join(wanted, on=key, how="semi", maintain_order="left")


def impossible(scene: Scene) -> Iterator[Found]:
    """Values above the capacity of every port that the locator names."""
    places = scene.places
    touched = scene.paths.filter(pl.col("touched") & (pl.col("t") != DELAY))
    largest = pl.col("most").max().alias("most")
    tags = [
        (variant, t, lm)
        for variant, t, lm, most in touched.group_by("variant", "t", "lm").agg(largest).iter_rows()
        if most is not None and most > limit(places, variant, t, lm)
    ]  # fmt: skip
    for row in of_tags(touched, tags).iter_rows(named=True):
        tag = (row["variant"], row["t"], row["lm"])
        if row["most"] is None or row["most"] <= limit(places, *tag):
            continue
        told = {"frames": row["n"], "value": row["most"], "capacity_bps": places.fastest_bps(tag),
                "type": row["t"], "lm": row["lm"], **first_of(row)}  # fmt: skip
        subject = port_or_locator(places, tag)
        yield Found(*subject, "impossible_value", sure(row["n"]), row["n"], told)


def limit(places: Places, variant: int, t: int, lm: int) -> float:
    """The largest value that a tag can have; none is too large where no port is named."""
    capacity = places.fastest_bps((variant, t, lm))
    if capacity is None:
        return inf
    return capacity if t == ABW else RATIO


def constant(scene: Scene) -> Iterator[Found]:
    """Ports that never report anything but the minimum; accused where queues contradict it."""
    if scene.ports.is_empty():
        return
    named: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in scene.ports.iter_rows(named=True):
        tag = (row["variant"], row["t"], row["lm"])
        if tag in scene.places.locators:
            named.setdefault(port_or_locator(scene.places, tag), []).append(row)
    for (kind, subject), rows in sorted(named.items()):
        count = sum(row["n"] for row in rows)
        if count < MINIMA or any(row["low_n"] != row["n"] for row in rows):
            continue
        free = [
            row["src"] or row["sender"] for row in rows
            if row["n"] >= FEW_MINIMA and (row["quiet_n"] or 0) * 2 >= (row["pd_n"] or 1)
        ]  # fmt: skip
        delays = sum(row["pd_n"] or 0 for row in rows)
        quiet = sum(row["quiet_n"] or 0 for row in rows)
        proof = len({*free}) >= SENDERS and delays >= DELAYS and quiet * 2 >= delays
        told = {"frames": count, "senders": sorted({*free})[:MOST_NAMED],
                "delays": delays, "without_queue": quiet, **first_of(rows[0])}  # fmt: skip
        verdict = YES if proof else CANNOT_TELL
        yield Found(kind, subject, "constant_minimum", verdict, count, told)


def unauthorised(scene: Scene) -> Iterator[Found]:
    """Hosts that tag and may not."""
    if scene.may_tag is None or scene.sights.is_empty():
        return
    networks = [ip_network(prefix) for prefix in scene.may_tag]
    tagged = scene.sights.filter((pl.col("variant") > 0) & (pl.col("point") == pl.col("src")))
    for (sender,), rows in tagged.group_by("sender", maintain_order=True):
        address = ip_address(str(sender))
        if any(address in network for network in networks):
            continue
        count, row = int(rows["n"].sum()), rows.row(0, named=True)
        told = {"frames": count, "at": row["point"], **first_of(row)}
        yield Found("host", str(sender), "unauthorised_host", sure(count), count, told)
