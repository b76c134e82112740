"""Rules of CSIG: what no device may do is found at two points, and nothing else is."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collector import Repeats
from pipeline import PipelineSettings, Topology, Versions, Worker
from pipeline.group_state import SKIPPED, Kept, octets_of, restore
from pipeline.health import TABLE
from pipeline.state_codec import StateReader, StateWriter
from tests.pipeline.health_rows import (
    ABW,
    COMPACT,
    DELAY,
    END,
    GAP_NS,
    START,
    UTILIZATION,
    crossing,
    said,
    sight,
    tag,
    watched,
)

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
Chain = Callable[..., Topology]
FIRST, ON, LAST = 3, 1, 7
"""Compact locators: one's port to its host, one's to two, two's to its host."""
SENT = tag(31, 0)
WORSE = tag(4, ON)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        (SENT, WORSE, None),
        (WORSE, WORSE, None),
        (tag(0, 0, DELAY), tag(9, LAST, DELAY), None),
        (SENT, SENT, None),
        (WORSE, tag(4, LAST), "locator_without_signal"),
        (WORSE, tag(5, ON), "against_aggregation"),
        (tag(9, ON, DELAY), tag(8, LAST, DELAY), "against_aggregation"),
        (WORSE, tag(4, ON, UTILIZATION), "type_changed"),
        ({}, WORSE, "tag_inserted"),
        (SENT, tag(4, FIRST), "locator_elsewhere"),
    ],
)
def test_one_packet_at_two_points(
    observed: Observed, chain_of: Chain, before: Any, after: Any, finding: str | None
) -> None:
    rows = observed([row for n in range(100) for row in crossing(n, before, after)])
    found = said(watched(rows, chain_of("one", "two")))
    accusations = {name for name, _, verdict in found if verdict == "yes"} - {"stripped"}
    # Both devices lie between: a port of either may have written its own locator.
    expected = set() if finding in (None, "locator_elsewhere") else {finding}
    assert accusations == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [(2, 2, None), (2, 3, None), (3, 3, None), (0, 0, None), (0, 3, None), (1, 2, None),
     (3, 2, "mark_cleared"), (3, 1, "mark_cleared"), (3, 0, "ecn_erased"), (2, 0, "ecn_erased")],
)  # fmt: skip
def test_ecn_at_two_points(
    observed: Observed, chain_of: Chain, before: int, after: int, finding: str | None
) -> None:
    """Among packets that a device may not touch, and of which it does not."""
    rows = [row for n in range(200) for row in crossing(n, {"ecn": 2}, {"ecn": 2})]
    rows += [row for n in range(200, 500, 3) for row in crossing(n, {"ecn": 0}, {"ecn": 0})]
    rows += [
        row for n in range(201, 500, 3) for row in crossing(n, {"ecn": before}, {"ecn": after})
    ]
    found = watched(observed(rows), chain_of("one", "two"))
    assert {name for name, _, verdict in said(found) if verdict == "yes"} == (
        {finding} if finding else set()
    )
    if finding:
        told = json.loads(found.filter(pl.col("finding") == finding)["evidence"][0])
        assert (told["frames"], told["devices"]) == (100, ["one", "two"])
        assert told["seen_twice"] == (100 if finding == "mark_cleared" else 300)
        assert told["first"]["frame"] == 404  # of packet 201


def test_what_is_sent_again_is_not_erased(observed: Observed, chain_of: Chain) -> None:
    """Without numbers of packets: the second sight may be of one that was sent again."""
    rows = [row | {"ip_id": 0} for n in range(200) for row in crossing(n, {"ecn": 2}, {"ecn": 0})]
    assert not said(watched(observed(rows), chain_of("one", "two")))


def test_marks_on_the_outer_header_are_those_of_the_packet(
    observed: Observed, chain_of: Chain
) -> None:
    """The end of a tunnel carries them over (RFC 6040); one that does not takes them off."""
    inside = {"ecn": 2, "outer_ecn": 3}
    for behind, expected in ((3, set()), (2, {"mark_cleared"}), (0, {"ecn_erased"})):
        rows = [row for n in range(200) for row in crossing(n, inside, {"ecn": behind})]
        found = said(watched(observed(rows), chain_of("one", "two")))
        assert {name for name, _, verdict in found if verdict == "yes"} == expected


