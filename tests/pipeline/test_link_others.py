"""What a link carried of others: flows that telemetry names there, or that verdicts place there."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline import Store, length_bounds

T0 = 1_760_000_000 * 10**9
MS = 10**6
PLACE = {"node": 7, "port": 3}
WINDOW = {"from_ns": T0, "to_ns": T0 + 100 * MS - 1, **length_bounds(100 * MS, None), **PLACE}
NAMED, PLACED, CALM, OWN = range(1, 5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"chdb://{tmp_path}/db") as opened:
        opened.migrate()
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
    """Its stacks tell of each interval which way it went, tags only now and then."""
    away, rarely = 1, 2
    with Store(f"chdb://{tmp_path}/db") as store:
        store.migrate()
        times = [T0 + turn * 10 * MS for turn in range(4)]
        flows = pl.DataFrame({"flow": [away, rarely], "owner": "red", "last_ns": times[-1]})
        store.insert("flows", flows, "flows")
        rows = pl.DataFrame({"flow": [away, rarely], "point": "tap", "data_bytes": [1, 100]}).join(
            pl.DataFrame({"time_ns": times, "interval_ns": 10 * MS}), how="cross"
        )
        store.insert("flow_intervals", rows, "sent")
        there = pl.DataFrame(
            {"time_ns": times * 2, "flow": [away] * 4 + [rarely] * 4, "interval_ns": 10 * MS,
             "point": "tap", "node": [7, 8, 8, 7, 7, 8, 8, 7], "port": 3, "samples": 1,
             "source": ["int", "int_bound", "int", "int", *["csig"] * 4]}
        )  # fmt: skip
        store.insert("hop_intervals", there, "hops")
        window = {"from_ns": T0, "to_ns": T0 + 40 * MS, **PLACE}
        told = store.query("link_flows", tenants=["*"], rows=9, **window)
        assert [*told.select("flow", "data_bytes").iter_rows()] == [(rarely, 400), (away, 2)]
        window |= {"to_ns": T0 + 40 * MS - 1, **length_bounds(40 * MS, None)}
        assert store.query("link_others", tenants=["blue"], **window).row(0) == (2, 402)
