"""HPCC++ of classes: sojourn times and parts of a link as the pure kernels have them by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from pipeline import Tracker
from pipeline.cc import hop_load, qos
from pipeline.cc.hop_load import Tau
from pipeline.companions.load_loop import Fault
from pipeline.companions.port_number import MOST_PORTS
from tests.pipeline.load_rows import (
    MSS,
    NIC,
    Step,
    T,
    assert_by_hand,
    decided,
    exchange,
    random_steps,
)

WEIGHTS = {"w0": 1, "w1": 2, "w2": 5, **{f"w{k}": 0 for k in range(3, 8)}}
CLOCK = {"ts": 0, "tx": 0}


def hops(random: Any) -> dict[str, Any]:
    """Two hops that count the bytes of a queue."""
    CLOCK["ts"] += int(random.integers(1, 2 * T))
    CLOCK["tx"] += int(random.integers(0, 20_000))
    told: dict[str, Any] = {"hop_count": 2, "dscp": int(random.integers(0, 24))}
    for hop in range(2):
        told |= {
            f"h{hop}_node": hop + 1, f"h{hop}_port": 4, f"h{hop}_b_bps": NIC,
            f"h{hop}_latency_ns": int(random.integers(0, T)), f"h{hop}_ts_ns": CLOCK["ts"] + hop,
            f"h{hop}_tx_bytes": CLOCK["tx"] * (hop + 1),
        }  # fmt: skip
    return told


class ByWeights:
    """The classes of two ports."""

    def __init__(self, **changes: Any) -> None:
        self.q = qos.record(changes)
        self.weights = np.array([1, 2, 5, 0, 0, 0, 0, 0], np.int64)
        self.ports, self.before = qos.state(2), [(-1, -1, -1)] * 2
        for port in self.ports:
            qos.reset(port, NIC)

    def __call__(self, told: dict[str, Any], now: int) -> Any:
        made, taus = hop_load.loads(2), [0, 0]
        for hop, load in enumerate(made):
            names = ("latency_ns", "ts_ns", "tx_bytes")
            sojourn, ts, tx = (told[f"h{hop}_{name}"] for name in names)
            sojourn_before, ts_before, tx_before = self.before[hop]
            rate = np.nan
            if ts_before >= 0:
                taus[hop] = ts - ts_before
                rate = (tx - tx_before) * 8 / (taus[hop] * 1e-9)
            qos.measured(
                load, self.ports[hop], self.q, self.weights, told["dscp"] // 8, now, T, sojourn,
                sojourn_before, rate,
            )  # fmt: skip
            self.before[hop] = (sojourn, ts, tx)
        path = hop_load.loads()[0]
        hop_load.worst(path, made, 2)
        if path.hop >= 0 and taus[path.hop] > 0:
            path.tau_ns, path.tau_by = taus[path.hop], Tau.RECORDS
        return path


@pytest.mark.parametrize("strategy", ["none", "binary_search", "proportional"])
def test_a_class_is_followed_by_each_strategy_as_by_hand(strategy: str) -> None:
    asked: dict[str, Any] = {"strategy": strategy, "active_T": 2.0}
    steps = random_steps(7, hops, count=100)
    made = assert_by_hand("hpcc_qos", steps, ByWeights(**asked), **asked, **WEIGHTS)
    assert made["tag"].drop_nulls().value_counts().height == 2
    assert made["u_upper"].drop_nulls().len() > 10


def of_one_hop(count: int = 6, **told: Any) -> list[Step]:
    """Data of one class by one hop, each with its ACK."""
    steps: list[Step] = []
    for at in range(count):
        own = {"hop_count": 1, "h0_node": 1, "h0_port": 1, "h0_b_bps": NIC, "h0_latency_ns": 1_000,
               "h0_ts_ns": 1_000 + at * T, "h0_tx_bytes": at * 2_500, "dscp": 10}  # fmt: skip
        steps += [("data", 100_000 + at * T, 1 + at * MSS, own | told),
                  ("ack", 105_000 + at * T, 1 + (at + 1) * MSS, {})]  # fmt: skip
    return steps


def test_the_class_is_that_of_the_dscp_the_map_or_the_queue() -> None:
    rate = 2_500 * 8 / (T * 1e-9) / NIC
    steps = of_one_hop(h0_queue=2)
    for asked, part in (({}, 2 / 8), ({"c1": 0}, 1 / 8), ({"class_by": "queue"}, 5 / 8)):
        made = decided("hpcc_qos", exchange(steps), **WEIGHTS, **asked)
        assert made["u_lower"].to_list()[1:] == pytest.approx([0.1 + rate / part] * 5)
        assert set(made["tau_ns"][1:]) == {float(T)}


def test_a_counter_of_the_whole_port_tells_no_rate_of_a_class() -> None:
    made = decided("hpcc_qos", exchange(of_one_hop()), tx_of="port", **WEIGHTS)
    assert set(made["tag"]) == {"lower_bound"}
    assert set(made["u_lower"]) == {0.1}


def test_a_reported_utilisation_of_a_queue_is_its_rate() -> None:
    steps = of_one_hop(h0_tx_bytes=None, h0_utilization=0.125)
    made = decided("hpcc_qos", exchange(steps), **WEIGHTS)
    assert made["u_lower"].to_list() == pytest.approx([0.1 + 0.125 / (2 / 8)] * 6)


def test_flows_of_other_classes_are_active_at_the_same_port() -> None:
    alone = exchange(of_one_hop())
    other = exchange(of_one_hop(dscp=16)).with_columns(
        pl.col("time_ns") - 50, pl.col("conversation") ^ 0xABCDEF, source=pl.lit("b")
    )
    asked: dict[str, Any] = {"strategy": "proportional", **WEIGHTS}
    both = pl.concat([alone, other]).sort("time_ns", maintain_order=True)
    made = Tracker({"N": 4}, companions={"hpcc_qos": asked}).advance(both).companions["hpcc_qos"]
    mine = made.filter(pl.col("source") == "a")["u_lower"][1:]
    rate = 2_500 * 8 / (T * 1e-9) / NIC
    assert decided("hpcc_qos", alone, **asked)["u_lower"][1:].to_list() == pytest.approx(
        [0.1 + rate] * 5
    )
    assert mine.to_list() == pytest.approx([0.1 + rate / (2 / 7)] * 5)


def test_a_port_that_nothing_names_and_a_class_without_weight_are_named() -> None:
    nameless = decided("hpcc_qos", exchange(of_one_hop(h0_port=None)), **WEIGHTS)
    assert (nameless["faults"] & Fault.PORT_UNKNOWN != 0).all()
    weightless = decided("hpcc_qos", exchange(of_one_hop(dscp=40)), **WEIGHTS)
    assert (weightless["faults"] & qos.Fault.NO_WEIGHT != 0).all()
    assert set(weightless["u_lower"]) == {0.1}


def test_made_up_ports_do_not_fill_the_memory() -> None:
    rows = exchange(of_one_hop(count=MOST_PORTS // 64 + 20))
    tracker = Tracker(companions={"hpcc_qos": {}})
    data = rows.filter(pl.col("payload_bytes") > 0)
    for turn in range(64):
        ports = pl.int_range(data.height, dtype=pl.UInt32) + turn * data.height
        tracker.advance(data.with_columns(h0_port=ports, time_ns=pl.col("time_ns") + turn * 10**9))
    companion: Any = tracker.companions["hpcc_qos"]
    assert len(companion.numbers) == companion.ports.size == MOST_PORTS
