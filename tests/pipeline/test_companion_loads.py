"""HPCC++ on loads of every kind: the pure kernels by hand, any split, and what is missing."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import Tracker
from pipeline.cc import csig_load, dre, hop_load
from pipeline.cc.hop_load import Tau
from pipeline.companions.load_loop import Fault
from pipeline.placed import with_ports
from tests.pipeline.conftest import chain
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

NAN = float("nan")
LOADS = ("hpcc_aecn", "hpcc_csig", "hpcc_latency", "hpcc_qos", "hpcc_reported")


def aecn(random: Any) -> dict[str, Any]:
    return {"aecn_u": random.integers(0, 256) / 100, "aecn_saturated": int(random.integers(0, 4))}


def aecn_load(told: dict[str, Any], _now: int) -> Any:
    load = hop_load.loads()[0]
    hop_load.aecn(load, told["aecn_u"], told["aecn_saturated"] & 1 != 0)
    return load


def csig(random: Any, prefix: str = "csig") -> dict[str, Any]:
    t = int(random.integers(0, 3))
    low = random.random() * (NIC, 1.0, 2 * T)[t]
    high = low * (1 + random.random()) if random.random() < 0.8 else None
    own = {"variant": 1, "t": t, "s": 7, "lm": 3, "low": low, "high": high}
    return {f"{prefix}_{name}": value for name, value in own.items()}


class CsigByHand:
    """Bounds without a topology: no port, no B, and no base delay."""

    def __init__(self, prefix: str = "csig") -> None:
        self.prefix, self.terms, self.q = prefix, csig_load.state()[0], csig_load.record()

    def __call__(self, told: dict[str, Any], now: int) -> Any:
        t, low, high = (told[f"{self.prefix}_{name}"] for name in ("t", "low", "high"))
        load = hop_load.loads()[0]
        high = NAN if high is None else high
        csig_load.csig(load, self.terms, self.q, t, low, high, -1, -1, 0, now, T)
        load.faults |= Fault.PORT_UNKNOWN
        load.faults |= Fault.BASE_UNKNOWN if t == csig_load.Signal.PD else 0
        return load


def hops(random: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"hop_count": 2, "int_reflected": False}
    for hop in range(2):
        told |= {
            f"h{hop}_node": hop + 1, f"h{hop}_port": 4, f"h{hop}_b_bps": NIC,
            f"h{hop}_latency_ns": int(random.integers(0, 2 * T)),
            f"h{hop}_qlen_bytes": int(random.integers(0, 20_000)),
            f"h{hop}_utilization": random.random(),
        }  # fmt: skip
    return told


def worst(made: Any) -> Any:
    path = hop_load.loads()[0]
    hop_load.worst(path, made, len(made))
    return path


def latency_load(told: dict[str, Any], _now: int) -> Any:
    made = hop_load.loads(2)
    for hop, load in enumerate(made):
        hop_load.latency(load, told[f"h{hop}_latency_ns"], 300, T)
    return worst(made)


class ReportedByHand:
    def __init__(self, **units: Any) -> None:
        self.q, self.before = hop_load.record(units), [(-1, 0), (-1, 0)]

    def __call__(self, told: dict[str, Any], now: int) -> Any:
        made = hop_load.loads(2)
        for hop, load in enumerate(made):
            queue, (before, seen) = told[f"h{hop}_qlen_bytes"], self.before[hop]
            since = now - seen if before >= 0 else -1
            used = told[f"h{hop}_utilization"]
            hop_load.reported(load, self.q, queue, before, since, used, NIC, T)
            self.before[hop] = (queue, now)
        return worst(made)


@pytest.mark.parametrize("seed", range(3))
def test_an_inflight_ratio_is_applied_by_the_ack_that_covers_it(seed: int) -> None:
    made = assert_by_hand("hpcc_aecn", random_steps(seed, aecn), aecn_load)
    assert set(made["why"]) == {"receiver_time"}
    assert set(made["tag"].drop_nulls()) == {"router_computed"}
    assert made["U_upper"].null_count() > 0


def test_the_upper_u_decides_where_it_is_asked_for() -> None:
    steps = random_steps(5, csig, count=200)
    upper = assert_by_hand("hpcc_csig", steps, CsigByHand(), acts_on="upper")
    assert not upper["W"].equals(decided("hpcc_csig", exchange(steps))["W"])


@pytest.mark.parametrize("seed", range(3))
def test_csig_gives_bounds_on_data_and_on_acks(seed: int) -> None:
    assert_by_hand("hpcc_csig", random_steps(seed, csig), CsigByHand())
    steps = random_steps(seed, lambda random: csig(random, "csig_echo"), reflected=True)
    made = assert_by_hand("hpcc_csig", steps, CsigByHand("csig_echo"))
    assert set(made.select("quality", "why").rows()) == {("estimated", "bounds")}
    assert (made["u_upper"] >= made["u_lower"]).all()


def test_latencies_less_the_base_delay_are_a_lower_bound() -> None:
    made = assert_by_hand("hpcc_latency", random_steps(1, hops), latency_load, base_delay_ns=300)
    told = made.filter(pl.col("tag").is_not_null())
    assert set(told["tag"]) == {"lower_bound"}
    assert told["u_upper"].null_count() == told.height
    placed = told.filter(pl.col("hop").is_not_null())
    assert (placed["node"] == placed["hop"] + 1).all()
    assert set(placed["port"]) == {4}


def test_the_time_between_two_stamps_of_a_hop_is_its_latency() -> None:
    told = {"hop_count": 1, "h0_node": 1, "h0_port": 1}
    stamps = {"h0_ingress_ts_ns": 1_000, "h0_ts_ns": 1_000 + T // 2}
    steps: list[Step] = [
        step
        for at in range(4)
        for step in (
            ("data", 100_000 + at * T, 1 + at * MSS, told | stamps),
            ("ack", 105_000 + at * T, 1 + (at + 1) * MSS, {}),
        )
    ]
    made = decided("hpcc_latency", exchange(steps))
    assert made["u_lower"].to_list() == [0.5] * 4
    assert (made["faults"] & Fault.BASE_UNKNOWN == Fault.BASE_UNKNOWN).all()
    assert made["U"].to_list() == [1.0, 0.5, 0.5, 0.5]


def test_reported_queues_and_utilisation_are_taken_in_their_units() -> None:
    units = {"queue_unit_bytes": 0.5, "utilization_full": 2.0}
    made = assert_by_hand("hpcc_reported", random_steps(2, hops), ReportedByHand(**units), **units)
    assert set(made["tag"].drop_nulls()) == {"reported"}


def test_stamps_of_a_hop_tell_tau_where_there_are_some() -> None:
    steps: list[Step] = []
    for at in range(4):
        told = {"hop_count": 1, "h0_node": 1, "h0_port": 1, "h0_b_bps": NIC, "h0_qlen_bytes": 500,
                "h0_utilization": 0.5, "h0_ts_ns": 1_000 + at * 4_000}  # fmt: skip
        steps += [("data", 100_000 + at * 7_000, 1 + at * MSS, told),
                  ("ack", 103_000 + at * 7_000, 1 + (at + 1) * MSS, {})]  # fmt: skip
    made = decided("hpcc_reported", exchange(steps))
    assert made["tau_ns"].to_list()[1:] == [4_000.0] * 3


def test_once_reflections_are_seen_what_data_carries_does_not_count() -> None:
    back = {"csig_echo_variant": 1, "csig_echo_t": 1, "csig_echo_s": 3, "csig_echo_lm": 1,
            "csig_echo_low": 0.25, "csig_echo_high": 0.5}  # fmt: skip
    tag = {name.replace("_echo", ""): value for name, value in back.items()} | {"csig_low": 0.9}
    steps: list[Step] = [
        step
        for at in range(5)
        for step in (
            ("data", 100_000 + at * T, 1 + at * MSS, tag | {"csig_high": 0.95}),
            ("ack", 105_000 + at * T, 1 + (at + 1) * MSS, back),
        )
    ]
    made = decided("hpcc_csig", exchange(steps))
    assert made["u_lower"].to_list() == [0.5] * 5
    assert made["u_upper"].null_count() == 5


def test_a_locator_brings_its_port_with_capacity_and_base_delay() -> None:
    topology = chain("leaf1", "spine1", "leaf2")
    port = topology.interfaces[0]
    known = type(topology)(
        topology.version, 0, T, (type(port)(**{**slots(port), "base_delay_ns": 500}),
                                 *topology.interfaces[1:]), topology.hosts,
    )  # fmt: skip
    steps: list[Step] = []
    for at in range(6):
        t, low, high = ((0, 0.5e10, 0.6e10), (2, 1_500.0, 2_500.0))[at % 2]
        told = {"csig_variant": 2, "csig_t": t, "csig_s": 9, "csig_lm": port.csig_lm,
                "csig_low": low, "csig_high": high}  # fmt: skip
        steps += [("data", 100_000 + at * T, 1 + at * MSS, told),
                  ("ack", 105_000 + at * T, 1 + (at + 1) * MSS, {})]  # fmt: skip
    made = decided("hpcc_csig", with_ports(exchange(steps), known))
    assert made["faults"].to_list() == [0] * 6
    assert made["u_lower"].to_list()[1:] == [1 - 0.6] * 5
    assert made["u_upper"].to_list()[1:] == pytest.approx([0.5 + 0.2] * 5)
    assert set(made["node"].drop_nulls()) == {port.node_id}
    read = type(known).from_yaml(known.to_yaml())
    assert set(read.interfaces) == set(known.interfaces)


def slots(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in type(record).__slots__}


def test_any_split_gives_the_same_bits() -> None:
    def told(random: Any) -> dict[str, Any]:
        return aecn(random) | csig(random) | hops(random) | {"dscp": 40}

    rows = exchange(random_steps(9, told, count=120))
    asked: dict[str, Any] = {name: {} for name in (*LOADS, "dre")}
    whole = Tracker(companions=asked).advance(rows).companions
    tracker, cuts = Tracker(companions=asked), [0, 1, 3, 4, 5, 30, 31, 77, rows.height]
    parts = [tracker.advance(rows[a:b]).companions for a, b in pairwise(cuts)]
    for name, frame in whole.items():
        assert frame.height
        assert_frame_equal(pl.concat([part[name] for part in parts]), frame)


def test_a_connection_that_begins_anew_begins_with_nothing() -> None:
    once = exchange(random_steps(3, aecn))
    shift = int(once["time_ns"].max()) + 1_000_000
    again = once.with_columns(pl.col("time_ns") + shift, pl.col("seq") + 7, pl.col("ack") + 7)
    made = decided("hpcc_aecn", pl.concat([once, again]))
    half = made.height // 2
    for name in ("U", "W", "u_lower", "branch", "tau_ns", "faults"):
        assert made[name][:half].equals(made[name][half:], null_equal=True), name


def test_a_rate_is_what_the_estimator_says_at_each_data_packet() -> None:
    steps = random_steps(4, aecn)
    made = decided("dre", exchange(steps), bytes_of="payload", alpha=0.2)
    s, p = dre.state()[0], dre.record({"alpha": 0.2})
    dre.reset(s)
    expected = []
    for what, now, _, _ in steps:
        if what == "data":
            branch = dre.sample(s, p, now, MSS)
            expected.append((s.rate_bps, s.settled, s.faults, dre.Branch(branch).name.lower()))
    columns = ("rate_bps", "settled", "faults", "branch")
    assert list(zip(*(made[name] for name in columns), strict=True)) == expected
    wire = decided("dre", exchange(steps), alpha=0.2)
    assert wire["rate_bps"].to_numpy() == pytest.approx(made["rate_bps"].to_numpy() * 1.054)


def test_tau_of_the_observer_is_what_loads_without_stamps_have() -> None:
    assert aecn_load({"aecn_u": 1.0, "aecn_saturated": 0}, 0).tau_by == Tau.TAU_OBSERVER
    steps = random_steps(6, aecn)
    made = decided("hpcc_aecn", exchange(steps))
    assert (np.array(made["tau_ns"].drop_nulls()) <= T).all()
