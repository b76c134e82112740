"""The receiver's HPCC++ beside the tracker: as its kernels say by hand, row by row."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import Tracker
from pipeline.cc import hop_record, hpcc, hpcc_receiver
from pipeline.cc.hop_record import KINDS, WIDEST
from pipeline.cc.hpcc_receiver import Clock, Fault
from pipeline.stacks import paths_of
from tests.pipeline.conftest import observations

NIC, T, RTT = 100 * 10**9, 12_000, 50_000
OWN = ("U", "W", "Wc", "R", "u_max", "lastUpdateSeq", "incStage", "hop_count", "faults", "u_hop",
       "W_sent", "N", "sent")  # fmt: skip
NEAR_RECEIVER, NEAR_SENDER = 1_000, 49_000
"""Times from the tap to the receiver and back, of a round trip of `RTT`."""
Hops = list[dict[str, int]]


def handshake(sport: int = 1000, lag_ns: int = NEAR_RECEIVER) -> list[dict[str, Any]]:
    """The segments before the first data, at a tap of that distance to the receiver."""
    there = {"sport": sport, "payload_bytes": 0, "mss": 1000}
    back = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": sport,
            "payload_bytes": 0, "mss": 1000}  # fmt: skip
    return [
        {"time_ns": 0, "flags": 2, "seq": 0, **there},
        {"time_ns": lag_ns, "flags": 18, "seq": 0, "ack": 1, **back},
        {"time_ns": RTT, "flags": 16, "seq": 1, "ack": 1, **there},
    ]


def packet(time_ns: int, seq: int, hops: Hops, **told: Any) -> dict[str, Any]:
    """One data packet whose stack has these hops."""
    stack = {f"h{at}_{name}": value for at, hop in enumerate(hops) for name, value in hop.items()}
    return {"time_ns": time_ns, "seq": seq, "ack": 1, "hop_count": len(hops), **stack, **told}


def hop(n: int, node: int = 1, port: int = 1) -> dict[str, int]:
    """The n-th record of a port at nine tenths of its rate."""
    return {"ts_ns": n * 1000, "tx_bytes": n * 11_250, "qlen_bytes": 0, "b_bps": NIC,
            "node": node, "port": port}  # fmt: skip


def steady(count: int, **told: Any) -> list[dict[str, Any]]:
    """So many packets of one flow, a microsecond apart."""
    return [packet(60_000 + n * 1000, 1 + n * 1000, [hop(n)], **told) for n in range(count)]


def on_path(rows: list[dict[str, Any]], nic: int | None = NIC, t: int | None = T) -> pl.DataFrame:
    """Observations whose topology is known as far as said."""
    known = {"src_nic_bps": nic, "dst_nic_bps": nic, "base_rtt_ns": t}
    return observations(rows).with_columns(
        pl.lit(value, pl.Int64).alias(name) for name, value in known.items()
    )


def received(rows: pl.DataFrame, hpcc_parameters: Any = None, **parameters: Any) -> pl.DataFrame:
    """What the companion decides."""
    tracker = Tracker(hpcc_parameters, companions={"hpcc_receiver": parameters})
    return tracker.advance(rows).companions["hpcc_receiver"]


def traffic(seed: int, flows: int = 5, count: int = 300) -> list[dict[str, Any]]:
    """Packets of some flows over two last hops; paths change, telemetry is odd now and then."""
    random = np.random.default_rng(seed)
    rows = [row for flow in range(flows) for row in handshake(1000 + flow)]
    now, tx = 60_000, np.zeros(8, np.int64)
    for n in range(count):
        now += int(random.integers(0, 4000))
        flow = int(random.integers(flows))
        ports = [(1 + int(random.random() < 0.1), 7), (5, flow % 2)][: 1 + (random.random() > 0.05)]
        hops = []
        for node, port in ports:
            tx[node] += int(random.integers(0, 60_000))
            hops.append({
                "ts_ns": now - int(random.integers(0, 50)), "tx_bytes": int(tx[node]),
                "qlen_bytes": int(random.integers(0, 100_000)), "b_bps": NIC, "node": node,
                "port": port,
            })  # fmt: skip
        rows.append(packet(now, 1 + 1000 * n, hops, sport=1000 + flow))
    return sorted(rows, key=lambda row: int(row["time_ns"]))


class ByHand:
    """One receiver, its kernels called one after the other."""

    def __init__(self, p: Any, q: Any, clock: Clock) -> None:
        self.p, self.q = p, q
        self.s, self.r, self.links = hpcc.state()[0], hpcc_receiver.state()[0], hop_record.links()
        hpcc.reset(self.s, p)
        hpcc.set_path(self.s, p, T, NIC, 0)
        hpcc_receiver.reset(self.r, clock)

    def take(self, row: dict[str, Any], flows: int) -> dict[str, Any]:
        nhop = row["hop_count"]
        told = np.full((len(KINDS), nhop, 1), -1, np.int64)
        for at in range(nhop):
            told[:, at, 0] = [row[f"h{at}_{name}"] for name in KINDS]
        [path] = paths_of(pl.DataFrame([row]), np.array([nhop]))
        hop_record.path_changed(self.s, path)
        branch = hpcc_receiver.new_int(
            self.s, self.r, self.p, self.q, self.links, row["time_ns"], flows, nhop, told, 0,
            WIDEST, WIDEST, np.empty((nhop, 1)),
        )  # fmt: skip
        s, r = self.s, self.r
        made = {name: s[name].item() for name in OWN[:10] if name != "hop_count"}
        made |= {"hop_count": int(s.nhop), "W_sent": float(r.W_sent), "N": int(r.N)}
        return {**made, "sent": int(r.sent), "branch": hpcc_receiver.Branch(branch).name.lower()}


def by_hand(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each receiver decides; flows of a last hop are counted from a list."""
    p, q = hpcc.record(), hpcc_receiver.record()
    receivers: dict[int, ByHand] = {}
    seen: dict[tuple[int, int], dict[int, int]] = {}
    made = []
    for row in rows:
        if not row.get("hop_count"):
            continue
        last, flow = row["hop_count"] - 1, row["sport"]
        here = seen.setdefault((row[f"h{last}_node"], row[f"h{last}_port"]), {})
        here[flow] = row["time_ns"]
        count = sum(row["time_ns"] - when < T for when in here.values())
        if flow not in receivers:
            receivers[flow] = ByHand(p, q, Clock.RECEIVER_EDGE)
        made.append(receivers[flow].take(row, count))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_decisions_are_those_of_the_kernels_by_hand(seed: int) -> None:
    rows = traffic(seed)
    made = received(on_path(rows))
    expected = pl.DataFrame(by_hand(rows), infer_schema_length=None)
    assert {"full_update_mi", "fast_react_mi", "path_change"} <= set(made["branch"].unique())
    assert_frame_equal(
        made.select(*OWN, pl.col("branch").cast(pl.String)),
        expected.with_columns(pl.selectors.float().fill_nan(None)).select(*OWN, "branch"),
        check_dtypes=False,
        check_exact=True,
    )


