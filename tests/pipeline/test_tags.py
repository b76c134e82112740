"""Locators that several ports share, and hops that tie with the one that is named."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Topology, verdicts
from pipeline.csig_profile import SIGNALS, Csig, CsigSignal
from pipeline.hop_samples import UNPLACED
from pipeline.in_sight import met
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.tags import bounds, heard, shared
from pipeline.ways import paths

Rows = Iterable[Mapping[str, Any]]
RowsOf = Callable[[str, Rows], pl.DataFrame]
FlowsOf = Callable[[Rows], pl.DataFrame]
INTERVAL_NS = 1_000_000
FACES_ON = 77 + 1
"""Locator of every port that faces on, where a class is all that a locator tells."""


def tag(flow: int, source: str, node: int, port: int, u: float, samples: int) -> dict[str, Any]:
    """A row of hop_intervals."""
    return {
        "time_ns": 0, "interval_ns": INTERVAL_NS, "flow": flow, "point": "p", "node": node,
        "port": port,
        "hop_index": UNPLACED, "source": source, "samples": samples, "standing": 0,
        "u_sum_n": round(u * samples * 1e9), "u_max_n": round(u * 1e9),
    }  # fmt: skip


@pytest.fixture
def classes(chain_of: Callable[..., Topology]) -> Topology:
    """Locators tell which way a port faces, not which port it is."""
    return chain_of("leaf1", "spine1", "leaf2", lm=77)


def test_a_shared_locator_is_each_of_its_ports_on_the_way(
    flows_of: FlowsOf, rows_of: RowsOf, classes: Topology
) -> None:
    flows = flows_of([{}])
    rows = [tag(flows["flow"][0], "csig_delay", LOCATOR, FACES_ON, 1.2, 30),
            tag(flows["flow"][0], "csig_delay", LOCATOR, UNTOLD, 0.0, 10)]  # fmt: skip
    hops = rows_of("hop_intervals", rows)
    tags = heard(hops, met(hops, paths(flows, classes), classes))
    found = shared(tags, paths(flows, classes), classes)
    assert found.select("node", "port", "samples").rows() == [
        (1, 1, 15.0), (2, 1, 15.0), (LOCATOR, UNTOLD, 10.0),
    ]  # fmt: skip
    assert bounds(found).select("low", "high").row(0) == pytest.approx((0.9, 0.9))
    away = shared(tags, paths(flows_of([{"src": "192.0.2.1"}]), classes), classes)
    assert away["node"].unique().to_list() == [LOCATOR]


@pytest.mark.parametrize(
    ("views", "best"),
    [
        ({"leaf2:host": 100, "echo of leaf1:on": 30}, ("leaf2:host", False)),
        ({"leaf2:host": 20, "echo of leaf1:on": 30}, ("leaf1:on", True)),
        ({"leaf2:host": 100, "nowhere": 30}, ("leaf2:host", False)),
        ({"leaf1:on": 100, "echo of leaf1:on": 30}, ("leaf1:on", True)),
        ({"leaf1:on": 100, "echo of leaf1:on": 20}, ("leaf1:on", False)),
    ],
)
def test_of_views_from_the_end_of_a_path_the_one_that_located_most_is_heard(
    flows_of: FlowsOf, rows_of: RowsOf, classes: Topology,
    views: dict[str, int], best: tuple[str, bool],
) -> None:  # fmt: skip
    flows = flows_of([{}])
    rows = [
        tag(flows["flow"][0], f"csig_{'echo_' * view.startswith('echo')}delay", 1, 1, 1.2, samples)
        | {"point": view.removeprefix("echo of ")}
        for view, samples in views.items()
    ]
    hops = rows_of("hop_intervals", rows)
    found = heard(hops, met(hops, paths(flows, classes), classes))
    assert found.select("point", "echo").unique().rows() == [best]


def test_the_verdict_splits_a_shared_locator_by_what_others_saw(
    flows_of: FlowsOf, rows_of: RowsOf, classes: Topology
) -> None:
    """Another flow's INT clears leaf1's port, so spine1's remains."""
    flows = flows_of([{}, {"sport": 7}])
    first, second = flows["flow"]
    hops = [
        *(tag(first, f"csig_{kind}", LOCATOR, FACES_ON, 1.0, 30)
          for kind in ("delay", "utilization")),
        tag(second, "int", 1, 1, 0.2, 90), tag(second, "int", 2, 1, 1.9, 90),
    ]  # fmt: skip
    sent = [
        {"time_ns": 0, "interval_ns": INTERVAL_NS, "flow": flow, "point": "p",
         "data_bytes": 9_000, "data_frames": 90} for flow in (first, second)
    ]  # fmt: skip
    rows = verdicts(
        flows.with_columns(pl.lit(value=False).alias("unseen")),
        rows_of("flow_intervals", sent),
        rows_of("hop_intervals", hops),
        classes,
        PipelineSettings(),
    )
    own = rows.filter(flow=first).row(0, named=True)
    assert own["device"] == "spine1"
    assert own["confidence"] > 0.7


