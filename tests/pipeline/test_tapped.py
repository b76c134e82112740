"""Taps along the way: which path a flow took, and on which side of them its marks were made."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Topology, verdicts
from pipeline.interface import Point
from pipeline.tapped import sending_into, tapped

FlowsOf = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
RowsOf = Callable[[str, Iterable[Mapping[str, Any]]], pl.DataFrame]
UP, DOWN, LAST = (1, 1), (2, 1), (3, 3)
"""Egress ports from leaf1's host to leaf2's, in order."""
FRAMES = 1_000
Marks = Mapping[str, int | tuple[int, int]]


@pytest.fixture
def line(chain_of: Callable[..., Topology]) -> Topology:
    return chain_of("leaf1", "spine1", "leaf2")


@pytest.fixture
def judged(flows_of: FlowsOf, rows_of: RowsOf) -> Callable[..., dict[str, Any]]:
    def judge(topology: Topology, marks: Marks, echoed: int = 0) -> dict[str, Any]:
        """The verdict where taps saw so many of `FRAMES` marked, and so many were echoed.

        Of a tap that saw fewer frames both numbers are told.
        """
        flows = flows_of([{}])
        flow = {"time_ns": 0, "interval_ns": 100_000_000, "flow": flows["flow"].item()}
        rows: list[dict[str, Any]] = []
        for point, number in marks.items():
            count, frames = number if isinstance(number, tuple) else (number, FRAMES)
            seen = {"frames": frames, "bytes": frames * 1_054, "data_bytes": frames * 1_000,
                    "data_frames": frames, "slices": (1 << 32) - 1}  # fmt: skip
            rows.append({**flow, **seen, "point": point, "ce_frames": count})
        rows[0] |= {"acks": FRAMES, "acked_bytes": FRAMES * 1_000, "marked_bytes": echoed * 1_000}
        told, none = rows_of("flow_intervals", rows), rows_of("hop_intervals", [])
        return verdicts(flows, told, none, topology, PipelineSettings()).row(0, named=True)

    return judge


def hops_of(verdict: Mapping[str, Any]) -> dict[tuple[int, int], float]:
    """Probabilities of the hops that marks point at."""
    told = [each for each in json.loads(verdict["candidates"]) if each["signal"] == "ecn"]
    return {(each["node"], each["port"]): each["probability"] for each in told}


def narrowing(line: Topology) -> Topology:
    """The line whose ports towards the receiver are slower, one after the other."""
    times = {(1, 3): 4, UP: 3, DOWN: 2, LAST: 1}
    ports = (replace(port, capacity_bps=port.capacity_bps * times.get(port.hop, 4))
             for port in line.interfaces)  # fmt: skip
    return replace(line, interfaces=tuple(ports))


@pytest.mark.parametrize(
    ("point", "side", "hops"),
    [
        ("leaf1:on", "", (UP, (2, 2))),
        ("leaf1:on", "egress", (UP,)),
        ("leaf1:on", "ingress", ((2, 2),)),
        ("leaf2:host", "", (LAST,)),
        ("leaf2:host", "ingress", ()),
        ("leaf9:on", "", ()),
        ("edge.pcap", "", ()),
    ],
)
def test_a_tap_sees_what_the_ports_at_its_link_send(
    line: Topology, point: str, side: str, hops: tuple[tuple[int, int], ...]
) -> None:
    device, _, interface = point.partition(":")
    told = (Point(point, device, interface, side),) if side else ()
    assert sending_into(replace(line, points=told), point) == hops
    named = Point("tap 7", device, interface, side or "")
    assert sending_into(replace(line, points=(named,)), "tap 7") == hops


@pytest.mark.parametrize(
    ("marks", "echoed", "left"),
    [
        ({"leaf1:host": 0, "leaf1:on": 300}, 300, {UP}),
        ({"leaf1:host": 0, "leaf1:on": 0}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": 0, "leaf2:host": 300}, 300, {DOWN, LAST}),
        ({"leaf1:on": 300}, 1000, {UP, DOWN, LAST}),
        ({"leaf1:on": 300, "spine1:on": 300}, 1000, {UP, DOWN, LAST}),
        ({"leaf1:on": 300, "leaf2:host": 310}, 1000, {UP}),
        ({"leaf1:on": 300}, 0, {UP, DOWN, LAST}),
        ({"leaf1:on": 300}, 100, {UP, DOWN, LAST}),
        ({"spine1:on": 300}, 300, {UP, DOWN}),
        ({"spine1:on": 300, "leaf1:on": 2}, 300, {DOWN}),
        ({"leaf1:on": 0, "spine1:on": 0}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": 0, "spine1:on": 0, "leaf2:host": 300}, 300, {LAST}),
        ({"spine1:on": 0, "leaf1:on": 300}, 0, {UP, DOWN, LAST}),
        ({"leaf2:host": 0, "leaf1:on": 300}, 0, {UP}),
        ({"leaf2:host": 300}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": 150}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": 1}, 3, {UP, DOWN, LAST}),
        ({"elsewhere": 300}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": (0, 10), "leaf2:host": 300}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": (3, 10), "leaf2:host": 300}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": (0, 100), "leaf2:host": 300}, 300, {DOWN, LAST}),
        ({"leaf1:on": (30, 100), "leaf2:host": 300}, 300, {UP, DOWN, LAST}),
        ({"leaf1:on": (120, 400), "leaf2:host": 300}, 300, {UP}),
    ],
    ids=["before the tap", "echoes alone", "behind it", "more echoes", "more echoes of two",
         "no more at the end", "no echo", "few echoes", "up to the second", "between two",
         "echoes behind two", "behind two",
         "taken off or late", "taken off at the end", "at the end", "half of them", "few",
         "at no port", "a few unmarked frames", "a few frames", "a sample of unmarked ones",
         "a small sample", "a sample"],
)  # fmt: skip
def test_marks_are_made_on_one_side_of_a_tap(
    judged: Callable[..., dict[str, Any]],
    line: Topology,
    marks: Marks,
    echoed: int,
    left: set[tuple[int, int]],
) -> None:
    """Each port is slower than the one before, so that each may be the one that is full."""
    assert set(hops_of(judged(narrowing(line), marks, echoed))) == left


def test_a_tap_is_right_where_nothing_that_was_seen_feeds_a_hop(
    judged: Callable[..., dict[str, Any]], line: Topology
) -> None:
    """Ports are equally fast: one flow alone fills the first, unless others come unseen."""
    assert set(hops_of(judged(line, {"leaf1:on": 300, "leaf2:host": 300}, 300))) == {UP}
    assert set(hops_of(judged(line, {"leaf1:on": 0, "leaf2:host": 300}, 300))) == {DOWN, LAST}
    marks = {"leaf1:on": 0, "spine1:on": 0, "leaf2:host": 300}
    assert set(hops_of(judged(line, marks, 300))) == {LAST}


def test_a_tap_tells_which_of_several_paths_a_flow_took(
    judged: Callable[..., dict[str, Any]], line: Topology, rows_of: RowsOf
) -> None:
    one = narrowing(line)
    second = [
        replace(port, name=f"{port.name}2", port_id=port.port_id + 10,
                peer_interface=f"{port.peer_interface}2")
        for port in one.interfaces if port.orientation != "host"
    ]  # fmt: skip
    both = replace(one, interfaces=(*one.interfaces, *second))
    assert len(hops_of(judged(both, {"leaf2:host": 300}, 300))) == 5
    marks = {"leaf1:on2": 0, "leaf2:host": 300}
    assert set(hops_of(judged(both, marks, 300))) == {DOWN, (2, 11), LAST}
    marks = {"leaf1:on2": 1, "spine1:on2": 300, "leaf2:host": 300}
    assert set(hops_of(judged(both, marks, 300))) == {(2, 11)}
    sprayed = hops_of(judged(both, {"leaf1:on2": (0, 500), "leaf2:host": 300}, 300))
    assert len(sprayed) == 5, "half of the flow went elsewhere"
    seen = rows_of("flow_intervals", [{"time_ns": 0, "flow": 1, "point": "spine1:on2"}])
    assert tapped(seen, both).is_empty(), "only data tells of a path"
    assert tapped(seen, None).is_empty()