def test_a_few_packets_are_no_proof(observed: Observed, chain_of: Chain) -> None:
    rows = [row for n in range(7) for row in crossing(n, WORSE, tag(5, ON))]
    rows += [row for n in range(7, 100) for row in crossing(n, SENT, WORSE)]
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("against_aggregation", "one:host > two:host", "cannot_tell")}


def test_packets_that_nothing_tells_apart_are_no_pairs(observed: Observed, chain_of: Chain) -> None:
    """Datagrams of IPv6 have no number: what is seen later may be another one, sent before."""
    nameless = {"protocol": 17, "ip_id": 0, "seq": None, "ack": None, "flags": None}
    rows = [
        sight(n, point, ttl, **tag(4 + n % 2, ON), **nameless)
        | {"time_ns": (n + late) * GAP_NS + late}
        for n in range(200) for point, ttl, late in ((START, 64, 0), (END, 62, 3))
    ]  # fmt: skip
    assert not said(watched(observed(rows), chain_of("one", "two")))
    named = [row | {"ip_id": (row["frame"] + 1) // 2} for row in rows]
    assert not said(watched(observed(named), chain_of("one", "two")))


@pytest.mark.parametrize(("side", "lm"), [("one", 6), ("two", ON)])
def test_a_device_between_two_taps_is_named(
    observed: Observed, chain_of: Chain, side: str, lm: int
) -> None:
    """The middle tap stands on the link, so each pair has one device between."""
    middle = "one:on"
    broken = tag(4, lm)
    rows = []
    for n in range(50):
        own = {"time_ns": n * GAP_NS + 2_000, "frame": 1000 + n}
        rows.append(sight(n, START, 64, **SENT))
        at_link = broken if side == "one" else SENT
        rows.append({**sight(n, middle, 63, **at_link), **own})
        rows.append(sight(n, END, 62, **broken))
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("foreign_locator", side, "yes")}


def test_the_order_of_points_is_that_of_hops_and_not_of_clocks(
    observed: Observed, chain_of: Chain
) -> None:
    """The receiver's tap is 100 us ahead: S still falls along the way."""
    rows = []
    for n in range(50):
        rows.append(sight(n, START, 64, **SENT))
        rows.append({**sight(n, END, 62, **WORSE), "time_ns": n * GAP_NS - 100_000})
    found = watched(observed(rows), chain_of("one", "two"))
    assert said(found) == {("clock_offset", "one:host > two:host", "yes")}
    told = json.loads(found.filter(pl.col("finding") == "clock_offset")["evidence"][0])
    assert told["most_ns"] == -100_000


def test_both_directions_bound_the_offset_of_clocks(observed: Observed, chain_of: Chain) -> None:
    """The receiver's clock is 40 us ahead; transits are 5 us there and 7 us back."""
    ahead, rows = 40_000, []
    for n in range(30):
        rows.append(sight(n, START, 64))
        rows.append({**sight(n, END, 62), "time_ns": n * GAP_NS + 5_000 + ahead})
        back = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000}
        sent = {**sight(n, END, 64, **back), "time_ns": n * GAP_NS + ahead, "frame": 5000 + n}
        rows += [sent, {**sight(n, START, 62, **back), "time_ns": n * GAP_NS + 7_000,
                        "frame": 6000 + n}]  # fmt: skip
    found = watched(observed(rows), chain_of("one", "two"))
    assert said(found) == {("clock_offset", "one:host > two:host", "yes")}
    told = json.loads(found["evidence"][0])
    assert (told["offset_ns"], told["bound_ns"]) == (ahead - 1_000, 6_000)


def test_an_unknown_locator_accuses_the_device_that_all_paths_share(
    observed: Observed, chain_of: Chain
) -> None:
    rows = [row for n in range(50) for row in crossing(n, SENT, tag(4, 99))]
    assert ("unknown_locator", "one:host > two:host", "yes") in said(
        watched(observed(rows), chain_of("one", "two"))
    )
    # Nothing is impossible where the topology names only some ports, or none.
    assert said(watched(observed(rows), None)) == set()


def test_more_bandwidth_than_the_port_has(observed: Observed, chain_of: Chain) -> None:
    rows = [row for n in range(50) for row in crossing(n, SENT, tag(28, LAST))]
    assert said(watched(observed(rows), chain_of("one", "two"))) == {
        ("impossible_value", "two:host", "yes")
    }


