"""HPCC++ against the pseudo-code taken literally, and against the simulator of its authors."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import hop_record, hpcc

DATA = Path(__file__).resolve().parent.parent / "data" / "cc"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "hpcc"
ORACLES = ("a_2to1", "b_incast16", "c3_leafspine_hetero", "f_loss", "g_minclamp")
TS_MODULUS, TX_MODULUS = 1 << 24, 128 << 20
KEY = ["src_ip", "dst_ip", "sport", "dport"]
MODES = {"FIRST": "F", "FULL": "U", "FAST": "R"}


class Draft:
    """Lines 1-27 of the draft, read aloud. L is the previous record of each link."""

    def __init__(self, eta: float, max_stage: int, t_ns: int, b_nic: int, w_ai: float) -> None:
        self.eta, self.maxStage, self.T, self.W_ai = eta, max_stage, t_ns * 1e-9, w_ai
        self.U, self.incStage, self.lastUpdateSeq = 1.0, 0, 0
        self.W = self.Wc = b_nic * t_ns / 8e9
        self.L: list[tuple[int, int, int]] | None = None

    def measure_inflight(self, ack: list[tuple[int, int, int, int]]) -> float:
        u, tau = 0.0, None
        assert self.L is not None
        for (ts, tx_bytes, qlen, b), (ts_before, tx_before, qlen_before) in zip(
            ack, self.L, strict=True
        ):
            tx_rate = (tx_bytes - tx_before) * 8 / ((ts - ts_before) * 1e-9)
            u_dash = 8 * min(qlen, qlen_before) / (b * self.T) + tx_rate / b
            if u_dash > u:
                u = u_dash
                tau = ts - ts_before
        if tau is not None:
            t_ns = self.T / 1e-9
            tau = min(tau, round(t_ns))
            self.U = (1 - tau / round(t_ns)) * self.U + tau / round(t_ns) * u
        return self.U

    def compute_wind(self, u: float, *, update_wc: bool) -> float:
        if u >= self.eta or self.incStage >= self.maxStage:
            w = self.Wc / (u / self.eta) + self.W_ai
            if update_wc:
                self.incStage, self.Wc = 0, w
        else:
            w = self.Wc + self.W_ai
            if update_wc:
                self.incStage, self.Wc = self.incStage + 1, w
        return w

    def new_ack(self, seq: int, snd_nxt: int, ack: list[tuple[int, int, int, int]]) -> None:
        if self.L is None:
            self.lastUpdateSeq = snd_nxt
        elif seq > self.lastUpdateSeq:
            self.W = self.compute_wind(self.measure_inflight(ack), update_wc=True)
            self.lastUpdateSeq = snd_nxt
        else:
            self.W = self.compute_wind(self.measure_inflight(ack), update_wc=False)
        self.L = [record[:3] for record in ack]


WIDEST = hop_record.WIDEST


def told(ts: Any, tx: Any, qlen: Any, b: Any) -> Any:
    """One record, (kind, hop, row)."""
    values = np.zeros((len(hop_record.KINDS), len(ts), 1), np.int64)
    for kind, column in zip(("TS", "TX", "QLEN", "B"), (ts, tx, qlen, b), strict=True):
        values[getattr(hop_record, kind), :, 0] = column
    return values


HOP = st.tuples(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.data())
def test_the_compiled_form_is_the_pseudo_code_to_the_bit(nhop: int, data: Any) -> None:
    rates = data.draw(st.lists(st.integers(10**9, 4 * 10**11), min_size=nhop, max_size=nhop))
    steps = data.draw(
        st.lists(
            st.tuples(
                st.lists(HOP, min_size=nhop, max_size=nhop),
                st.integers(0, 20_000),
                st.integers(0, 20_000),
            ),
            min_size=2,
            max_size=40,
        )
    )
    draft = Draft(0.95, 3, 12_000, 100 * 10**9, 80.0)
    p = hpcc.record(
        {"T_ns": 12_000, "B_nic_bps": 100 * 10**9, "W_ai": 80.0, "maxStage": 3, "clamp": "off"}
    )
    compiled, plain = hpcc.state()[0], hpcc.state()[0]
    links, plain_links = hop_record.links(), hop_record.links()
    hpcc.reset(compiled, p)
    hpcc.reset(plain, p)
    ts, tx = np.zeros(nhop, np.int64), np.zeros(nhop, np.int64)
    ack = snd_nxt = 0
    for values, acked, sent in steps:
        ts += [value[0] for value in values]
        tx += [value[1] for value in values]
        qlen = np.array([value[2] for value in values])
        ack, snd_nxt = ack + acked, max(snd_nxt + sent, ack + acked)
        b = np.array(rates)
        draft.new_ack(
            ack, snd_nxt, list(zip(*(c.tolist() for c in (ts, tx, qlen, b)), strict=True))
        )
        record, u = told(ts, tx, qlen, b), np.empty((nhop, 1))
        arguments = (ack, snd_nxt, nhop, record, 0, WIDEST, WIDEST, u)
        hpcc.new_ack(compiled, p, links, *arguments)
        hpcc.new_ack.py_func(plain, p, plain_links, *arguments)  # type: ignore[attr-defined]
        for s in (compiled, plain):
            assert (s.U, s.W, s.Wc, s.incStage, s.lastUpdateSeq) == (
                draft.U,
                draft.W,
                draft.Wc,
                draft.incStage,
                draft.lastUpdateSeq,
            )


def parameters(flow: dict[str, Any]) -> Any:
    """The reference simulator in our parameters; its window belongs to the path's slowest link."""
    return hpcc.record(
        {
            "form": "rate",
            "qlen_by": "window",
            "eta": flow["eta"],
            "maxStage": flow["mi_thresh"],
            "T_ns": flow["T_ns"],
            "B_nic_bps": flow["max_rate_bps"],
            "R_ai_bps": flow["rai_bps"],
            "R_min_bps": flow["min_rate_bps"],
            "window_bytes": flow["win_bytes"],
        }
    )