def test_any_split_gives_the_same() -> None:
    rows = on_path(traffic(1))
    whole = received(rows)
    tracker = Tracker(companions={"hpcc_receiver": {}})
    parts = [tracker.advance(rows[a:b]) for a, b in pairwise([0, 1, 20, 21, 150, rows.height])]
    assert_frame_equal(pl.concat([part.companions["hpcc_receiver"] for part in parts]), whole)


def test_what_was_kept_in_a_snapshot_goes_on_with_its_counts() -> None:
    rows = on_path(traffic(2))
    whole = received(rows)
    first, second = (Tracker(companions={"hpcc_receiver": {}}) for _ in range(2))
    early = first.advance(rows[:200]).companions["hpcc_receiver"]
    second.restore(first.snapshot())
    late = second.advance(rows[200:]).companions["hpcc_receiver"]
    assert_frame_equal(pl.concat([early, late]), whole)


def test_at_the_receivers_edge_time_is_the_receivers() -> None:
    edge = received(on_path([*handshake(), *steady(3)]))
    assert edge["quality"].to_list() == ["exact"] * 3
    far = on_path([*handshake(lag_ns=NEAR_SENDER), *steady(3)])
    assert received(far)["why"].to_list() == ["receiver_time"] * 3
    assert received(far, clock="receiver_edge")["quality"].to_list() == ["exact"] * 3
    told = received(on_path([*handshake(), *steady(3)]), clock="elsewhere")
    assert told["quality"].to_list() == ["estimated"] * 3
    without = received(on_path([*handshake(), *steady(1)], t=None))
    assert without["why"].to_list() == ["t_from_handshake"]


