"""What was read in the middle of a path speaks of the hops before it alone (semantics.md 1)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Topology, verdicts

FlowsOf = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
RowsOf = Callable[[str, Iterable[Mapping[str, Any]]], pl.DataFrame]
Judged = Callable[[Iterable[Mapping[str, Any]]], dict[str, Any]]


ECHO = "echo of "
"""A receiver saw what it reflects, wherever that is seen."""


@pytest.fixture
def judged(flows_of: FlowsOf, rows_of: RowsOf, chain_of: Callable[..., Topology]) -> Judged:
    """The verdict on a flow over three hops, by what its tags told of hops."""
    flows = flows_of([{}])
    flow = {"time_ns": 0, "interval_ns": 100_000_000, "flow": flows["flow"].item()}
    sent = {"frames": 100, "bytes": 105_400, "data_bytes": 100_000, "data_frames": 100,
            "slices": (1 << 32) - 1}  # fmt: skip

    def row(told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        return verdicts(
            flows,
            rows_of("flow_intervals", [{**flow, **sent, "point": "leaf1:on"}]),
            rows_of("hop_intervals", [{**flow, **each} for each in told]),
            chain_of("leaf1", "spine1", "leaf2"),
            PipelineSettings(),
        ).row(0, named=True)

    return row


@pytest.mark.parametrize(
    ("views", "seen"),
    [
        ({"leaf1:on": 100}, 1),
        ({"spine1:back": 100}, 1),  # the other end of the same link
        ({"spine1:on": 100}, 2),
        ({"leaf1:on": 100, "spine1:on": 50}, 2),
        ({"leaf2:host": 100}, 3),
        ({"leaf1:on": 100, "leaf2:host": 99}, 3),
        ({"nowhere": 100}, 3),  # taken for an end
        ({"leaf1:on": 100, "nowhere": 100}, 3),
        ({ECHO + "leaf1:on": 100}, 3),
        ({"leaf1:on": 100, ECHO + "leaf1:on": 50}, 3),
    ],
)
def test_a_tag_speaks_of_the_hops_that_it_has_met(
    judged: Judged, views: dict[str, int], seen: int
) -> None:
    told = [
        {"node": 1, "port": 1, "point": view.removeprefix(ECHO), "samples": samples,
         "source": f"csig_{'echo_' * view.startswith(ECHO)}utilization",
         "u_sum_n": samples * 310_000_000, "u_max_n": 310_000_000}
        for view, samples in views.items()
    ]  # fmt: skip
    row = judged(told)
    assert (row["hops"], row["hops_seen"]) == (3, seen)
    # Of hops out of sight nothing is known: that those in sight have room accuses nobody.
    assert row["kind"] == ("sender_limited" if seen == 3 else "not_congested")


@pytest.mark.parametrize(
    ("uplink", "receiver", "kind"),
    [(90, 100, "core"), (110, 100, "core"), (390, 100, "core"), (100, 0, None)],
)
def test_the_view_that_met_most_hops_is_heard(
    judged: Judged, uplink: int, receiver: int, kind: str | None
) -> None:
    """A tap behind the first hop saw some more packets than the one by the receiver."""
    told = [
        {"node": node, "port": 1, "point": point, "samples": samples, "source": source,
         "u_sum_n": samples * load, "u_max_n": load, "standing": samples * (node == 2)}
        for node, point, samples, whole in (
            (1, "leaf1:on", uplink, 0.31), (2, "leaf2:host", receiver, 0.99),
        )
        for source, load in (("csig_utilization", round(whole * 1e9)),
                             ("csig_delay", round(1.1e9 * (node == 2))))
        if samples
    ]  # fmt: skip
    row = judged(told)
    assert row["hops_seen"] == (3 if receiver else 1)
    assert row["kind"] == (kind or "not_congested")
