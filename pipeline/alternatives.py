"""Ways between two ends and how loaded each is: what a flow could be moved to.

All shortest ways of the topology are told, link by link; a way is as good as its worst link.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from math import inf
from typing import Any

import polars as pl

from pipeline.completeness import completeness_of_all

MOST_WAYS = 64
"""Ways that are told; how many more there are is counted."""
MOST_STEPS = 100_000
"""Links that are looked at for the best ways."""
Hop = tuple[int, int]
Row = Mapping[str, Any]
LOADS = {"u_p90": "max", "abw_p10_bps": "min", "delay_p99_ns": "max"}
"""What a link is judged by over the classes and cells of a window, and what counts of several."""
TOLD = ("u_p90", "abw_p10_bps", "delay_p99_ns", "completeness")
"""What is told of a link; `completeness` is the share of frames sent that telemetry covers."""


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

    def ways(
        self, source: str, target: str, loads: Mapping[Hop, Row], last: Sequence[Row] = ()
    ) -> tuple[list[list[Row]], int]:
        """The `MOST_WAYS` best of the shortest ways between devices, and how many ways there are.

        Each goes on over the ports `last`. Of more than `MOST_STEPS` links looked at the best found
        until then are told.
        """
        distance = self.distances(target)
        if source not in distance:
            return [], 0
        count = {target: 1}
        for device in sorted(distance, key=lambda name: distance[name]):
            if device != target:
                count[device] = sum(
                    count[row["peer_device"]] for row in self._nearer(device, distance)
                )
        best = self._best(source, target, distance, loads, last)
        return list(islice(best, MOST_WAYS)), count[source]

    def _best(
        self, source: str, target: str, distance: Mapping[str, int], loads: Mapping[Hop, Row],
        last: Sequence[Row],
    ) -> Iterator[list[Row]]:  # fmt: skip
        """Ways, the best first: a beginning is never worth less than what it is part of."""
        border: list[tuple[Any, str, list[Row]]] = [((), source, [])]
        steps = 0
        while border:
            _, device, way = heappop(border)
            if not device:
                yield way
                continue
            if device == target:
                whole = [*way, *last]
                heappush(border, (_worth(_told(whole, loads), whole), "", whole))
            nearer = self._nearer(device, distance) if steps < MOST_STEPS else ()
            for row in nearer:
                steps += 1
                on = [*way, row]
                bound = _bound(_told(on, loads), on)
                heappush(border, (bound, row["peer_device"], on))

    def _nearer(self, device: str, distance: Mapping[str, int]) -> Iterator[Row]:
        for row in self.links.get(device, ()):
            if distance.get(row["peer_device"], -1) == distance[device] - 1:
                yield row


def loads_of(links: pl.DataFrame, dscp: int | None = None) -> dict[Hop, Row]:
    """The load of each link (the answer of `te_links`), of one class, or the worst of all."""
    own = links if dscp is None else links.filter(dscp=dscp)
    rows = own.group_by("node", "port").agg(
        *(getattr(pl.col(name), how)() for name, how in LOADS.items()), completeness_of_all()
    )
    return {(row["node"], row["port"]): row for row in rows.iter_rows(named=True)}


def ranked(ways: list[list[Row]], loads: Mapping[Hop, Row]) -> list[dict[str, Any]]:
    """The ways with what each is worth, the best first: least U, most bandwidth, shortest delay.

    A way of which no link was measured comes last; `links_measured` says how many were. A way is as
    completely seen as that of its links of which least is.
    """
    made = sorted(
        ({**_told(way, loads), "links": [_link(row, loads) for row in way]} for way in ways),
        key=lambda way: _worth(way, way["links"]),
    )
    return [{"rank": rank, **way} for rank, way in enumerate(made, start=1)]


def taken(
    ways: Sequence[Collection[int]], seen: Collection[frozenset[int]]
) -> list[set[frozenset[int]]]:
    """Which of `seen`, the hops that flows crossed in an interval each, tell of each way.

    The flow took a way if all that was seen of it lies there. A flow that changed its path was seen
    on several: on those that explain all of it together, none of which lies within what another
    explains, and of which it was seen at each hop that tells of itself at all.
    """
    own = [frozenset(way) for way in ways]
    telling = frozenset().union(*seen)
    found: list[set[frozenset[int]]] = [set() for _ in own]
    for hops in seen:
        parts = [hops & way for way in own]
        if not hops or hops != frozenset().union(*parts):
            continue
        for took, way, part in zip(found, own, parts, strict=True):
            if part == hops or (part == way & telling and not any(part < each for each in parts)):
                took.add(hops)
    return found


def by_class(alternatives: Sequence[Row], links: pl.DataFrame) -> list[dict[str, Any]]:
    """The same ways ranked by each class alone: of each its `rank` over all classes as `way`."""
    ways = [way["links"] for way in alternatives]
    known = {(link["node"], link["port"]) for way in ways for link in way}
    made = []
    for dscp, rows in links.partition_by("dscp", as_dict=True, maintain_order=False).items():
        loads = loads_of(rows)
        if known.isdisjoint(loads):
            continue
        told = [{"way": way["rank"], **_told(way["links"], loads)} for way in alternatives]
        places = sorted(range(len(ways)), key=lambda at: _worth(told[at], ways[at]))
        made.append({"dscp": dscp[0], "alternatives": [told[at] for at in places]})
    return sorted(made, key=lambda each: int(each["dscp"]))


def _told(way: Sequence[Row], loads: Mapping[Hop, Row]) -> dict[str, Any]:
    """What a way is worth by the worst of its links."""
    links = [load for row in way if (load := loads.get((row["node"], row["port"])))]
    known = {name: [row[name] for row in links if row[name] is not None] for name in TOLD}
    worst: dict[str, Any] = {
        name: (max if LOADS.get(name) == "max" else min)(known[name], default=None) for name in TOLD
    }
    delays, measured = known["delay_p99_ns"], len(known["u_p90"])
    whole = sum(delays) if delays else None
    return {**worst, "delay_sum_p99_ns": whole, "links_measured": measured}


def _worth(told: Row, way: Sequence[Row]) -> tuple[Any, ...]:
    """What ways are sorted by."""
    u, bandwidth, delay = told["u_p90"], told["abw_p10_bps"], told["delay_p99_ns"]
    return (
        u is None, u or 0.0, bandwidth is None, -(bandwidth or 0.0), delay is None, delay or 0.0,
        [(link["device"], link["interface"]) for link in way],
    )  # fmt: skip


def _bound(told: Row, way: Sequence[Row]) -> tuple[Any, ...]:
    """What any way that begins so is worth at best: what was not measured yet may be nothing."""
    u, bandwidth, delay = told["u_p90"], told["abw_p10_bps"], told["delay_p99_ns"]
    return (
        False, 0.0 if u is None else u, False, -inf if bandwidth is None else -bandwidth, False,
        0.0 if delay is None else delay, [(link["device"], link["interface"]) for link in way],
    )  # fmt: skip


def _link(row: Row, loads: Mapping[Hop, Row]) -> dict[str, Any]:
    """A link as answers show it."""
    names = ("node", "port", "device", "interface", "peer_device", "capacity_bps")
    load = loads.get((row["node"], row["port"]))
    return {name: row[name] for name in names} | {
        name: load[name] if load else None for name in TOLD
    }
