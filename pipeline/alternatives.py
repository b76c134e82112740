"""Ways between two ends and how loaded each is: what a flow could be moved to.

All shortest ways of the topology are told, link by link; a way is as good as its worst link.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

MOST_WAYS = 64
"""Ways that are told; how many more there are is counted."""
Hop = tuple[int, int]
Row = Mapping[str, Any]
LOADS = {"u_p90": "max", "abw_p10_bps": "min", "delay_p99_ns": "max"}
"""What a link is judged by over the classes and cells of a window, and what counts of several."""


@dataclass(frozen=True)
class Fabric:
    """The links of a topology: rows of the table `hops` that are in force."""

    hops: pl.DataFrame

    @cached_property
    def links(self) -> dict[str, list[Row]]:
        """Links from each device to other devices, by interface."""
        found: dict[str, list[Row]] = {name: [] for name in self.hops["device"].unique().sort()}
        for row in self.hops.sort("device", "interface").iter_rows(named=True):
            if row["peer_interface"]:
                found[row["device"]].append(row)
        return found

    def last(self, device: str, interface: str) -> Sequence[Row]:
        """The port to a host, as it stands in the topology."""
        own = (pl.col("device") == device) & (pl.col("interface") == interface)
        return self.hops.filter(own).to_dicts()

    def distances(self, target: str) -> dict[str, int]:
        """Links from each device to `target`, of devices that it can be reached from."""
        towards: dict[str, list[str]] = {}
        for device, rows in self.links.items():
            for row in rows:
                towards.setdefault(row["peer_device"], []).append(device)
        distance, border = {target: 0}, [target]
        for device in border:
            for other in towards.get(device, ()):
                if other not in distance:
                    distance[other] = distance[device] + 1
                    border.append(other)
        return distance

    def ways(self, source: str, target: str) -> tuple[list[list[Row]], int]:
        """The first `MOST_WAYS` shortest ways between devices, and how many there are."""
        distance = self.distances(target)
        if source not in distance:
            return [], 0
        count = {target: 1}
        for device in sorted(distance, key=lambda name: distance[name]):
            if device != target:
                count[device] = sum(
                    count[row["peer_device"]] for row in self._nearer(device, distance)
                )
        found = []
        for way in self._walk(source, target, distance):
            found.append(way)
            if len(found) == MOST_WAYS:
                break
        return found, count[source]

    def _nearer(self, device: str, distance: Mapping[str, int]) -> Iterator[Row]:
        for row in self.links.get(device, ()):
            if distance.get(row["peer_device"], -1) == distance[device] - 1:
                yield row

    def _walk(self, device: str, target: str, distance: Mapping[str, int]) -> Iterator[list[Row]]:
        if device == target:
            yield []
            return
        for row in self._nearer(device, distance):
            for rest in self._walk(row["peer_device"], target, distance):
                yield [row, *rest]


def loads_of(links: pl.DataFrame) -> dict[Hop, Row]:
    """The load of each link, the worst of its classes and cells (the answer of `te_links`)."""
    rows = links.group_by("node", "port").agg(
        getattr(pl.col(name), how)() for name, how in LOADS.items()
    )
    return {(row["node"], row["port"]): row for row in rows.iter_rows(named=True)}


def ranked(ways: list[list[Row]], loads: Mapping[Hop, Row]) -> list[dict[str, Any]]:
    """The ways with what each is worth, the best first: least U, most bandwidth, shortest delay.

    A way of which no link was measured comes last; `links_measured` says how many were.
    """
    made = []
    for way in ways:
        told = [{**_link(row), **_load(loads.get((row["node"], row["port"])))} for row in way]
        worst: dict[str, Any] = {}
        for name, how in LOADS.items():
            known = [link[name] for link in told if link[name] is not None]
            worst[name] = (max if how == "max" else min)(known, default=None)
        delays = [link["delay_p99_ns"] for link in told if link["delay_p99_ns"] is not None]
        worst["delay_sum_p99_ns"] = sum(delays) if delays else None
        measured = sum(link["u_p90"] is not None for link in told)
        made.append({**worst, "links_measured": measured, "links": told})
    made.sort(key=_worth)
    return [{"rank": rank, **way} for rank, way in enumerate(made, start=1)]


def _worth(way: Row) -> tuple[Any, ...]:
    """What ways are sorted by."""
    u, bandwidth, delay = way["u_p90"], way["abw_p10_bps"], way["delay_p99_ns"]
    return (
        u is None, u or 0.0, bandwidth is None, -(bandwidth or 0.0), delay is None, delay or 0.0,
        [(link["device"], link["interface"]) for link in way["links"]],
    )  # fmt: skip


def _link(row: Row) -> dict[str, Any]:
    names = ("node", "port", "device", "interface", "peer_device", "capacity_bps")
    return {name: row[name] for name in names}


def _load(row: Row | None) -> dict[str, Any]:
    return {name: row[name] if row else None for name in LOADS}