@pytest.mark.parametrize(
    ("senders", "delay", "verdict"),
    [(2, 0, "yes"), (1, 0, "cannot_tell"), (2, 31, "cannot_tell")],
)
def test_a_constant_minimum_needs_a_contradiction(
    observed: Observed, chain_of: Chain, senders: int, delay: int, verdict: str
) -> None:
    """One sender may fill a port without a queue, and a queue says that the port is full."""
    rows = []
    for n in range(200):
        told = tag(0, LAST) if n % 4 < 2 else tag(delay, LAST if delay else 0, DELAY)
        before = SENT if n % 4 < 2 else tag(0, 0, DELAY)
        rows += crossing(n, before, told, src=f"10.{1 + 7 * (n % senders)}.0.1")
    known = chain_of("one", "two")
    assert said(watched(observed(rows), known)) <= {("constant_minimum", "two:host", verdict)}


def test_hosts_that_may_not_tag(observed: Observed, chain_of: Chain) -> None:
    rows = observed([row for n in range(50) for row in crossing(n, SENT, WORSE)])
    chain = chain_of("one", "two")
    allowed = PipelineSettings(csig_hosts=("10.1.0.0/24",))
    assert said(watched(rows, chain, allowed)) == set()
    refused = PipelineSettings(csig_hosts=("10.9.0.0/16",))
    assert said(watched(rows, chain, refused)) == {("unauthorised_host", "10.1.0.1", "yes")}


def test_evidence_names_both_frames(observed: Observed, chain_of: Chain) -> None:
    rows = [row for n in range(50) for row in crossing(n, WORSE, tag(5, ON))]
    found = watched(observed(rows), chain_of("one", "two"))
    told = json.loads(found.filter(pl.col("finding") == "against_aggregation")["evidence"][0])
    assert told["first"] == {"frame": 2, "source": "a", "time_ns": 5_000}
    assert told["first_before"] == {"frame": 1, "source": "a"}
    assert (told["frames"], told["seen_twice"]) == (50, 50)
    assert told["devices"] == ["one", "two"]


@given(cuts=st.lists(st.integers(0, 240), max_size=4).map(sorted))
@settings(max_examples=4, deadline=None)
def test_the_same_however_the_input_is_cut(
    observed: Observed, chain_of: Chain, cuts: list[int]
) -> None:
    rows = []
    for n in range(60):
        rows += crossing(n, WORSE if n % 2 else {}, tag(4, LAST) if n % 3 else tag(5, 90))
        rows += crossing(n + 1000, {}, {}, sport=7)
    told = observed(rows)
    short = PipelineSettings(health_ms=0.2)
    chain = chain_of("one", "two")
    assert_frame_equal(watched(told, chain, short, cuts), watched(told, chain, short))


def test_nothing_is_watched_when_the_interval_is_none(observed: Observed, chain_of: Chain) -> None:
    rows = observed([row for n in range(50) for row in crossing(n, WORSE, tag(5, ON))])
    assert watched(rows, chain_of("one", "two"), PipelineSettings(health_ms=0)).is_empty()


def test_variants_are_compact_or_expanded() -> None:
    assert COMPACT == 1
    assert ABW == 0


def test_what_was_found_out_goes_on_after_a_restart_and_a_topology_read_again(
    observed: Observed, chain_of: Chain
) -> None:
    """Six offences a part are no proof; of two parts together they are."""
    settings = PipelineSettings(health_ms=1.0)
    made = [
        row
        for n in range(200)
        for row in crossing(n, WORSE, tag(4, LAST) if n % 16 == 0 else WORSE)
    ]
    rows = observed(made).sort("time_ns", "frame")
    first, rest = rows[:200], rows[200:]
    topology, same = chain_of("one", "two"), chain_of("one", "two")
    assert topology is not same
    before = Worker(settings, topology, tuple(rows["source"].unique()))
    before.advance(first)
    kept = octets_of(Kept(before, Repeats()), StateWriter(SKIPPED), full=True)
    after = Worker(settings, topology, tuple(rows["source"].unique()))
    restore(Kept(after, Repeats()), StateReader(Versions.of(topology)), kept)
    after.renew(same)
    fresh = Worker(settings, topology, tuple(rows["source"].unique()))
    for worker, accused in ((after, True), (fresh, False)):
        outputs = [worker.advance(rest), worker.finish()]
        found = pl.concat(each.tables[TABLE] for each in outputs if TABLE in each.tables)
        names = {name for name, _, verdict in said(found) if verdict == "yes"}
        assert ("locator_without_signal" in names) is accused
