"""Verdicts out of interval rows made by hand."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import TABLES, PipelineSettings, Topology, verdicts
from pipeline.composed_answer import compose_answer
from pipeline.hop_samples import UNPLACED
from pipeline.reserved import LOCATOR, PLACE, UNTOLD

Rows = Iterable[Mapping[str, Any]]
Judge = Callable[..., pl.DataFrame]
SETTINGS = PipelineSettings()
SENT = {"time_ns": 0, "interval_ns": 1_000_000, "point": "p", "frames": 100, "bytes": 100_000,
        "data_bytes": 90_000, "data_frames": 90, "ce_frames": 0}  # fmt: skip


@pytest.fixture
def judge(
    flows_of: Callable[[Rows], pl.DataFrame], rows_of: Callable[[str, Rows], pl.DataFrame]
) -> Judge:
    """Verdicts of flows numbered from 1 whose rows are given."""

    def judged(
        sent: Rows,
        hops: Rows = (),
        topology: Topology | None = None,
        keys: Rows = ({},),
        *,
        unseen: bool = False,
    ) -> pl.DataFrame:
        flows = flows_of(keys)
        number = dict(enumerate(flows["flow"], start=1))
        sent = [SENT | {"flow": 1} | row for row in sent]
        hops = [{"time_ns": 0, "interval_ns": 1_000_000, "flow": 1, "point": "p", "hop_index": 0,
                 "source": "int", "samples": 90, "standing": 0} | row for row in hops]  # fmt: skip
        for row in (*sent, *hops):
            row["flow"] = number[row["flow"]]
        for row in hops:
            u = row.pop("u")
            most = row.pop("u_max", u)
            row |= {"u_sum_n": round(u * row["samples"] * 1e9), "u_max_n": round(most * 1e9)}
        return verdicts(
            flows.with_columns(pl.lit(unseen).alias("unseen")),
            rows_of("flow_intervals", sent),
            rows_of("hop_intervals", hops),
            topology,
            SETTINGS,
        )

    return judged


@pytest.fixture
def line(chain_of: Callable[..., Topology]) -> Topology:
    return chain_of("leaf1", "spine1", "leaf2")


def pointed(row: Mapping[str, Any], signal: str) -> list[dict[str, Any]]:
    """Candidates of one signal."""
    return [hop for hop in json.loads(row["candidates"]) if hop["signal"] == signal]


def one(rows: pl.DataFrame) -> dict[str, Any]:
    assert rows.height == 1
    assert rows.schema == TABLES["verdicts"].schema
    return rows.row(0, named=True)


@pytest.mark.parametrize(
    ("u", "kind"), [(1.0, "not_congested"), (1.000001, "uplink"), (0.95, "not_congested")]
)
def test_a_hop_is_congested_above_the_threshold(
    judge: Judge, line: Topology, u: float, kind: str
) -> None:
    row = one(
        judge([{"marked_bytes": 1, "acked_bytes": 9}], [{"node": 1, "port": 1, "u": u}], line)
    )
    assert (row["kind"], row["device"], row["interface"]) == (kind, "leaf1", "on")
    assert row["u_mean"] == pytest.approx(u)
    assert (row["stage"], row["orientation"], row["capacity_bps"]) == ("tor", "up", 10**10)
    assert row["topology"] == "chain"


@pytest.mark.parametrize(("standing", "kind"), [(9, "not_congested"), (10, "uplink")])
def test_a_queue_that_stands_for_a_tenth_of_the_interval_is_congestion(
    judge: Judge, line: Topology, standing: int, kind: str
) -> None:
    row = one(judge([{}], [{"node": 1, "port": 1, "u": 0.9, "standing": standing}], line))
    assert row["kind"] == kind
    told = {piece["name"]: piece["value"] for piece in json.loads(row["evidence"])}
    assert told["standing queue"] == pytest.approx(standing / 90)


def test_the_headline_is_the_most_loaded_hop_and_of_equals_the_lowest(
    judge: Judge, line: Topology
) -> None:
    hops = [{"node": 1, "port": 1, "u": 1.2}, {"node": 2, "port": 1, "u": 1.4, "hop_index": 1},
            {"node": 3, "port": 3, "u": 1.4, "hop_index": 2}]  # fmt: skip
    row = one(judge([{}], hops, line))
    assert (row["device"], row["kind"]) == ("spine1", "core")
    told = pointed(row, "int")
    assert [hop["device"] for hop in told] == ["spine1", "leaf2", "leaf1"]
    assert sum(hop["probability"] for hop in told) == pytest.approx(1.0)
    assert row["confidence"] == pytest.approx(told[0]["probability"], abs=0.01)


def test_flows_that_share_a_last_hop_are_an_incast_and_one_is_an_elephant(
    judge: Judge, line: Topology
) -> None:
    last = {"node": 3, "port": 3, "u": 1.5}
    both = judge([{}, {"flow": 2}], [last, last | {"flow": 2}], line, [{}, {"sport": 7}])
    assert both.select("kind", "contributors").rows() == [("incast", 2)] * 2
    assert set(both["reroute_helps"]) == {"no"}
    alone = one(judge([{}], [last], line))
    assert (alone["kind"], alone["contributors"]) == ("last_hop_elephant", 1)


@pytest.mark.parametrize(
    ("sent", "u", "kind"),
    [
        ({}, 0.5, "sender_limited"),
        ({"acked_bytes": 9, "marked_bytes": 1}, 0.5, "not_congested"),
        ({"W": 10_000.0, "inflight_bytes": 3_999}, 0.85, "sender_limited"),
        ({"W": 10_000.0, "inflight_bytes": 4_001}, 0.85, "not_congested"),
        ({"W": 10_000.0, "inflight_bytes": 3_999}, 0.94, "sender_limited"),
        ({"W": 10_000.0, "inflight_bytes": 3_999}, 0.95, "not_congested"),
        (
            {"slices": 0xFF, "data_frames": 900, "marked_bytes": 1, "acked_bytes": 9},
            0.5,
            "sender_limited",
        ),
        (
            {"slices": 0xFFFFFF, "data_frames": 900, "marked_bytes": 1, "acked_bytes": 9},
            0.5,
            "not_congested",
        ),
        ({"W": 1_000.0, "inflight_bytes": 1}, 0.85, "not_congested"),
        ({"W": 1000.0, "inflight_bytes": 1}, 1.1, "uplink"),
    ],
)
def test_hosts_limit_what_the_network_does_not(
    judge: Judge, line: Topology, sent: dict[str, Any], u: float, kind: str
) -> None:
    behind = [{"node": 2, "port": 1, "u": 0.1, "hop_index": 1},
              {"node": 3, "port": 3, "u": 0.1, "hop_index": 2}]  # fmt: skip
    hop = {"node": 1, "port": 1, "u": u}
    assert one(judge([sent], [hop, *behind], line))["kind"] == kind
    in_part = one(judge([sent], [hop], line))["kind"]
    idle = kind == "sender_limited" and u == 0.5 and not sent
    assert in_part == ("not_congested" if idle else kind), "hops out of sight may hold it back"


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({"ce_frames": 9}, "congested_path"),
        ({"acked_bytes": 9_000, "marked_bytes": 3_000}, "congested_path"),
        ({"aecn_samples": 10, "aecn_u_sum_n": 12 * 10**9}, "congested_path"),
        ({"aecn_samples": 10, "aecn_u_sum_n": 9 * 10**9}, "not_congested"),
        ({"acked_bytes": 9_000}, "not_congested"),
        ({}, "unknown"),
    ],
)
def test_without_locators_and_topology_only_the_path_is_known(
    judge: Judge, sent: dict[str, Any], kind: str
) -> None:
    row = one(judge([sent]))
    assert (row["kind"], row["node"], row["device"], row["candidates"]) == (kind, None, "", "[]")
    assert row["topology"] == ""


@pytest.mark.parametrize("other", ["int", "int_bound"])
def test_the_fullest_hop_is_so_by_the_least_that_its_load_can_be(
    judge: Judge, line: Topology, other: str
) -> None:
    first = {"node": 1, "port": 1, "u": 0.65, "source": other}
    queue = {"node": 2, "port": 1, "u": 0.6, "source": "int_bound", "hop_index": 1}
    queue |= {"queue_u_sum_n": round(0.6 * 90e9)}
    sent = {"bytes": 750_000, "data_bytes": 750_000, "data_frames": 500}
    row = one(judge([sent], [first, queue], line))
    assert (row["kind"], row["device"]) == ("core", "spine1")


def test_queues_of_several_classes_are_queues(judge: Judge, line: Topology) -> None:
    hop = {"node": 2, "port": 1, "source": "int_bound", "hop_index": 1}
    hops = [hop | {"flow": flow, "u": u, "queue_u_sum_n": round(u * 90e9)}
            for flow, u in ((1, 0.5), (2, 0.1))]  # fmt: skip
    sent = {"bytes": 1_125_000, "data_bytes": 1_125_000, "data_frames": 750}
    rows = judge([sent, {"flow": 2}], hops, line, [{"dscp": 0}, {"dscp": 8, "sport": 7}])
    assert rows["kind"].to_list() == ["core", "core"]


def test_the_mean_of_a_queue_and_a_rate_is_neither(judge: Judge, line: Topology) -> None:
    hop = {"node": 2, "port": 1, "source": "int_bound", "hop_index": 1}
    rates, queue = {"u": 0.9}, {"flow": 2, "u": 0.0, "samples": 1, "queue_u_sum_n": 0}
    sent = {"bytes": 1_125_000, "data_bytes": 1_125_000, "data_frames": 750}
    rows = judge([sent, {"flow": 2}], [hop | rates, hop | queue], line, [{}, {"sport": 7}])
    assert "core" not in rows["kind"]


def test_a_path_is_full_where_a_part_of_a_load_leaves_room(judge: Judge, line: Topology) -> None:
    told = [(1, 1, 0.4, "int"), (2, 1, 0.3, "int_bound"), (3, 3, 0.4, "int")]
    hops = [
        {"node": node, "port": port, "u": u, "source": source, "hop_index": place,
         "queue_u_sum_n": round(u * 90e9)}
        for place, (node, port, u, source) in enumerate(told)
    ]  # fmt: skip
    aecn = {"flow": 2, "aecn_samples": 90, "aecn_u_sum_n": 90 * 12 * 10**8}
    row = judge([{}, aecn], hops, line, [{}, {"sport": 7}]).filter(pl.col("sport") == 7)
    assert (row["kind"][0], row["device"][0]) == ("core", "spine1")
    assert row["confidence"][0] > 0.9


def test_marks_are_placed_where_others_saw_the_load(judge: Judge, line: Topology) -> None:
    rows = judge(
        [{}, {"flow": 2, "ce_frames": 30}],
        [{"node": 1, "port": 1, "u": 0.4}, {"node": 2, "port": 1, "u": 1.6, "hop_index": 1}],
        line,
        [{}, {"sport": 7}],
    )
    both = rows.sort("sport")
    assert both["device"].to_list() == ["spine1", "spine1"]
    assert both["contributors"].to_list() == [2, 2]
    signals = [{hop["signal"] for hop in json.loads(text)} for text in both["candidates"]]
    assert signals == [{"headline", "ecn"}, {"headline", "int"}]


@pytest.mark.parametrize(
    ("hop", "names", "doubts"),
    [
        ({"node": 9, "port": 4, "u": 1.5}, ("node 9", "port 4"), ["hop_not_in_topology"]),
        ({"node": 9, "port": UNTOLD, "u": 1.5}, ("node 9", "port not told"),
         ["hop_not_in_topology"]),
        ({"node": PLACE, "port": 2, "u": 1.5}, ("hop", "2"), ["hop_not_in_topology"]),
        ({"node": LOCATOR, "port": 77, "u": 1.5, "source": "csig_delay", "hop_index": UNPLACED},
         ("locator", "77"), ["hop_not_in_topology"]),
        ({"node": 1, "port": 1, "u": 11.0}, ("leaf1", "on"), ["hop_load_above_reason"]),
        ({"node": 1, "port": 1, "u": -0.5}, ("leaf1", "on"), ["hop_load_below_zero"]),
        ({"node": 1, "port": 1, "u": 1.5}, ("leaf1", "on"), []),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_said(
    judge: Judge, line: Topology, hop: dict[str, Any], names: tuple[str, str], doubts: list[str]
) -> None:
    row = one(judge([{}], [hop], line))
    assert (row["device"], row["interface"]) == names
    assert row["plausibility"] == doubts
    assert one(judge([{}], [hop]))["plausibility"] == [d for d in doubts if "topology" not in d]


QUEUED = {"queue_u_sum_n": 90 * 9 * 10**9, "queue_sum_bytes": 90 * 120_000}
"""A queue of nine base round trips."""


@pytest.mark.parametrize(
    ("hop", "doubted"),
    [
        ({"u": 10.0, "u_max": 17.5, **QUEUED, "queue_max_bytes": 220_000}, False),
        ({"u": 40.0, "source": "csig_delay", "hop_index": UNPLACED, "queue_sum_bytes": 90 * 10**6,
          "queue_max_bytes": 2 * 10**6}, False),
        ({"u": 20.0, "queue_sum_bytes": 90 * 625_000, "queue_max_bytes": 625_000}, False),
        ({"u": 12.0, "source": "int", "queue_u_sum_n": 90 * 11 * 10**9}, False),  # a latency
        ({"u": 14.0, "u_max": 17.5, **QUEUED, "queue_max_bytes": 150_000}, True),
        ({"u": 5.0, "queue_sum_bytes": 0, "queue_max_bytes": 0}, True),
        ({"u": 5.0, **QUEUED, "queue_max_bytes": 2 * 10**9}, True),
        ({"u": 1e6, "source": "csig_delay", "hop_index": UNPLACED}, True),
    ],
)  # fmt: skip
def test_no_queue_that_buffers_hold_is_beyond_reason(
    judge: Judge, line: Topology, hop: dict[str, Any], doubted: bool
) -> None:
    row = one(judge([{}], [{"node": 1, "port": 1} | hop], line))
    assert row["device"] == "leaf1"
    assert ("hop_load_above_reason" in row["plausibility"]) == doubted


@pytest.mark.parametrize(("full", "u", "said"), [
    (90, 5.7, ""),
    (0, 5.7, "load aecn 2.55, int 5.7"),
    (90, 1.2, "load aecn at least 2.55, int 1.2"),
])  # fmt: skip
def test_a_ratio_at_its_highest_says_at_least_so_much(
    judge: Judge, line: Topology, full: int, u: float, said: str
) -> None:
    aecn = {"aecn_samples": 90, "aecn_u_sum_n": 90 * 255 * 10**7, "aecn_saturated": full}
    loads = (1, 1, 0.1), (2, 1, 0.1), (3, 3, u)
    hops = [{"node": node, "port": port, "u": load, "hop_index": place}
            for place, (node, port, load) in enumerate(loads)]  # fmt: skip
    flows = [{}, {"sport": 7}]
    rows = judge([{}, {"flow": 2, **aecn}], hops, line, flows).sort("sport", descending=True)
    by_stack, by_option = rows.to_dicts()
    assert by_stack["disagreement"] == ("telemetry differs on this hop: " * bool(said)) + said
    assert ("telemetry_disagrees" in by_stack["plausibility"]) == bool(said)
    assert by_option["u_mean"] == pytest.approx(2.55)
    for row, bound in ((by_stack, False), (by_option, full > 0)):
        answer = compose_answer({"first_ns": 0, "last_ns": 999_999}, [row], 0, 1_000_000)
        assert ("mean load at least" in answer["verdict"]["sentence"]) == bound
    told = {piece["name"]: piece for piece in json.loads(by_option["evidence"])}
    highest = told.get("inflight ratio at its highest value")
    assert (highest["value"] if highest else 0) == full


def test_three_signals_name_three_ports_and_there_is_one_headline(
    judge: Judge, line: Topology
) -> None:
    """Out of rows: least bandwidth, least share of it, most delay; of frames see test_figure_5."""
    signal = {"hop_index": UNPLACED, "samples": 30}
    hops = [
        {"source": "csig_abw", "node": 1, "port": 1, "u": 0.7},
        {"source": "csig_utilization", "node": 2, "port": 1, "u": 0.9},
        {"source": "csig_delay", "node": 3, "port": 3, "u": 1.6},
    ]
    row = one(judge([{}], [signal | hop for hop in hops], line))
    assert (row["device"], row["interface"]) == ("leaf2", "host")
    named = {
        signal: pointed(row, signal)[0]["device"]
        for signal in ("csig_abw", "csig_utilization", "csig_delay", "headline")
    }
    assert named == {
        "csig_abw": "leaf1", "csig_utilization": "spine1", "csig_delay": "leaf2",
        "headline": "leaf2",
    }  # fmt: skip


@pytest.mark.parametrize(("u", "differs"), [(0.6, ""), (3.0, "load csig 3.9, int 1.5")])
def test_kinds_of_telemetry_are_compared_as_packets_met_them(
    judge: Judge, line: Topology, u: float, differs: str
) -> None:
    """Counters tell of the rest of an interval, in which nothing was seen, and tags do not."""
    times = {"seen": 0, "ts": 7, "sent": 99}
    counted = {f"{name}_first_ns": first for name, first in times.items()}
    counted |= {f"{name}_last_ns": first + 200_000 for name, first in times.items()}
    counted |= {"queue_u_sum_n": 45 * 10**9, "queue_sum_bytes": 1}
    tag = {"node": 3, "port": 3, "samples": 30, "hop_index": UNPLACED}
    hops = [
        {"node": 3, "port": 3, "u": 1.5, **counted},
        {**tag, "source": "csig_utilization", "u": 0.9},
        {**tag, "source": "csig_delay", "u": u},
    ]
    row = one(judge([{}], hops, line))
    assert pointed(row, "int")[0]["u_mean"] < 0.5
    assert row["disagreement"] == ("telemetry differs on this hop: " * bool(differs)) + differs
    assert ("telemetry_disagrees" in row["plausibility"]) == bool(differs)


def test_json_columns_have_their_shape(judge: Judge, line: Topology) -> None:
    hops = [{"node": 1, "port": port, "u": 0.1 * port, "hop_index": port} for port in range(1, 13)]
    hops[11] |= {"queue_sum_bytes": 9_000}
    sent = {
        "acked_bytes": 400,
        "marked_bytes": 100,
        "acks": 40,
        "U": 0.5,
        "W": 900.0,
        "alpha": 0.25,
    }
    row = one(judge([sent], hops, line))
    candidates = pointed(row, "int")
    assert len(candidates) == 5
    assert sum(hop["probability"] for hop in pointed(row, "headline")) == pytest.approx(1, abs=1e-3)
    assert list(candidates[0]) == ["signal", "node", "port", "device", "interface", "u_mean",
                                   "probability", "samples"]  # fmt: skip
    assert [hop["port"] for hop in candidates] == [12, 11, 10, 9, 8]
    evidence = {piece["name"]: piece for piece in json.loads(row["evidence"])}
    assert evidence["queue"]["value"] == 100.0
    assert evidence["mark share"] == {"signal": "ecn", "name": "mark share", "value": 0.25,
                                      "unit": "ratio", "samples": 40, "point": "p"}  # fmt: skip
    assert {"U", "W", "alpha"} <= set(evidence)


def test_state_is_told_from_the_point_before_the_queue(judge: Judge) -> None:
    near = {"point": "z", "alpha": 0.5, "acked_bytes": 10, "acks": 1}
    far = {"point": "a", "alpha": 0.1, "ce_frames": 20, "acked_bytes": 10, "acks": 1}
    row = one(judge([far, near]))
    told = {piece["name"]: piece["value"] for piece in json.loads(row["evidence"])}
    assert told["alpha"] == 0.5
    assert row["kind"] == "congested_path", "the marks that the far point saw count all the same"


def test_a_flow_of_which_only_acknowledgments_were_seen_is_judged(
    judge: Judge, line: Topology
) -> None:
    heard = {"frames": None, "bytes": None, "data_bytes": None, "data_frames": None,
             "ce_frames": None, "acks": 50, "acked_bytes": 5_000, "marked_bytes": 500}  # fmt: skip
    hop = {"node": 3, "port": 3, "u": 1.4}
    row = one(judge([heard], [hop], line, unseen=True))
    assert (row["kind"], row["completeness"]) == ("last_hop_elephant", None)
    assert judge([heard], [hop], line).is_empty(), "trailing ACKs of a flow that was seen"
    elsewhere = heard | {"unseen_bytes": 5_000}
    assert one(judge([elsewhere], [hop], line))["kind"] == "last_hop_elephant"


def test_nothing_sent_is_nothing_to_judge(judge: Judge) -> None:
    rows = judge([{"data_bytes": 0, "data_frames": 0}])
    assert rows.is_empty()
    assert rows.schema == TABLES["verdicts"].schema
    assert judge([]).is_empty()


@pytest.mark.parametrize(
    ("queue_u", "u", "sent_bytes", "kind", "sure"),
    [
        (0.5, 0.5, 1_125_000, "core", 0.99),  # and what the flow sends: 1.4
        (0.5, 0.5, 12_500, "not_congested", 0.5),  # others may send as well
        (0.0, 0.0, 12_500, "not_congested", 0.99),  # nobody waits
        (None, 0.5, 625_000, "not_congested", 0.99),  # a port that is not full has no queue
        (None, 0.95, 1_187_500, "not_congested", 0.05),  # one that is may have any
        (1.2, 1.2, 12_500, "core", 0.99),
    ],
)
def test_a_part_of_a_load_is_no_load(
    judge: Judge, line: Topology, queue_u: float | None, u: float, sent_bytes: int, kind: str,
    sure: float,
) -> None:  # fmt: skip
    hop = {"node": 2, "port": 1, "source": "int_bound", "u": u, "hop_index": 1}
    hop |= {"queue_u_sum_n": None if queue_u is None else round(queue_u * 90e9)}
    sent = {"bytes": sent_bytes, "data_bytes": sent_bytes, "data_frames": 900}
    (row,) = judge([sent], [hop], line).to_dicts()
    assert (row["kind"], row["plausibility"]) == (kind, ["hop_load_in_part"])
    assert row["confidence"] == pytest.approx(sure, abs=0.02)
