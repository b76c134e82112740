"""What was read in the middle of a path speaks of the hops before it alone (semantics.md 1)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Topology, verdicts

FlowsOf = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
RowsOf = Callable[[str, Iterable[Mapping[str, Any]]], pl.DataFrame]


@pytest.mark.parametrize(
    ("point", "source", "seen"),
    [
        ("leaf1:on", "csig_utilization", 1),
        ("spine1:back", "csig_utilization", 1),  # the other end of the same link
        ("spine1:on", "csig_utilization", 2),
        ("leaf2:host", "csig_utilization", 3),
        ("nowhere", "csig_utilization", 3),  # taken for an end
        ("leaf1:on", "csig_echo_utilization", 3),  # a receiver saw what it reflects
    ],
)
def test_a_tag_speaks_of_the_hops_that_it_has_met(
    flows_of: FlowsOf, rows_of: RowsOf, chain_of: Callable[..., Topology],
    point: str, source: str, seen: int,
) -> None:  # fmt: skip
    flows = flows_of([{}])
    flow = {"time_ns": 0, "interval_ns": 100_000_000, "flow": flows["flow"].item()}
    sent = {"frames": 100, "bytes": 105_400, "data_bytes": 100_000, "data_frames": 100,
            "slices": (1 << 32) - 1}  # fmt: skip
    said = {"node": 1, "port": 1, "source": source, "samples": 100, "u_sum_n": 31 * 10**9,
            "u_max_n": 310_000_000}  # fmt: skip
    row = verdicts(
        flows,
        rows_of("flow_intervals", [{**flow, **sent, "point": point}]),
        rows_of("hop_intervals", [{**flow, **said, "point": point}]),
        chain_of("leaf1", "spine1", "leaf2"),
        PipelineSettings(),
    ).row(0, named=True)
    assert (row["hops"], row["hops_seen"]) == (3, seen)
    # Of hops out of sight nothing is known: that those in sight have room accuses nobody.
    assert row["kind"] == ("sender_limited" if seen == 3 else "not_congested")
