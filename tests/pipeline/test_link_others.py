"""What a link carried of others: flows that telemetry names there, or that verdicts place there."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import Store, length_bounds

T0 = 1_760_000_000 * 10**9
MS = 10**6
PLACE = {"node": 7, "port": 3}
WINDOW = {"from_ns": T0, "to_ns": T0 + 100 * MS - 1, **length_bounds(100 * MS, None), **PLACE}
NAMED, PLACED, CALM, OWN = range(1, 5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with empty_store(tmp_path / "db") as opened:
        flows = [NAMED, PLACED, CALM, OWN]
        times = {"time_ns": [T0] * 4, "interval_ns": [100 * MS] * 4, "flow": flows}
        owners = {"flow": flows, "owner": ["red", "red", "red", "blue"], "last_ns": [T0] * 4}
        opened.insert("flows", pl.DataFrame(owners), "flows")
        sent = times | {"point": ["tap"] * 4, "data_bytes": [10, 200, 3000, 40_000]}
        opened.insert("flow_intervals", pl.DataFrame(sent), "sent")
        named = {"time_ns": [T0], "interval_ns": [100 * MS], "flow": [NAMED], "point": ["tap"]}
        one = named | {"samples": [1]} | {name: [value] for name, value in PLACE.items()}
        opened.insert("hop_intervals", pl.DataFrame(one), "named")
        kinds = {"kind": ["incast", "incast", "not_congested", "incast"]}
        here = {name: [value] * 4 for name, value in PLACE.items()}
        opened.insert("verdicts", pl.DataFrame(times | here | kinds), "verdicts")
        yield opened


def test_a_flow_that_a_verdict_places_on_a_link_counts_beside_those_that_name_it(
    store: Store,
) -> None:
    def others(*tenants: str) -> tuple[int, int]:
        flows, octets = store.query("link_others", tenants=list(tenants), **WINDOW).row(0)
        return flows, octets

    assert others("blue") == (2, 210)
    assert others("red") == (1, 40_000)
    assert others("green") == (3, 40_210)
    assert others("*") == (0, 0)


def test_who_is_held_there_is_told_to_whose_flows_they_are(store: Store) -> None:
    def held(*tenants: str) -> set[int]:
        return {*store.query("link_held", tenants=list(tenants), rows=9, **WINDOW)["flow"]}

    assert held("*") == {NAMED, PLACED, OWN}
    assert held("red") == {NAMED, PLACED}
    assert held("blue") == {OWN}
    assert held() == set()


def test_a_flow_that_leaves_a_link_and_comes_back_counts_with_what_it_sent_there(
    tmp_path: Path,
) -> None:
    """Stacks of several hops tell of each interval which way it went, others now and then."""
    ways = {
        1: ("int", [[7, 9], [8, 9], [8, 9], [7, 9]]),  # it went another way in between
        2: ("csig", [[7], [8], [8], [7]]),
        3: ("int_bound", [[7], [8], [9], [7]]),  # the switches tell in turn
        4: ("int", [[7, 8, 9], [8, 9], [9], [7, 9]]),  # and these not always
    }
    with empty_store(tmp_path / "db") as store:
        times = [T0 + turn * 10 * MS for turn in range(4)]
        flows = pl.DataFrame({"flow": [*ways], "owner": "red", "last_ns": times[-1]})
        store.insert("flows", flows, "flows")
        sent = {"flow": [*ways], "point": "tap", "data_bytes": [1, 10, 100, 1000]}
        rows = pl.DataFrame(sent).join(
            pl.DataFrame({"time_ns": times, "interval_ns": 10 * MS}), how="cross"
        )
        store.insert("flow_intervals", rows, "sent")
        hops = [
            {"time_ns": at, "flow": flow, "interval_ns": 10 * MS, "point": "tap", "node": node,
             "port": 3, "samples": 1, "source": source}
            for flow, (source, way) in ways.items()
            for at, nodes in zip(times, way, strict=True) for node in nodes
        ]  # fmt: skip
        both = [each | {"node": 7, "source": "csig"} for each in hops if each["flow"] == 1][2:4]
        store.insert("hop_intervals", pl.DataFrame(hops), "hops")
        window = {"from_ns": T0, "to_ns": T0 + 40 * MS, **PLACE}
        whole = window | {"to_ns": T0 + 40 * MS - 1, **length_bounds(40 * MS, None)}

        def told() -> dict[int, int]:
            rows = store.query("link_flows", tenants=["*"], rows=9, **window)
            return dict(rows.select("flow", "data_bytes").iter_rows())

        assert told() == {4: 4000, 3: 400, 2: 40, 1: 2}
        assert store.query("link_others", tenants=["blue"], **whole).row(0) == (4, 4442)
        store.insert("hop_intervals", pl.DataFrame(both), "tags name it as well")
        assert told()[1] == 3
