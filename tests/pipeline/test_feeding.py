"""Hops that cannot be the fullest of a path, by what feeds them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import Topology
from pipeline.comparison import MARKS, TOLD
from pipeline.feeding import fed
from pipeline.ways import paths

FlowsOf = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
UP, DOWN, LAST = (1, 1), (2, 1), (3, 3)
"""Egress ports from leaf1's host to leaf2's, in order."""
FIRST = pl.col("place") == 0
LOADS = {"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32, "load": pl.Float64,
         "measured": pl.Boolean, "bounded": pl.Boolean}  # fmt: skip


@pytest.fixture
def ways(flows_of: FlowsOf, line: Topology) -> pl.DataFrame:
    """The path of flow 1 from the host, and of flow 2, which enters leaf1 by another port."""
    one = paths(flows_of([{}]), line).with_columns(pl.lit(1, pl.UInt64).alias("flow"))
    other = pl.when(~FIRST).then(pl.col("via_node", "via_port"))
    two = one.with_columns(other, pl.lit(2, pl.UInt64).alias("flow"))
    return pl.concat([one, two]).with_columns(pl.lit(0, pl.Int64).alias("time_ns"))


@pytest.fixture
def line(chain_of: Callable[..., Topology]) -> Topology:
    return chain_of("leaf1", "spine1", "leaf2")


def left(
    ways: pl.DataFrame,
    line: Topology | None,
    shares: Mapping[int, float],
    measured: Mapping[tuple[int, int], float] | None = None,
) -> dict[int, list[Any]]:
    """Hops that are left to flows that tell of shares of marks, with loads that INT `measured`."""
    rows = [(0, flow, share, share, 0.1, None, True) for flow, share in shares.items()]
    told = [(0, *hop, load, True, False) for hop, load in (measured or {}).items()]
    loads = pl.DataFrame(told, schema=LOADS, orient="row")
    kept = fed(pl.DataFrame(rows, schema=TOLD, orient="row"), ways, loads, line, MARKS.zero)
    assert kept.columns == ways.columns
    return {flow: kept.filter(flow=flow).select("node", "port").rows() for flow in shares}


def test_a_path_begins_at_the_port_of_its_sender(ways: pl.DataFrame) -> None:
    vias = ways.filter(flow=1).select("via_node", "via_port").rows()
    assert vias == [(1, 3), UP, DOWN]


def test_flows_that_share_hops_in_a_row_queue_at_the_first(
    ways: pl.DataFrame, line: Topology
) -> None:
    assert left(ways, line, {1: 0.3, 2: 0.3}) == {1: [UP], 2: [UP]}


def test_who_saw_little_fills_nothing(ways: pl.DataFrame, line: Topology) -> None:
    """Then nothing but flow 1 fills flow 1's hops: its own link would be as full, none is left."""
    assert left(ways, line, {1: 0.3, 2: 0.0})[1] == [UP, DOWN, LAST]


def test_a_flow_that_tells_nothing_may_fill_what_it_crosses(
    ways: pl.DataFrame, line: Topology
) -> None:
    assert left(ways, line, {1: 0.3}) == {1: [UP]}


def test_without_a_topology_every_hop_stays(ways: pl.DataFrame) -> None:
    assert left(ways, None, {1: 0.3, 2: 0.3})[2] == [UP, DOWN, LAST]


@pytest.mark.parametrize(
    ("here", "fed_by_it", "hop"),
    [(1.5, 1.6, DOWN), (1.6, 1.5, UP), (1.50, 1.51, UP)],
    ids=["packets grow on the way", "as usual", "too near to tell"],
)
def test_int_tells_which_of_two_hops_in_a_row_is_fuller(
    ways: pl.DataFrame, line: Topology, here: float, fed_by_it: float, hop: tuple[int, int]
) -> None:
    kept = left(ways, line, {1: 0.3, 2: 0.3}, {UP: here, DOWN: fed_by_it})
    assert kept == {1: [hop], 2: [hop]}