def replayed(acks: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Every ACK of an oracle through the recurrence, beside what the simulator wrote."""
    records = [parameters(flow) for flow in flows.iter_rows(named=True)]
    states = hpcc.state(len(records))
    for s, p in zip(states, records, strict=True):
        hpcc.reset(s, p)
    order = flows.select(KEY).with_row_index("which")
    which = acks.select(KEY).join(order, on=KEY, maintain_order="left")["which"].to_list()
    hops = int(acks["nhop"].max())  # type: ignore[arg-type]
    ts, tx, qlen, b = (
        acks.select(pl.col(f"h{i}_{name}").fill_null(-1) * unit for i in range(hops)).to_numpy()
        for name, unit in (("ts24", 1), ("tx20", 128), ("q17", 80), ("rate_bps", 1))
    )
    values = np.stack([part.T for part in (ts, tx, qlen, b)]).astype(np.int64)
    u, found, links = np.empty((hops, acks.height)), [], hop_record.links(len(states))
    masks = hop_record.mask(TS_MODULUS), hop_record.mask(TX_MODULUS)
    columns = acks.select("ack_seq", "snd_nxt", "nhop").iter_rows()
    for row, (ack, snd_nxt, nhop) in enumerate(columns):
        s, p = states[which[row]], records[which[row]]
        branch = hpcc.new_ack(s, p, links, ack, snd_nxt, nhop, values, row, *masks, u)
        mode = MODES[hpcc.Branch(branch).name.split("_")[0]]
        found.append((s.U, s.R, s.W, s.incStage, s.lastUpdateSeq, s.u_hop, mode))
    names = ["U", "R", "W", "incStage", "lastUpdateSeq", "hop", "how"]
    return acks.hstack(pl.DataFrame(found, names, orient="row"))


def check(table: pl.DataFrame) -> None:
    """The bar: U to 1e-12, R to 1e-6 relative, what is whole equal, on every ACK."""
    u = ((table["U"] - table["U_after"]).abs() / table["U_after"]).max()
    r = ((table["R"] - table["rate_after"]).abs() / table["rate_after"]).max()
    assert u < 1e-12  # type: ignore[operator]
    assert r < 1e-6  # type: ignore[operator]
    for ours, theirs in (
        ("how", "mode"),
        ("incStage", "inc_after"),
        ("lastUpdateSeq", "lus_after"),
        ("W", "W_after"),
    ):
        assert (table[ours] == table[theirs]).all(), ours
    measured = table.filter(pl.col("u_hop").is_not_null())
    assert (measured["hop"] == measured["u_hop"]).all()


def test_a_piece_of_the_simulator_is_replayed_to_the_last_decision() -> None:
    check(
        replayed(
            pl.read_parquet(DATA / "hpcc_c3.parquet"),
            pl.read_parquet(DATA / "hpcc_c3_flows.parquet"),
        )
    )


@pytest.mark.sampled(2)
@pytest.mark.skipif(not SHARED.exists(), reason="the full traces are not part of a clone")
@pytest.mark.parametrize("name", ORACLES)
def test_every_ack_of_the_simulator_is_replayed(name: str) -> None:
    acks = pl.read_parquet(SHARED / f"{name}.parquet")
    check(replayed(acks, pl.read_parquet(SHARED / f"{name}_flows.parquet")))


class Sender:
    """One sender with two hops, driven by hand."""

    def __init__(self, **changes: Any) -> None:
        given = {"T_ns": 10_000, "B_nic_bps": 10**11, **changes}
        self.p = hpcc.record({name: value for name, value in given.items() if value is not None})
        self.s = hpcc.state()[0]
        self.row = np.empty((2 * hop_record.MAX_HOPS, 1))
        self.links = hop_record.links()
        hpcc.reset(self.s, self.p)

    @property
    def u(self) -> Any:
        """U' of each hop at the last ACK."""
        return self.row[:, 0]

    def ack(self, ts: list[int], tx: list[int], qlen: list[int], b: list[int]) -> hpcc.Branch:
        record = told(ts, tx, qlen, b)
        return hpcc.Branch(
            hpcc.new_ack(
                self.s, self.p, self.links, 1, 2, len(ts), record, 0, WIDEST, WIDEST, self.row
            )
        )


B = [10**11, 10**11]


def test_the_first_ack_only_stores() -> None:
    sender = Sender()
    assert sender.ack([0, 0], [0, 0], [0, 0], B) is hpcc.Branch.FIRST_ACK
    assert (sender.s.U, sender.s.lastUpdateSeq, sender.s.W) == (1.0, 2, 125_000.0)


def test_equal_loads_name_the_lowest_hop() -> None:
    sender = Sender()
    sender.ack([0, 0], [0, 0], [0, 0], B)
    sender.ack([1000, 1000], [5000, 5000], [0, 0], B)
    assert (sender.s.u_hop, sender.u[0], sender.u[1]) == (0, sender.u[0], sender.u[0])


def test_all_idle_hops_leave_u_alone() -> None:
    sender = Sender()
    sender.ack([0, 0], [0, 0], [0, 0], B)
    assert sender.ack([1000, 1000], [0, 0], [0, 0], B) is hpcc.Branch.FAST_REACT_MI
    assert (sender.s.U, sender.s.u_hop) == (1.0, -1)


def test_an_ack_without_telemetry_changes_nothing() -> None:
    sender = Sender()
    sender.ack([0, 0], [0, 0], [0, 0], B)
    before = sender.s.copy()
    assert sender.ack([], [], [], []) is hpcc.Branch.NO_TELEMETRY
    assert all(sender.s[name] == before[name] for name in ("U", "W", "lastUpdateSeq", "nhop"))


@pytest.mark.parametrize(
    ("fault", "record"),
    [
        (hpcc.Fault.ZERO_B, ([1000, 1000], [9, 9], [0, 0], [0, 0])),
        (hpcc.Fault.ZERO_DT, ([0, 0], [9, 9], [0, 0], B)),
        (hpcc.Fault.COUNTER_BACKWARDS, ([-5, -5], [9, 9], [0, 0], B)),
        (hpcc.Fault.COUNTER_BACKWARDS, ([1000, 1000], [-9, -9], [0, 0], B)),
        (hpcc.Fault.MISSING_VALUE, ([1000, 1000], [9, 9], [-1, -1], B)),
        (hpcc.Fault.MISSING_VALUE, ([1000, 1000], [-1, -1], [0, 0], B)),
    ],
)
def test_what_cannot_be_measured_is_flagged(
    fault: hpcc.Fault, record: tuple[list[int], ...]
) -> None:
    sender = Sender()
    sender.ack([0, 0], [0, 0], [0, 0], B)
    assert sender.ack(*record) is hpcc.Branch.BAD_TELEMETRY
    assert sender.s.faults == fault
    assert np.isnan(sender.u[:2]).all()
    assert (sender.s.U, sender.s.W) == (1.0, 125_000.0)


def test_one_bad_hop_leaves_the_others() -> None:
    sender = Sender()
    sender.ack([0, 0], [0, 0], [0, 0], B)
    assert sender.ack([1000, 1000], [9000, 9000], [0, 0], [0, 10**11]).name.startswith("FAST")
    assert sender.s.u_hop == 1
    assert sender.s.faults == hpcc.Fault.ZERO_B


def test_without_t_or_nic_what_is_unknown_stays_unknown() -> None:
    blind = Sender(T_ns=0)
    blind.ack([0], [0], [0], B[:1])
    assert blind.ack([1000], [9], [0], B[:1]) is hpcc.Branch.BAD_TELEMETRY
    assert blind.s.faults == hpcc.Fault.ZERO_T
    somewhere = Sender(B_nic_bps=0)
    somewhere.ack([0], [0], [0], B[:1])
    somewhere.ack([1000], [9000], [0], B[:1])
    assert float(somewhere.s.U) == pytest.approx(0.9 + 0.1 * 0.72)
    assert np.isnan([somewhere.s.W, somewhere.s.Wc, somewhere.s.R]).all()
    assert somewhere.s.faults == hpcc.Fault.UNKNOWN_WINDOW


def test_more_hops_than_are_kept_are_cut_and_flagged() -> None:
    sender = Sender()
    many = hop_record.MAX_HOPS + 3
    assert sender.ack([0] * many, [0] * many, [0] * many, [10**11] * many) is hpcc.Branch.FIRST_ACK
    assert sender.s.nhop == hop_record.MAX_HOPS
    assert sender.s.faults == hpcc.Fault.TOO_MANY_HOPS


def changed(sender: Sender, nodes: list[int]) -> bool:
    """Whether these nodes are another path than the record before told."""
    path = np.uint64(len(nodes))
    for hop, node in enumerate(nodes):
        path = np.uint64(hop_record.path_with(path, hop, node, 0))
    return bool(hop_record.path_changed(sender.s, path))


def test_a_new_path_drops_the_old_counters() -> None:
    sender = Sender()
    assert not changed(sender, [7, 8])
    sender.ack([0, 0], [0, 0], [0, 0], B)
    assert not changed(sender, [7, 8])
    sender.ack([1000, 1000], [5000, 5000], [0, 0], B)
    before = float(sender.s.U)
    assert changed(sender, [7, 9])
    assert sender.ack([1, 1], [1, 1], [0, 0], B) is hpcc.Branch.PATH_CHANGE
    assert float(sender.s.U) == before
    assert sender.ack([1001, 1001], [5001, 5001], [0, 0], B).name.startswith("FAST")


def test_counters_of_any_width_are_unwrapped() -> None:
    sender = Sender()
    masks = hop_record.mask(TS_MODULUS), hop_record.mask(TX_MODULUS)
    for ts, tx in ((TS_MODULUS - 500, TX_MODULUS - 4000), (500, 5000)):
        record = told([ts], [tx], [0], [10**11])
        hpcc.new_ack(sender.s, sender.p, sender.links, 1, 2, 1, record, 0, *masks, sender.row)
    assert sender.u[0] == pytest.approx(0.72)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"etta": 1}, "no parameter is called 'etta'; accepted are eta, maxStage, "),
        ({"eta": 1.5}, "eta takes a number from 0.01 to 1, not 1.5"),
        ({"eta": "nan"}, "eta takes a number from 0.01 to 1, not 'nan'"),
        ({"maxStage": "2.5"}, "maxStage takes a whole number from 0 to 1000, not '2.5'"),
        ({"form": "both"}, "form takes window or rate, not 'both'"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        hpcc.record(values)
    assert str(caught.value).startswith(sentence)
