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
