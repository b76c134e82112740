"""HPCC++ by probes beside the tracker: as its kernels say by hand, and probes move nothing."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import Tracker
from pipeline.cc import hop_record, hpcc, hpcc_probe
from pipeline.cc.hop_record import KINDS, WIDEST
from pipeline.cc.hpcc_probe import PATH, Fault
from pipeline.stacks import paths_of
from tests.pipeline.test_companion_receiver import (
    NEAR_SENDER,
    NIC,
    Hops,
    T,
    handshake,
    hop,
    on_path,
    packet,
)

DSCP = 9
OWN = ("U", "W", "Wc", "R", "u_max", "lastUpdateSeq", "incStage", "hop_count", "faults", "u_hop",
       "rtt_ns", "forgotten")  # fmt: skip
UDP = {"protocol": 17, "flags": None, "seq": None, "ack": None}
ROCE = {**UDP, "sport": 4791, "dport": 4791}
THERE, BACK = 7, 8
"""RoCE's queue pairs: that of the receiver, which data goes to, and the sender's."""


def turned(row: dict[str, Any]) -> dict[str, Any]:
    """The row in the other direction."""
    ends = {"src": "10.2.0.1", "dst": "10.1.0.1"}
    return {**row, **ends, "sport": row.get("dport", 2000), "dport": row.get("sport", 1000)}


def probe(time_ns: int, number: int, hops: Hops | None = None, **told: Any) -> dict[str, Any]:
    """A probe as it leaves, in the middle of a TCP connection's numbers."""
    own = {"ip_id": number, "dscp": DSCP, "payload_bytes": 8, "ack": 5_000, **told}
    return {**packet(time_ns, 77_777, hops or []), **own}


def response(time_ns: int, number: int, hops: Hops, **told: Any) -> dict[str, Any]:
    """What comes back of it."""
    own = {"ip_id": number, "dscp": DSCP, "payload_bytes": 0, "int_reflected": True, **told}
    return turned({**packet(time_ns, 88_888, hops), **own})


def probed(rows: pl.DataFrame, hpcc_parameters: Any = None, **parameters: Any) -> pl.DataFrame:
    """What the companion decides."""
    companions = {"hpcc_probe": parameters}
    tracker = Tracker(hpcc_parameters, companions=companions, probe_dscp=DSCP)
    return tracker.advance(rows).companions["hpcc_probe"]


def pairs(count: int, every: int = 20_000) -> list[dict[str, Any]]:
    """So many probes of one flow with their responses 10 us later."""
    rows = []
    for n in range(count):
        at = 60_000 + n * every
        rows += [probe(at, n), response(at + 10_000, n, [hop(n)])]
    return rows


