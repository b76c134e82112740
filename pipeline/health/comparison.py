"""Comparison: ports whose tags promise what INT or marks of the same port rule out; and clocks."""

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from pipeline.health.coverage import ENOUGH
from pipeline.health.finding import CANNOT_TELL, YES
from pipeline.health.found import Found, first_of
from pipeline.health.occupancy import BARE
from pipeline.health.place import path
from pipeline.health.scene import Scene

FEW_STRETCHES = 3
LACKING = "byte counters with times, utilisation, queue, or delay beside the port's base delay"
"""What of a port a stack would have to tell."""
MOST_AGREE = 0.75
"""Share of the stretches that decide which must contradict."""


def under_reporting(scene: Scene) -> Iterator[Found]:
    """Ports that promise too much: those of devices that name themselves, and those that do not."""
    if scene.against.is_empty():
        return
    now = scene.beside["port"].unique() if scene.beside.height else pl.Series([], dtype=pl.String)
    speaking = names(scene)
    yield from silent(scene, speaking)
    yield from bare(scene)
    for row in scene.against.filter(pl.col("port").is_in(now.implode())).iter_rows(named=True):
        decided, wrong = row["n"], row["low_n"]
        if wrong < FEW_STRETCHES or wrong < MOST_AGREE * decided:
            continue
        device = scene.places.ports[row["port"]].device
        finding = "under_reporting" if device in speaking else "pass_through"
        told = {"contradicted": wrong, "decided": decided, "by": row["by"], "port": row["port"],
                "named_itself": speaking.get(device, 0), **first_of(row)}  # fmt: skip
        yield Found("device", device, finding, YES, wrong, told)


def silent(scene: Scene, speaking: dict[str, int]) -> Iterator[Found]:
    """Devices that no tag names, with ports that INT shows full: which tags cross is not known."""
    if "silent_n" not in scene.against.columns or scene.beside.is_empty():
        return
    now = scene.beside["port"].unique().implode()
    told: dict[str, dict[str, Any]] = {}
    rows = scene.against.filter(
        pl.col("port").is_in(now), pl.col("n") == 0, pl.col("silent_n") >= FEW_STRETCHES
    )
    for row in rows.iter_rows(named=True):
        # A port of an earlier topology is none of the one in force.
        if (port := scene.places.ports.get(row["port"])) is not None:
            told.setdefault(port.device, row)
    tags = crossing(scene, told.keys() - speaking.keys())
    for device, row in told.items():
        if tags.get(device, 0) >= ENOUGH:
            evidence = {"full": row["silent_n"], "decided": 0, "by": row["by"],
                        "port": row["port"], "tags": tags[device], **first_of(row)}  # fmt: skip
            count = row["silent_n"]
            yield Found("device", device, "pass_through", CANNOT_TELL, count, evidence)


def bare(scene: Scene) -> Iterator[Found]:
    """Devices that tags may cross and whose stacks tell nothing of how full any port is."""
    if "bare_n" not in scene.against.columns or scene.beside.is_empty():
        return
    told = scene.against.filter(pl.col("by") != BARE)["port"].implode()
    now = scene.beside.filter(pl.col("by") == BARE)["port"].unique().implode()
    named: dict[str, dict[str, Any]] = {}
    lacking = pl.col("port").is_in(now) & ~pl.col("port").is_in(told)
    for row in scene.against.filter(lacking & (pl.col("bare_n") >= ENOUGH)).iter_rows(named=True):
        if (port := scene.places.ports.get(row["port"])) is not None:
            named.setdefault(port.device, row)
    tags = crossing(scene, named.keys())
    for device, row in named.items():
        if tags[device] >= ENOUGH:
            evidence = {"stacks": row["bare_n"], "lacking": LACKING, "port": row["port"],
                        "tags": tags[device], **first_of(row)}  # fmt: skip
            yield Found("device", device, "under_reporting", CANNOT_TELL, row["bare_n"], evidence)


def crossing(scene: Scene, devices: Iterable[str]) -> dict[str, int]:
    """Tags that arrived on ways that may lead by some devices."""
    wanted, counts = frozenset(devices), dict.fromkeys(devices, 0)
    arrived = scene.paths.filter(pl.col("variant") > 0, pl.col("point") == pl.col("dst"))
    if not wanted or arrived.is_empty():
        return counts
    for start, end, n in arrived.group_by("src", "dst").agg(pl.col("n").sum()).iter_rows():
        for device in wanted & scene.places.on_the_way(start, end):
            counts[device] += n
    return counts


def names(scene: Scene) -> dict[str, int]:
    """Tags that name each device."""
    counts: dict[str, int] = {}
    touched = scene.paths.filter(pl.col("touched"))
    for *tag, n in touched.select("variant", "t", "lm", "n").iter_rows():
        device = scene.places.device_of((tag[0], tag[1], tag[2]))
        if device:
            counts[device] = counts.get(device, 0) + n
    return counts


def clocks(scene: Scene) -> Iterator[Found]:
    """Pairs of points whose clocks cannot agree.

    The smallest transit one way bounds the offset from above, that of the other way from below.
    """
    if scene.changes.is_empty():
        return
    smallest = scene.changes.group_by("before", "point").agg(
        pl.col("least").min(), pl.col("n").sum(), *(pl.col(name).first() for name in FRAMES)
    )
    ways = {(row["before"], row["point"]): row for row in smallest.iter_rows(named=True)}
    for (start, end), there in sorted(ways.items()):
        back = ways.get((end, start))
        if back is not None and start > end:
            continue
        least, most = (None if back is None else -back["least"]), there["least"]
        if most >= 0 and (least is None or least <= 0):
            continue
        told = {"frames": there["n"], "most_ns": most, "least_ns": least, **first_of(there)}
        if back is not None:
            told["offset_ns"] = (most - back["least"]) // 2
            told["bound_ns"] = (most + back["least"] + 1) // 2
            told["frames_back"] = back["n"]
        impossible = back is not None and most + back["least"] < 0
        verdict = CANNOT_TELL if impossible else YES
        yield Found("path", path(start, end), "clock_offset", verdict, there["n"], told)


FRAMES = ("seen_ns", "source", "frame", "before_source", "before_frame")
