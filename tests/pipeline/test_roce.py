"""RoCEv2 drives HPCC++ as byte-numbered datagrams do: frames packed by hand, decoded, followed."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline import Tracker
from tests.pipeline.roce_by_hand import PAYLOAD, PSNS, as_datagrams, generated, observed

SHARED = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "hpcc"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
DECIDED = ["U", "u_max", "u_hop", "branch", "incStage", "W", "Wc", "R", "hop_count", "faults"]
FLOW = ["src_ip", "dst_ip", "sport", "dport"]
GIGABIT = 10**9
SURE = 12
"""ACKs after which a flow's beginning is proved to have been seen."""
PARAMETERS = {"T_ns": 8000, "B_nic_bps": 25 * GIGABIT}
STARTS = [PSNS - 300, 0x123456, 0x700000, 0xA00000, 0x40]


def tracker(**parameters: Any) -> Tracker:
    return Tracker({**PARAMETERS, **parameters}, ts_modulus_ns=1 << 24, tx_modulus_bytes=128 << 20)


def assert_same(rows: pl.DataFrame, trace: pl.DataFrame, starts: list[int], **path: Any) -> Tracker:
    """Decide by both ways, compare to the bit; the tracker of the RoCE frames."""
    ours, plain = tracker(**path), tracker(**path)
    made = ours.advance(rows).decisions
    truth = plain.advance(as_datagrams(rows, trace)).decisions
    assert made.height == truth.height > 0
    assert_frame_equal(made.select(DECIDED), truth.select(DECIDED), check_exact=True)
    flow = trace["flow"].gather(made["frame"])
    start = flow.replace_strict(dict(enumerate(starts)), return_dtype=pl.Int64)
    for name in ("ack", "lastUpdateSeq"):
        assert (made[name] == (truth[name] // PAYLOAD + start) % PSNS).all()
    assert_frame_equal(
        made.select("acked_bytes", "inflight_bytes"), truth.select("acked_bytes", "inflight_bytes")
    )
    exact = made.select(flow, exact=pl.col("quality") == "exact").with_columns(
        ever=pl.col("exact").cum_max().over("flow"), nth=pl.int_range(pl.len()).over("flow")
    )
    assert exact.filter(pl.col("ever") | (pl.col("nth") >= SURE))["exact"].all()
    of_data = pl.DataFrame({"flow": trace["flow"], "hash": rows["flow"], "what": trace["what"]})
    known = of_data.filter(pl.col("what") == "D").unique(["flow", "hash"])
    assert made["flow"].to_list() == flow.replace_strict(known["flow"], known["hash"]).to_list()
    return ours


@pytest.mark.parametrize("seed", range(3))
def test_queue_pairs_of_two_hosts_decide_as_conversations_of_their_own(seed: int) -> None:
    trace = generated(5, 1500, seed)
    ours = assert_same(observed(trace, STARTS), trace, STARTS)
    assert ours.counters["acks_unpaired"] == ours.counters["acks_ambiguous"] == 0
    assert ours.counters["flows_new"] == len(STARTS)
    assert ours.counters["gaps"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_after_a_negative_acknowledgment_the_sender_goes_back(seed: int) -> None:
    trace = generated(5, 1500, seed, lose=0.05)
    ours = assert_same(observed(trace, STARTS), trace, STARTS)
    assert ours.counters["naks"] == (trace["what"] == "N").sum() > 0
    assert ours.counters["rnr_naks"] == (trace["what"] == "R").sum() > 0


def oracle(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A trace of the HPCC authors' simulator, and its flows."""
    acks, sent, flows = (
        pl.read_parquet(SHARED / f"{name}{part}.parquet") for part in ("", "_sent", "_flows")
    )
    flows = flows.with_row_index("flow").with_columns(pl.col("flow").cast(pl.Int64))
    told = {
        f"h{hop}_{ours}": pl.col(f"h{hop}_{name}").fill_null(0) * unit
        for hop in range(5)
        if f"h{hop}_ts24" in acks.columns
        for ours, name, unit in (("ts", "ts24", 1), ("tx", "tx20", 128), ("q", "q17", 80))
    } | {
        f"h{hop}_mbps": pl.col(f"h{hop}_rate_bps").fill_null(0).cast(pl.Int64) // 1_000_000
        for hop in range(5)
        if f"h{hop}_ts24" in acks.columns
    }
    acks = acks.with_columns(**told, what=pl.col("ack_type"), number=pl.col("ack_seq") // PAYLOAD)
    sent = sent.with_columns(
        what=pl.lit("D"), number=pl.col("seq") // PAYLOAD, nhop=pl.lit(0, pl.Int64)
    )
    kept = ["time_ns", *FLOW, "what", "number", "nhop"]
    rows = pl.concat([acks.select(*kept, *told), sent.select(kept)], how="diagonal")
    trace = rows.sort("time_ns", pl.col("what") == "D", maintain_order=True)
    keys = flows.select(*FLOW, "flow")
    return trace.join(keys, on=FLOW, how="left", maintain_order="left"), flows


@needs_shared
@pytest.mark.parametrize("name", ["a_2to1", "c3_leafspine_hetero", "g_minclamp", "f_loss"])
def test_the_simulators_traces_give_the_same_as_rocev2(name: str) -> None:
    trace, flows = oracle(name)
    starts = [(0xFFFF00 + 0x0C3A71 * flow) % PSNS for flow in range(flows.height)]
    rows = observed(trace, starts)
    path = flows.select("flow", "T_ns", "win_bytes", nic="max_rate_bps")
    path = trace.select("flow", "what").join(path, on="flow", how="left", maintain_order="left")
    data = path["what"] == "D"
    rows = rows.with_columns(
        path["T_ns"].alias("base_rtt_ns"),
        path["win_bytes"].alias("window_bytes"),
        src_nic_bps=path["nic"].zip_with(data, pl.Series([0])),
        dst_nic_bps=path["nic"].zip_with(~data, pl.Series([0])),
    )
    told = flows.row(0, named=True)
    ours = assert_same(
        rows, trace, starts, form="rate", qlen_by="window", eta=told["eta"],
        maxStage=told["mi_thresh"], R_ai_bps=told["rai_bps"], R_min_bps=told["min_rate_bps"],
    )  # fmt: skip
    assert ours.counters["acks_unpaired"] == ours.counters["acks_ambiguous"] == 0


def test_other_transports_in_the_same_batch_change_nothing() -> None:
    traces = generated(3, 300, 1, lose=0.03), generated(3, 300, 2)
    rows = observed(traces[0], STARTS[:3])
    others = as_datagrams(observed(traces[1], STARTS[:3]), traces[1])
    others = others.with_columns(pl.col("frame") + rows.height)
    both = pl.concat([rows, others], how="diagonal").sort("time_ns", maintain_order=True)
    made = tracker().advance(both)
    for alone, of_roce in ((rows, True), (others, False)):
        mine = pl.col("frame") < rows.height if of_roce else pl.col("frame") >= rows.height
        truth = tracker().advance(alone)
        assert_frame_equal(made.decisions.filter(mine), truth.decisions)
        loads = made.hop_loads.filter(mine).select(truth.hop_loads.columns)
        assert_frame_equal(loads, truth.hop_loads)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 3000), max_size=6), st.integers(0, 3))
def test_any_split_into_batches_gives_the_same_bits(cuts: list[int], seed: int) -> None:
    rows = observed(generated(5, 300, seed, lose=0.03), [0, 0, 3, 0x800000, PSNS - 20])
    whole, split = tracker(), tracker()
    made = whole.advance(rows)
    ends = sorted({0, rows.height, *(min(cut, rows.height) for cut in cuts)})
    parts = [split.advance(rows[first:end]) for first, end in pairwise(ends)]
    assert_frame_equal(made.decisions, pl.concat(part.decisions for part in parts))
    loads = pl.concat([part.hop_loads for part in parts], how="diagonal_relaxed")
    assert_frame_equal(made.hop_loads, loads.select(made.hop_loads.columns))
    assert whole.counters == split.counters