def near(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows behind a handshake that was seen beside the sender."""
    return on_path([*handshake(lag_ns=NEAR_SENDER), *rows])


def traffic(seed: int, flows: int = 3, count: int = 250) -> list[dict[str, Any]]:
    """Probes and responses of some flows: some are lost, late, of another path, or of no probe."""
    random = np.random.default_rng(seed)
    rows = [row for each in range(flows) for row in handshake(1000 + each, NEAR_SENDER)]
    now, tx = 60_000, np.zeros(8, np.int64)
    waiting: list[tuple[int, int]] = []
    for n in range(count):
        now += int(random.integers(500, 5000))
        if random.random() < 0.5 or not waiting:
            flow = int(random.integers(flows))
            waiting.append((flow, n))
            rows.append(probe(now, n, sport=1000 + flow))
            continue
        flow, number = waiting.pop(int(random.integers(len(waiting))))
        hops = []
        for node in (1 + int(random.random() < 0.1), 5)[: 1 + (random.random() > 0.05)]:
            tx[node] += int(random.integers(0, 60_000))
            hops.append({
                "ts_ns": now, "tx_bytes": int(tx[node]), "b_bps": NIC, "node": node, "port": 7,
                "qlen_bytes": int(random.integers(0, 100_000)),
            })  # fmt: skip
        number += 100_000 * int(random.random() < 0.05)
        rows.append(response(now, number % 65536, hops, sport=1000 + flow))
    return sorted(rows, key=lambda row: int(row["time_ns"]))


class ByHand:
    """One prober, its kernels called one after the other."""

    def __init__(self) -> None:
        self.p, self.q = hpcc.record(), hpcc_probe.record()
        self.s, self.r, self.links = hpcc.state()[0], hpcc_probe.state()[0], hop_record.links()
        hpcc.reset(self.s, self.p)
        hpcc.set_path(self.s, self.p, T, NIC, 0)
        hpcc_probe.reset(self.r)

    def hear(self, row: dict[str, Any]) -> dict[str, Any]:
        nhop = row["hop_count"]
        told = np.full((len(KINDS), nhop, 1), -1, np.int64)
        for at in range(nhop):
            told[:, at, 0] = [row[f"h{at}_{name}"] for name in KINDS]
        [path] = paths_of(pl.DataFrame([row]), np.array([nhop]))
        hop_record.path_changed(self.s, path)
        branch = hpcc_probe.probe_response(
            self.s, self.r, self.p, self.q, self.links, row["ip_id"], row["time_ns"], PATH, nhop,
            told, 0, WIDEST, WIDEST, np.empty((nhop, 1)),
        )  # fmt: skip
        made = {name: self.s[name].item() for name in OWN[:10] if name != "hop_count"}
        made |= {name: self.r[name].item() for name in ("rtt_ns", "forgotten")}
        made |= {"hop_count": int(self.s.nhop), "faults": int(self.s.faults | self.r.faults)}
        return {**made, "branch": hpcc_probe.Branch(branch).name.lower()}


def by_hand(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each prober decides."""
    probers: dict[int, ByHand] = {}
    made = []
    for row in rows:
        if row.get("dscp") != DSCP:
            continue
        back = row.get("int_reflected", False)
        prober = probers.setdefault(row["dport"] if back else row["sport"], ByHand())
        if back:
            made.append(prober.hear(row))
        else:
            hpcc_probe.probe_sent(prober.r, row["ip_id"], row["time_ns"])
    return made


@pytest.mark.parametrize("seed", range(3))
def test_decisions_are_those_of_the_kernels_by_hand(seed: int) -> None:
    rows = traffic(seed)
    made = probed(on_path(rows))
    expected = pl.DataFrame(by_hand(rows), infer_schema_length=None)
    branches = set(made["branch"].unique())
    assert {"first_response", "full_update_mi", "path_change", "within_rtt"} <= branches
    assert_frame_equal(
        made.select(*OWN, pl.col("branch").cast(pl.String)),
        expected.with_columns(pl.selectors.float().fill_nan(None)).select(*OWN, "branch"),
        check_dtypes=False,
        check_exact=True,
    )


def test_any_split_gives_the_same() -> None:
    rows = on_path(traffic(1))
    tracker = Tracker(companions={"hpcc_probe": {}}, probe_dscp=DSCP)
    parts = [tracker.advance(rows[a:b]) for a, b in pairwise([0, 1, 20, 21, 150, rows.height])]
    made = pl.concat([part.companions["hpcc_probe"] for part in parts])
    assert_frame_equal(made, probed(rows))


def test_probes_move_nothing_of_the_tracker() -> None:
    data: list[dict[str, Any]] = []
    for n in range(40):
        at = 60_000 + n * 10_000
        data += [packet(at, 1 + n * 1000, [hop(n)] if n > 20 else [], ecn=1)]
        data += [turned(packet(at + 6_000, 1, [hop(n)] if n < 20 else [], ack=1001 + n * 1000,
                               int_reflected=n < 20, flags=80, payload_bytes=0))]  # fmt: skip
    probes = []
    for n in range(0, 80, 2):
        at = 61_000 + n * 5_000
        probes += [probe(at, n, [hop(500 + n, 9)]), probe(at + 1, n + 1)]
        probes += [response(at + 3_000, n, [hop(900 + n)], ack=900_000)]
    start = [{**row, "flags": row["flags"] | 192} for row in handshake(lag_ns=NEAR_SENDER)]
    both = sorted([*data, *probes], key=lambda row: int(row["time_ns"]))
    alone, mixed = (
        Tracker(companions={"swift": {}}, probe_dscp=DSCP).advance(on_path([*start, *rows]))
        for rows in (data, both)
    )
    assert alone.decisions.height == 80
    assert set(alone.decisions["algorithm"]) == {"hpcc", "dctcp"}
    assert_frame_equal(mixed.decisions.drop("frame"), alone.decisions.drop("frame"))
    swift = (each.companions["swift"].drop("frame") for each in (mixed, alone))
    assert_frame_equal(*swift)
    of_data = pl.col("time_ns").is_in([row["time_ns"] for row in data])
    kept = mixed.hop_loads.filter(of_data).drop("frame")
    assert_frame_equal(kept, alone.hop_loads.drop("frame"))
    unset = Tracker().advance(on_path([*start, *both]))
    assert unset.decisions.height > 80


def test_probes_give_hop_loads_where_data_carries_no_telemetry() -> None:
    rows = [probe(60_000 + n * 1000, n, [hop(n)]) for n in (0, 1)]
    tracked = Tracker(probe_dscp=DSCP).advance(near(*rows))
    assert tracked.hop_loads["u0"].to_list() == [None, pytest.approx(0.9)]
    assert tracked.decisions.is_empty()


def test_a_response_pairs_with_its_probe_and_is_exact_at_the_sender() -> None:
    made = probed(near(*pairs(3)))
    assert made["branch"].to_list() == ["first_response", "full_update_mi", "full_update_mi"]
    assert made["rtt_ns"].to_list() == [10_000] * 3
    assert made["quality"].to_list() == ["exact"] * 3
    assert made["lastUpdateSeq"].to_list() == [70_000, 90_000, 110_000]
    assert made["inflight_bytes"].to_list() == [0, 0, 0]


def test_a_response_may_be_known_by_its_number() -> None:
    rows = [{**row, "int_reflected": None} if row.get("int_reflected") else row for row in pairs(2)]
    assert probed(near(*rows)).is_empty()
    assert probed(near(*rows), response_by="number").height == 2


def test_the_number_may_be_that_of_tcp_timestamps() -> None:
    rows = pairs(2)
    for n, row in enumerate(rows):
        row["ts_ecr" if row.get("int_reflected") else "ts_val"] = 500 + n // 2
        row["ip_id"] = n
    assert probed(near(*rows))["branch"].to_list() == ["not_taken"] * 2
    assert probed(near(*rows), number="tcp_timestamp")["rtt_ns"].to_list() == [10_000] * 2


def test_without_a_number_nothing_is_paired() -> None:
    made = probed(near(*pairs(2)), number="roce_psn")
    assert made["branch"].to_list() == ["not_taken"] * 2
    assert made["faults"].to_list() == [Fault.UNMATCHED] * 2
    taken = probed(near(*pairs(2)), number="roce_psn", unmatched="take")
    assert taken["branch"].to_list() == ["first_response", "full_update_mi"]


def test_telemetry_that_comes_back_on_what_acknowledges_nothing_is_a_notification() -> None:
    rows = [response(60_000 + n * 20_000, n, [hop(n)], **UDP, dscp=0) for n in range(3)]
    made = probed(on_path(rows))
    assert made["branch"].to_list() == ["first_response", "full_update_mi", "full_update_mi"]
    assert made["why"].to_list() == ["mid_flow"] * 3


def roce(one: list[dict[str, int]]) -> pl.DataFrame:
    """RoCE data that is acknowledged, and probes that each get one link back."""
    data = {**ROCE, "roce_opcode": 4, "roce_qp": THERE}
    ack = {**ROCE, "roce_opcode": 17, "roce_qp": BACK, "roce_syndrome": 0, "payload_bytes": 0}
    rows = [{"time_ns": 1000, "roce_psn": 0, **data},
            turned({"time_ns": 9000, "roce_psn": 0, **ack})]  # fmt: skip
    for n, link in enumerate(one, start=1):
        at = n * 20_000
        rows.append({**probe(at, n), **data, "roce_psn": 70 + n, "payload_bytes": 8})
        rows.append({**response(at + 8_000, n, [link]), **ack, "roce_psn": 70 + n})
    return on_path(rows)


def test_one_link_of_roce_counts_only_where_it_is_known_to_be_the_same() -> None:
    named = [hop(n) for n in range(3)]
    blank = [{name: value for name, value in each.items() if name not in ("node", "port")}
             for each in named]  # fmt: skip
    unknown = probed(roce(blank))
    assert unknown["branch"].to_list() == ["not_taken"] * 3
    assert unknown["faults"].to_list() == [Fault.LINK_UNKNOWN] * 3
    for rows, told in ((blank, {"one_link": "same"}), (named, {})):
        made = probed(roce(rows), number="roce_psn", **told)
        assert made["branch"].to_list() == ["first_response", "full_update_mi", "full_update_mi"]
        assert made["rtt_ns"].to_list() == [8_000] * 3
    other = probed(roce([hop(0), hop(1, port=2), hop(2, port=2)]))
    assert other["branch"].to_list() == ["first_response", "path_change", "full_update_mi"]
    assert other["faults"].to_list() == [0, Fault.LINK_CHANGED, 0]


@pytest.mark.parametrize(
    ("known", "why"), [({"nic": None}, "nic_unknown"), ({"t": None}, "t_from_handshake")]
)
def test_without_the_paths_values_windows_are_unknown(known: dict[str, Any], why: str) -> None:
    rows = [*handshake(lag_ns=NEAR_SENDER), *pairs(2)]
    assert probed(on_path(rows, **known))["why"].to_list() == [why] * 2
    blind = probed(on_path(pairs(2), t=None))
    assert blind["why"].to_list() == ["t_unknown"] * 2
    assert blind["branch"].to_list() == ["first_response", "bad_telemetry"]
    assert blind["faults"][1] == hpcc.Fault.ZERO_T