def test_messages_are_a_round_trip_apart() -> None:
    made = received(on_path([*handshake(), *steady(40)]))
    assert made["branch"][0] == "first_ack"
    times = made.filter(pl.col("sent") == 1)["time_ns"].to_list()
    assert times == [73_000, 86_000, 99_000]
    assert made["W_sent"].to_list()[:13] == [None] * 13
    assert made.filter(pl.col("sent") == 1).select((pl.col("W_sent") == pl.col("W")).all()).item()


@pytest.mark.parametrize(
    ("known", "why"), [({"nic": None}, "nic_unknown"), ({"t": None}, "t_unknown")]
)
def test_without_the_paths_values_windows_are_unknown(known: dict[str, Any], why: str) -> None:
    rows = steady(3) if why == "t_unknown" else [*handshake(), *steady(3)]
    made = received(on_path(rows, **known))
    assert made["why"].to_list() == [why] * 3
    if why == "t_unknown":
        assert made["faults"][1] & hpcc.Fault.ZERO_T
        assert made["faults"][1] & Fault.FLOWS_UNKNOWN
    else:
        assert made["W"].null_count() == 3
        assert made["U"].to_list()[1:] != [1.0, 1.0]


def test_a_capture_that_begins_mid_flow_leaves_windows_unknown() -> None:
    made = received(on_path(steady(3)))
    assert made["quality"].to_list() == ["unknown"] * 3
    assert made["why"].to_list() == ["mid_flow"] * 3


def test_a_counter_is_given_on_when_its_flows_are_silent() -> None:
    times = {1: (60_000, 61_000, 90_000), 2: (62_000, 74_000, 95_000)}
    rows = [
        packet(time, 1, [hop(time // 1000, port=port)], sport=1000 + port)
        for port, each in times.items()
        for time in each
    ]
    rows = [*handshake(1001), *handshake(1002), *sorted(rows, key=lambda row: row["time_ns"])]
    made = received(on_path(rows), last_hops=1)
    unknown = (made["faults"] & Fault.FLOWS_UNKNOWN).to_list()
    assert [fault != 0 for fault in unknown] == [False, False, True, False, False, True]
    assert received(on_path(rows))["N"].to_list() == [1] * 6


def test_a_full_counter_is_a_lower_bound() -> None:
    rows = [row for flow in range(4) for row in handshake(1000 + flow)]
    rows += [packet(60_000 + flow, 1, [hop(60)], sport=1000 + flow) for flow in range(4)]
    assert received(on_path(rows))["N"].to_list() == [1, 2, 3, 4]
    assert received(on_path(rows), places=2)["N"].to_list() == [1, 2, 2, 2]
    assert received(on_path(rows), span_ns=2)["N"].to_list() == [1, 2, 2, 2]


def test_a_last_hop_without_a_name_is_not_counted() -> None:
    rows = [*handshake(), *steady(2)]
    for row in rows[3:]:
        del row["h0_port"]
    made = received(on_path(rows))
    assert made["N"].to_list() == [0, 0]
    assert all(fault & Fault.FLOWS_UNKNOWN for fault in made["faults"])
    by_parameter = received(on_path(rows), N_from="parameter")
    assert not any(fault & Fault.FLOWS_UNKNOWN for fault in by_parameter["faults"])


def test_only_data_that_carries_telemetry_is_heard() -> None:
    rows = [*handshake(), *steady(1)]
    rows += [packet(70_000, 1001, []), packet(71_000, 1001, [hop(9)], payload_bytes=0)]
    rows += [packet(72_000, 1001, [hop(10)], int_reflected=True)]
    assert received(on_path(rows)).height == 1


def test_two_points_are_two_receivers() -> None:
    rows = sorted(
        ({**row, "point": point} for row in [*handshake(), *steady(20)] for point in ("a", "b")),
        key=lambda row: row["time_ns"],
    )
    made = received(on_path(rows))
    alone = received(on_path([*handshake(), *steady(20)]))
    for point in ("a", "b"):
        assert made.filter(point=point).select(OWN).equals(alone.select(OWN))


def test_counters_that_memory_has_no_room_for_are_refused() -> None:
    with pytest.raises(ValueError, match="last_hops times places is at most 67108864"):
        Tracker(companions={"hpcc_receiver": {"last_hops": 65536, "places": 10**6}})
