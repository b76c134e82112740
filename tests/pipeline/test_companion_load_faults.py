"""What is missing, wrong or too much for companions that make loads: named, never an infinity."""

from typing import Any

import polars as pl
import pytest

from pipeline.cc import hpcc
from pipeline.companions.load_loop import WAITING, Fault
from tests.pipeline.load_rows import MSS, NIC, Step, T, decided, exchange, on_path, random_steps

NAN = float("nan")


def aecn(random: Any) -> dict[str, Any]:
    return {"aecn_u": random.integers(0, 256) / 100, "aecn_saturated": 0}


BAD = {
    "hpcc_aecn": [{"aecn_u": NAN}, {"aecn_u": -1.0}, {"aecn_u": float("inf")}],
    "hpcc_csig": [
        {"csig_variant": 1, "csig_t": 2, "csig_low": NAN, "csig_high": 4.0},
        {"csig_variant": 1, "csig_t": 0, "csig_low": 5.0, "csig_high": None},
        {"csig_variant": 1, "csig_t": 9, "csig_low": None, "csig_high": None},
        {"csig_variant": 1, "csig_t": 1, "csig_low": float("inf"), "csig_high": 1.0},
    ],
    "hpcc_latency": [{"hop_count": 1, "h0_node": 1}, {"hop_count": 1, "h0_ingress_ts_ns": 5}],
    "hpcc_reported": [
        {"hop_count": 1, "h0_b_bps": 0, "h0_qlen_bytes": 5},
        {"hop_count": 1, "h0_utilization": NAN},
        {"hop_count": 1, "h0_utilization": -1.0, "h0_qlen_bytes": 4},
    ],
    "hpcc_qos": [
        {"hop_count": 1, "h0_latency_ns": 5, "dscp": 8},
        {"hop_count": 1, "h0_node": 1, "h0_port": 1, "h0_b_bps": 0, "h0_latency_ns": 5, "dscp": 8},
        {"hop_count": 1, "h0_node": 1, "h0_port": 1, "h0_b_bps": NIC, "h0_latency_ns": 5},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_and_never_an_infinity(name: str) -> None:
    steps: list[Step] = []
    for at, told in enumerate(BAD[name] * 3):
        steps += [("data", 100_000 + at * T, 1 + at * MSS, told),
                  ("ack", 105_000 + at * T, 1 + (at + 1) * MSS, {})]  # fmt: skip
    made = decided(name, exchange(steps))
    assert made.height == len(steps) // 2
    assert (made["faults"][1:] != 0).all()
    for column in made.select(pl.selectors.float()):
        assert not column.is_infinite().any()
        assert not column.is_nan().any()


@pytest.mark.parametrize(("t", "nic", "why"), [(0, NIC, "t_from"), (T, 0, "nic_unknown")])
def test_a_path_that_is_not_known_says_so(t: int, nic: int, why: str) -> None:
    made = decided("hpcc_aecn", on_path(exchange(random_steps(1, aecn)), t, nic))
    assert made["W"].null_count() == (made.height if nic == 0 else 0)
    assert set(made["why"]) == ({why} if nic == 0 else {"receiver_time"})
    assert (made["faults"] & hpcc.Fault.UNKNOWN_WINDOW != 0).any() == (nic == 0)


def test_more_loads_than_can_wait_are_flagged() -> None:
    told = {"aecn_u": 0.5, "aecn_saturated": 0}
    steps: list[Step] = [("data", 100_000 + at, 1 + at * MSS, told) for at in range(WAITING + 6)]
    steps.append(("ack", 200_000, 1 + (WAITING + 6) * MSS, {}))
    [row] = decided("hpcc_aecn", exchange(steps)).iter_rows(named=True)
    assert row["faults"] & Fault.NOT_ALL_KEPT
    assert row["branch"] == "first_ack"