@pytest.mark.parametrize(("delta_t_ns", "doubts"), [
    (INTERVAL_NS, []), (INTERVAL_NS + 1, ["interval_finer_than_csig"]),
])  # fmt: skip
def test_an_interval_shorter_than_a_signal_is_measured_over_is_said_to_be(
    flows_of: FlowsOf, rows_of: RowsOf, chain_of: Callable[..., Topology], delta_t_ns: int,
    doubts: list[str],
) -> None:  # fmt: skip
    signals = tuple(CsigSignal(name, delta_t_ns=delta_t_ns) for name in SIGNALS)
    made = chain_of("leaf1", "spine1", "leaf2")
    told = replace(
        made, devices=tuple(replace(d, csig=Csig(signals=signals)) for d in made.devices)
    )
    flows = flows_of([{}])
    flow = flows["flow"][0]
    sent = {"time_ns": 0, "interval_ns": INTERVAL_NS, "flow": flow, "point": "p",
            "data_bytes": 9_000, "data_frames": 90}  # fmt: skip
    (row,) = verdicts(
        flows.with_columns(pl.lit(value=False).alias("unseen")),
        rows_of("flow_intervals", [sent]),
        rows_of("hop_intervals", [tag(flow, "csig_utilization", 2, 1, 0.9, 90)]),
        told,
        PipelineSettings(),
    ).to_dicts()
    assert row["plausibility"] == doubts


@pytest.mark.parametrize(("t_ns", "doubts"), [
    (None, []), (INTERVAL_NS, []), (INTERVAL_NS + 1, ["interval_finer_than_aecn"]),
])  # fmt: skip
def test_an_interval_shorter_than_a_routers_own_t_is_said_to_be(
    flows_of: FlowsOf, rows_of: RowsOf, chain_of: Callable[..., Topology], t_ns: int | None,
    doubts: list[str],
) -> None:  # fmt: skip
    made = chain_of("leaf1", "leaf2")
    told = replace(made, devices=tuple(replace(d, t_ns=t_ns) for d in made.devices))
    flows = flows_of([{}])
    flow = flows["flow"][0]
    u_n = round(1.5e9)
    sent = {"time_ns": 0, "interval_ns": INTERVAL_NS, "flow": flow, "point": "p",
            "data_bytes": 9_000, "data_frames": 90, "aecn_samples": 90, "aecn_u_sum_n": 90 * u_n,
            "aecn_u_max_n": u_n}  # fmt: skip
    (row,) = verdicts(
        flows.with_columns(pl.lit(value=False).alias("unseen")),
        rows_of("flow_intervals", [sent]),
        rows_of("hop_intervals", []),
        told,
        PipelineSettings(),
    ).to_dicts()
    assert row["device"] in {"leaf1", "leaf2"}
    assert row["plausibility"] == doubts
