"""Rows of one flow with telemetry on data or on ACKs, and HPCC++ on their loads by hand."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from pipeline import Tracker
from pipeline.cc import hop_load, hpcc
from tests.pipeline.conftest import observations

MSS, RTT_NS, T, NIC = 1000, 50_000, 10_000, 10**10
SHOWN = ("U", "U_upper", "W", "Wc", "R", "u_lower", "u_upper", "incStage", "faults", "tau_ns")
Step = tuple[str, int, int, dict[str, Any]]
THERE = {"direction": 0}
BACK = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000, "direction": 1}


def exchange(steps: list[Step]) -> pl.DataFrame:
    """A handshake, then steps ("data", time, seq, columns) or ("ack", time, ack, columns)."""
    empty = {"payload_bytes": 0, "mss": MSS}
    rows: list[dict[str, Any]] = [
        {"time_ns": 0, "flags": 2, "seq": 0, **empty, **THERE},
        {"time_ns": RTT_NS, "flags": 18, "seq": 0, "ack": 1, **empty, **BACK},
        {"time_ns": RTT_NS, "seq": 1, "ack": 1, "payload_bytes": 0, **THERE},
    ]
    for what, time_ns, number, told in steps:
        own: dict[str, Any] = {"seq": number, "ack": 1, "payload_bytes": MSS, **THERE}
        if what == "ack":
            own = {"seq": 1, "ack": number, "payload_bytes": 0, **BACK}
        rows.append({"time_ns": time_ns, **own, **told})
    return on_path(observations(rows))


def on_path(rows: pl.DataFrame, t: int = T, nic: int = NIC) -> pl.DataFrame:
    """The rows with what a topology would tell."""
    told = {"base_rtt_ns": t, "src_nic_bps": nic, "dst_nic_bps": nic}
    return rows.with_columns(pl.lit(value, pl.Int64).alias(name) for name, value in told.items())


def random_steps(seed: int, tell: Any, *, reflected: bool = False, count: int = 60) -> list[Step]:
    """Data and, after one to three segments, an ACK of them; `tell` makes columns of either."""
    random = np.random.default_rng(seed)
    steps: list[Step] = []
    now, sent, left = 100_000, 1, 1
    for _ in range(count):
        now += int(random.integers(1, 9_000))
        told = tell(random) if not reflected and random.random() < 0.8 else {}
        steps.append(("data", now, sent, told))
        sent, left = sent + MSS, left - 1
        if left == 0:
            now += int(random.integers(1, 9_000))
            told = tell(random) if reflected and random.random() < 0.8 else {}
            steps.append(("ack", now, sent, told))
            left = int(random.integers(1, 4))
    return steps


def decided(name: str, rows: pl.DataFrame, **parameters: Any) -> pl.DataFrame:
    """What a companion decides."""
    return Tracker({"N": 4}, companions={name: parameters}).advance(rows).companions[name]


class ByHand:
    """HPCC++ of one sender: loads as they were seen go in, decisions come out."""

    def __init__(self, **acting: Any) -> None:
        self.p, self.q = hpcc.record({"N": 4}), hop_load.record(acting)
        self.s, self.v = hpcc.state()[0], hop_load.state()[0]
        hpcc.reset(self.s, self.p)
        hpcc.set_path(self.s, self.p, T, NIC, 0)
        hop_load.reset(self.v, self.p)

    def run(self, steps: list[Step], make: Any) -> Iterator[dict[str, Any]]:
        """The decision at each ACK once there was telemetry; `make` a load of (columns, time)."""
        waiting: list[tuple[Any, int]] = []
        nxt, began = 1, False
        for what, now, number, told in steps:
            load = make(told, now) if told else None
            began |= load is not None
            if what == "data":
                nxt = number + MSS
                waiting += [(load, now)] if load is not None else []
                continue
            loads, waiting = waiting + ([(load, now)] if load is not None else []), []
            if began:
                yield self.answer(loads, number, nxt)

    def answer(self, loads: list[tuple[Any, int]], ack: int, nxt: int) -> dict[str, Any]:
        """One ACK."""
        hpcc.no_telemetry(self.s)
        began, good = bool(self.s.started), False
        for load, seen in loads:
            good |= hop_load.averaged(self.s, self.v, load, seen)
        if loads:
            hop_load.answered(self.s, self.v, self.p, self.q, began, good, ack, nxt)
        load = loads[-1][0] if loads else None
        return {
            "U_upper": self.v.U_upper,
            **{name: self.s[name] for name in ("U", "W", "Wc", "R", "incStage", "faults")},
            **{name: load[name.removeprefix("u_")] if loads else np.nan
               for name in ("u_lower", "u_upper", "tau_ns")},
            "branch": hpcc.Branch(int(self.s.branch)).name.lower(),
        }  # fmt: skip


def assert_by_hand(name: str, steps: list[Step], make: Any, **parameters: Any) -> pl.DataFrame:
    """The companion decides to the bit what the pure kernels do by hand; gives its decisions."""
    made = decided(name, exchange(steps), **parameters)
    acting = {key: value for key, value in parameters.items() if key == "acts_on"}
    expected = list(ByHand(**acting).run(steps, make))
    assert made.height == len(expected) > 0
    assert made["branch"].to_list() == [row["branch"] for row in expected]
    for column in SHOWN:
        ours = made[column].fill_null(np.nan) if made[column].dtype.is_float() else made[column]
        theirs = pl.Series([row[column] for row in expected], dtype=made[column].dtype)
        assert list(map(str, ours)) == list(map(str, theirs)), column
    return made
