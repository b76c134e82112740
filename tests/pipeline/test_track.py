"""The tracker on captures of senders that are not ours, and on small traces made by hand."""

from contextlib import closing
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder, open_capture
from pipeline import DECISIONS, Tracker, hpcc
from pipeline.follow import follow

DATA = Path(__file__).resolve().parent.parent / "data" / "cc"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "oracles"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="the full traces are not part of a clone"
)
KEY = ["src", "sport", "dst", "dport"]
TS_MODULUS, TX_MODULUS = 1 << 24, 128 << 20
SIMULATOR = {"form": "rate", "qlen_by": "window", "R_ai_bps": 50_000_000, "R_min_bps": 100_000_000,
             "T_ns": 4160, "B_nic_bps": 100 * 10**9, "window_bytes": 52_000}  # fmt: skip


@cache
def observations(path: Path) -> pl.DataFrame:
    """A capture as observations, with addresses as text beside."""
    decoder = Decoder(CollectorSettings())
    with closing(open_capture(path)) as capture:
        parts = [decoder.decode(part, capture.points, capture.source) for part in capture.chunks()]
    address = [
        pl.concat_str(
            [(pl.col(f"{end}_lo") // 256**place % 256).cast(pl.String) for place in (3, 2, 1, 0)],
            separator=".",
        ).alias(end)
        for end in ("src", "dst")
    ]
    return pl.concat(parts, how="diagonal").with_columns(address)


def decided(rows: pl.DataFrame, **dctcp_parameters: Any) -> pl.DataFrame:
    """Decisions with the key of the flow whose sender decided."""
    keys = rows.select("flow", *(pl.col(name) for name in KEY)).unique("flow")
    keys = keys.with_columns(pl.col("sport", "dport").cast(pl.Int64))
    tracked = Tracker(dctcp_parameters=dctcp_parameters).advance(rows)
    return tracked.decisions.join(keys, on="flow", how="left", maintain_order="left")


def by_window(rows: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """The n-th window of each flow, as reconstructed and as the sender closed it."""
    closed = decided(rows).filter(pl.col("branch").cast(pl.String).str.starts_with("window_end"))
    nth = pl.int_range(pl.len()).over(KEY).alias("nth")
    return truth.with_columns(nth).join(closed.with_columns(nth), on=[*KEY, "nth"], how="left")


def check_windows(table: pl.DataFrame) -> None:
    assert table["alpha_right"].null_count() == 0
    assert (table["alpha"] - table["alpha_right"]).abs().max() < 1e-9  # type: ignore[operator]
    assert (table["bytes_acked"] == table["BytesAcked"]).all()
    assert (table["bytes_marked"] == table["BytesMarked"]).all()
    assert (table["WindowEnd"] - table["snd_nxt"]).is_in([0, 1]).all()  # ns-3 leaves out the FIN
    assert table["dialect"].unique().to_list() == ["ns3"]
    assert table["basis"].unique().to_list() == ["handshake"]
    assert table["quality"].unique().to_list() == ["exact"]


def test_alpha_of_a_piece_of_ns3_is_exact() -> None:
    truth = pl.read_parquet(DATA / "dctcp_a1_truth.parquet")
    check_windows(by_window(observations(DATA / "dctcp_a1.pcap.zst"), truth))


@needs_shared
@pytest.mark.parametrize("name", ["a1", "a_ppp", "b"])
def test_alpha_of_ns3_is_exact_at_every_window(name: str) -> None:
    truth = pl.read_parquet(SHARED / "dctcp" / f"truth_{name}.parquet")
    check_windows(by_window(observations(SHARED / "dctcp" / f"{name}.pcap.zst"), truth))


@needs_shared
def test_after_the_queue_no_alpha_is_claimed() -> None:
    rows = decided(observations(SHARED / "dctcp" / "a1_switch.pcap.zst"))
    late = rows.filter(pl.col("time_ns") > rows["time_ns"].min() + 10**9 // 100)  # type: ignore[operator]
    assert late["quality"].unique().to_list() == ["unknown"]
    assert late["why"].unique().to_list() == ["after_queue"]


def sampled(rows: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Each sample of the kernel beside the last decision at or before it."""
    table = decided(rows)
    truth = truth.join(table.select(KEY).unique(), on=KEY).sort("time_ns")
    table = table.select(*KEY, "time_ns", "dialect", pl.col("alpha").alias("ours"))
    joined = truth.join_asof(
        table, on="time_ns", by=KEY, strategy="backward", check_sortedness=False
    ).filter(pl.col("ours").is_not_null())
    return joined.with_columns(error=(pl.col("alpha") - pl.col("ours")).abs())


def check_samples(table: pl.DataFrame, exact: float) -> None:
    """Samples and ACKs share a clock to some microseconds: a few samples fall between the two."""
    assert table["dialect"].unique().to_list() == ["linux"]
    assert table["error"].max() <= 0.06  # type: ignore[operator]
    assert (table["error"] < 0.5 / 1024).mean() >= exact  # type: ignore[operator]


def test_alpha_of_a_piece_of_linux_is_that_of_the_kernel() -> None:
    truth = pl.read_parquet(DATA / "linux_A_truth.parquet")
    check_samples(sampled(observations(DATA / "linux_A_h2.pcap.zst"), truth), 0.99)


@needs_shared
@pytest.mark.parametrize(
    ("name", "exact"), [("A_h1", 0.99), ("A_h2", 0.99), ("B_h1", 0.99), ("C_h1", 0.75)]
)
def test_alpha_of_linux_is_that_of_the_kernel(name: str, exact: float) -> None:
    truth = pl.read_parquet(SHARED / "linux" / f"truth_linux_{name[0]}.parquet")
    check_samples(sampled(observations(SHARED / "linux" / f"{name}.pcap.zst"), truth), exact)


@cache
def simulated() -> pl.DataFrame:
    """Data packets and ACKs of the HPCC simulator as observations at the senders' NICs."""
    flow = pl.col("src_ip").hash(7)
    acks = pl.read_parquet(DATA / "hpcc_a.parquet").select(
        "time_ns",
        pl.lit(0).alias("order"),
        flow.alias("conversation"),
        pl.lit(1, pl.UInt8).alias("direction"),
        pl.lit(16, pl.UInt16).alias("flags"),
        pl.lit(0, pl.UInt32).alias("seq"),
        pl.col("ack_seq").cast(pl.UInt32).alias("ack"),
        pl.lit(0, pl.UInt32).alias("payload_bytes"),
        pl.lit(value=True).alias("int_reflected"),
        pl.col("nhop").cast(pl.UInt8).alias("hop_count"),
        pl.col("h0_node", "h0_port").cast(pl.UInt32),
        pl.col("h0_ts24").cast(pl.UInt64).alias("h0_ts_ns"),
        (pl.col("h0_tx20").cast(pl.UInt64) * 128).alias("h0_tx_bytes"),
        (pl.col("h0_q17").cast(pl.UInt64) * 80).alias("h0_qlen_bytes"),
        pl.col("h0_rate_bps").cast(pl.UInt64).alias("h0_b_bps"),
    )
    data = pl.read_parquet(DATA / "hpcc_a_sent.parquet").select(
        "time_ns",
        pl.lit(1).alias("order"),
        flow.alias("conversation"),
        pl.lit(0, pl.UInt8).alias("direction"),
        pl.lit(16, pl.UInt16).alias("flags"),
        pl.col("seq").cast(pl.UInt32),
        pl.lit(0, pl.UInt32).alias("ack"),
        pl.col("payload").cast(pl.UInt32).alias("payload_bytes"),
        pl.lit(0, pl.UInt8).alias("hop_count"),
    )
    rows = pl.concat([acks, data], how="diagonal").sort("time_ns", "order", maintain_order=True)
    return rows.with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.UInt64).alias("frame"),
        pl.lit(6, pl.UInt8).alias("protocol"),
        pl.lit("simulator").alias("source"),
        pl.lit("nic").alias("point"),
    )


def simulator() -> Tracker:
    return Tracker(SIMULATOR, ts_modulus_ns=TS_MODULUS, tx_modulus_bytes=TX_MODULUS)


def test_hpcc_is_rebuilt_from_data_and_acks_alone() -> None:
    # Datagrams that number from 0 are seen from their beginning; TCP would need its SYN.
    rows = simulated().with_columns(pl.col("direction").alias("hpcc_kind"))
    tracked = simulator().advance(rows)
    truth = pl.read_parquet(DATA / "hpcc_a.parquet")
    truth = truth.with_columns(flow=pl.col("src_ip").hash(7))
    table = tracked.decisions.filter(pl.col("algorithm") == "hpcc").join(
        truth.with_columns(ack=pl.col("ack_seq").cast(pl.UInt32)),
        left_on=["conversation", "ack"],
        right_on=["flow", "ack"],
    )
    assert table.height == truth.height
    modes = {"F": "first", "U": "full", "R": "fast"}
    mode = table["branch"].cast(pl.String).str.split("_").list.get(0)
    assert (mode == table["mode"].replace_strict(modes)).all()
    assert ((table["U"] - table["U_after"]).abs() / table["U_after"]).max() < 1e-12  # type: ignore[operator]
    assert ((table["R"] - table["rate_after"]).abs() / table["rate_after"]).max() < 1e-6  # type: ignore[operator]
    assert (table["incStage"] == table["inc_after"]).all()
    loads = tracked.hop_loads
    assert loads.columns[:12] == [
        "time_ns", "source", "point", "frame", "conversation", "flow", "reflected", "hop_count",
        "faults", "fell", "anew", "u0",
    ]  # fmt: skip
    assert loads["reflected"].all()
    paired = loads.select("frame", "u0").join(table, on="frame")
    paired = paired.filter(pl.col("u_max_right").is_not_null())
    assert ((paired["u0"] - paired["u_max_right"]).abs() < 1e-12).all()


def test_without_a_handshake_the_window_is_unknown_until_it_is_anchored_and_u_is_not() -> None:
    rows = simulator().advance(simulated()).decisions
    told = rows.unique(["quality", "why"], maintain_order=True).select("quality", "why").rows()
    assert told == [("unknown", "mid_flow"), ("estimated", "anchored")]
    assert rows["U"].null_count() == 0


def in_parts(tracker: Tracker, rows: pl.DataFrame, cuts: list[int]) -> tuple[Any, ...]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < rows.height}), rows.height]
    parts = [tracker.advance(rows[a:b]) for a, b in pairwise(edges)]
    both = ((part.decisions, part.hop_loads) for part in parts)
    return tuple(pl.concat(kind) for kind in zip(*both, strict=True))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 5600), max_size=12))
def test_any_cut_into_batches_gives_the_same_bits(cuts: list[int]) -> None:
    hpcc_rows = simulated()
    whole = simulator().advance(hpcc_rows)
    decisions, loads = in_parts(simulator(), hpcc_rows, cuts)
    assert_frame_equal(decisions, whole.decisions, check_exact=True)
    assert_frame_equal(loads.select(whole.hop_loads.columns[:10]), whole.hop_loads[:, :10])
    dctcp_rows = observations(DATA / "dctcp_a1.pcap.zst")
    decisions, _ = in_parts(Tracker(), dctcp_rows, cuts)
    assert_frame_equal(decisions, Tracker().advance(dctcp_rows).decisions, check_exact=True)


def test_an_empty_batch_gives_empty_frames() -> None:
    tracked = Tracker().advance(simulated().clear())
    assert tracked.decisions.schema == DECISIONS
    assert tracked.hop_loads.height == 0


def test_the_same_rows_at_two_points_drive_two_states_once_each() -> None:
    rows = observations(DATA / "dctcp_a1.pcap.zst")
    twice = pl.concat(
        [
            rows.with_columns(point=pl.lit("a")),
            rows.with_columns(pl.col("time_ns") + 50_000, point=pl.lit("b")),
        ]
    ).sort("time_ns", maintain_order=True)
    decisions = Tracker().advance(twice).decisions
    alone = Tracker().advance(rows).decisions["alpha"]
    for point in ("a", "b"):
        assert decisions.filter(point=point)["alpha"].equals(alone)


class Trace:
    """A conversation made by hand: A sends data, B acknowledges."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.time = 0

    def add(self, direction: int, flags: int, seq: int, ack: int, **more: Any) -> None:
        self.time += more.pop("after", 1_000_000)
        base = {"time_ns": self.time, "source": "hand", "point": more.pop("point", "p"), "frame": 0}
        base |= {"conversation": 9, "direction": direction, "protocol": 6, "ecn": 2}
        base |= {"payload_bytes": 0, "hop_count": 0, "mss": None, "ts_val": None}
        self.rows.append({**base, "flags": flags, "seq": seq % 2**32, "ack": ack % 2**32, **more})

    def connect(self, iss: int = 1000, mss: int | None = 1460) -> None:
        self.add(0, 0xC2, iss, 0, mss=mss)
        self.add(1, 0x52, 5000, iss + 1, mss=mss)
        self.add(0, 0x10, iss + 1, 5001, after=1000)

    def data(self, seq: int, payload: int = 1460, **more: Any) -> None:
        self.add(0, 0x10, seq, 5001, payload_bytes=payload, **more)

    def ack(self, ack: int, *, ece: bool = False, **more: Any) -> None:
        self.add(1, 0x50 if ece else 0x10, 5001, ack, **more)

    def frame(self) -> pl.DataFrame:
        types = {"conversation": pl.UInt64, "direction": pl.UInt8, "frame": pl.UInt64}
        types |= {"flags": pl.UInt16, "payload_bytes": pl.UInt32, "hop_count": pl.UInt8}
        types |= {"seq": pl.UInt32, "ack": pl.UInt32, "mss": pl.UInt16}
        return pl.DataFrame(self.rows, infer_schema_length=None).cast(types)

    def decisions(self, **settings: Any) -> pl.DataFrame:
        return Tracker(**settings).advance(self.frame()).decisions


def test_sequence_numbers_wrap() -> None:
    trace = Trace()
    iss = 2**32 - 2000
    trace.connect(iss)
    trace.data(iss + 1)
    trace.data(iss + 1461)
    trace.ack(iss + 1461)
    trace.ack(iss + 2921)
    rows = trace.decisions()
    assert rows["acked_bytes"].to_list() == [1460, 1460]
    assert rows["inflight_bytes"].to_list() == [1460, 0]
    assert rows["ack"].to_list() == [iss + 1461, (iss + 2921) % 2**32]


def test_the_stack_is_known_by_its_syn() -> None:
    for mss, dialect in ((1460, "linux"), (None, "ns3")):
        trace = Trace()
        trace.connect(mss=mss)
        trace.data(1001)
        trace.ack(2461)
        row = trace.decisions().row(0, named=True)
        assert (row["dialect"], row["basis"]) == (dialect, "handshake")
        row = trace.decisions(dctcp_parameters={"dialect": "rfc8257"}).row(0, named=True)
        assert (row["dialect"], row["basis"]) == ("rfc8257", "set")


def test_without_a_syn_the_dialect_is_assumed_and_alpha_unknown() -> None:
    trace = Trace()
    trace.data(1001)
    trace.ack(2461)
    row = trace.decisions().row(0, named=True)
    assert (row["dialect"], row["basis"]) == ("linux", "assumed")
    assert (row["quality"], row["why"]) == ("unknown", "mid_flow")


def test_a_gap_makes_the_state_an_estimate() -> None:
    trace = Trace()
    trace.connect()
    trace.data(1001)
    trace.data(1001 + 2 * 1460)
    trace.ack(1001 + 3 * 1460)
    row = trace.decisions().row(0, named=True)
    assert (row["quality"], row["why"]) == ("estimated", "gap")


def test_a_new_syn_on_old_ports_starts_anew() -> None:
    trace = Trace()
    for iss in (1000, 9_000_000):
        trace.connect(iss)
        for k in range(3):
            trace.data(iss + 1 + k * 1460)
            trace.ack(iss + 1 + (k + 1) * 1460, ece=True)
    rows = trace.decisions()
    assert rows["alpha"][:3].equals(rows["alpha"][3:])
    assert set(rows["quality"]) == {"exact"}


def test_a_flow_that_never_agreed_on_ecn_decides_nothing() -> None:
    trace = Trace()
    trace.add(0, 0x02, 1000, 0, mss=1460)
    trace.add(1, 0x12, 5000, 1001, mss=1460)
    trace.data(1001, ecn=0)
    trace.ack(2461)
    assert trace.decisions().height == 0


def test_marks_seen_on_data_say_that_the_tap_is_behind_the_queue() -> None:
    trace = Trace()
    trace.connect()
    trace.data(1001, ecn=3)
    trace.ack(2461, ece=True)
    row = trace.decisions().row(0, named=True)
    assert (row["quality"], row["why"]) == ("unknown", "after_queue")
    assert (row["acked_bytes"], row["marked_bytes"]) == (1460, 1460)


def hop(ts: int, tx: int, qlen: int = 0, node: int = 1) -> dict[str, int]:
    return {
        "hop_count": 1, "h0_node": node, "h0_port": 1, "h0_ts_ns": ts, "h0_tx_bytes": tx,
        "h0_qlen_bytes": qlen, "h0_b_bps": 10**10,
    }  # fmt: skip


def stacked() -> Trace:
    """At the receiver's edge: every data packet carries its path, the ACKs carry nothing."""
    trace = Trace()
    trace.connect()
    for k in range(4):
        trace.data(1001 + k * 1460, ecn=0, **hop(k * 10_000, k * 6250))
        trace.ack(1001 + (k + 1) * 1460)
    return trace


KNOWN = {"T_ns": 20_000, "B_nic_bps": 10**10}


def test_telemetry_on_data_waits_for_its_ack_and_is_an_estimate() -> None:
    tracked = Tracker(KNOWN).advance(stacked().frame())
    hops, rows = tracked.hop_loads, tracked.decisions.filter(pl.col("algorithm") == "hpcc")
    assert hops["u0"].to_list() == [None, *[pytest.approx(0.5)] * 3]
    assert not hops["reflected"].any()
    assert rows["branch"].to_list()[0] == "first_ack"
    assert (set(rows["quality"]), set(rows["why"])) == ({"estimated"}, {"receiver_time"})


def test_a_reflected_stack_silences_the_one_on_data() -> None:
    trace = stacked()
    for k in range(4, 8):
        trace.data(1001 + k * 1460, ecn=0, **hop(k * 10_000, k * 6250))
        trace.ack(1001 + (k + 1) * 1460, int_reflected=True, **hop(k * 10_000, k * 6250))
    trace.ack(1001 + 8 * 1460)
    rows = Tracker(KNOWN).advance(trace.frame()).decisions.filter(pl.col("algorithm") == "hpcc")
    assert rows["branch"].to_list()[-1] == "no_telemetry"
    assert rows["U"].null_count() == 0


def test_another_path_is_counted_and_measures_nothing_once() -> None:
    trace = stacked()
    trace.data(1001 + 4 * 1460, ecn=0, **hop(50_000, 10**9, node=2))
    trace.data(1001 + 5 * 1460, ecn=0, **hop(60_000, 10**9 + 6250, node=2))
    tracker = Tracker(KNOWN)
    assert tracker.advance(trace.frame()).hop_loads["u0"].to_list()[-2:] == [
        None,
        pytest.approx(0.5),
    ]
    assert tracker.counters["path_changes"] == 1


def test_the_topology_of_a_row_stands_before_the_parameters() -> None:
    frame = (
        stacked()
        .frame()
        .with_columns(
            src_nic_bps=pl.lit(10**10), dst_nic_bps=pl.lit(10**10), base_rtt_ns=pl.lit(40_000)
        )
    )
    rows = Tracker().advance(frame).decisions.filter(pl.col("algorithm") == "hpcc")
    assert rows["W"][0] == 50_000.0


def test_t_is_measured_at_the_handshake_when_nobody_tells() -> None:
    rows = stacked().decisions(hpcc_parameters={"B_nic_bps": 10**9})
    assert rows.filter(pl.col("algorithm") == "hpcc")["W"][0] == 1_001_000 / 8


def test_faulty_telemetry_is_flagged_and_never_infinite() -> None:
    trace = stacked()
    trace.data(1001 + 4 * 1460, ecn=0, **(hop(40_000, 25_000) | {"h0_b_bps": 0}))
    tracked = Tracker(KNOWN).advance(trace.frame())
    assert tracked.hop_loads["faults"].to_list()[-1] == hpcc.Fault.ZERO_B
    assert tracked.hop_loads["u0"].to_list()[-1] is None


def test_more_flows_than_places_give_up_the_longest_idle() -> None:
    rows = pl.concat(
        [
            stacked()
            .frame()
            .with_columns(conversation=pl.lit(k, pl.UInt64), time_ns=pl.col("time_ns") + k * 10**9)
            for k in range(1, 200)
        ]
    )
    tracker = Tracker(KNOWN, flows=32)
    tracker.advance(rows)
    assert tracker.counters["flows_new"] == 199
    assert tracker.counters["flows_evicted"] == 199 - 64
    assert tracker.memory.hpcc.size <= 128


def test_the_loop_is_compiled_for_one_kind_of_arrays() -> None:
    rows = stacked().frame()
    for frame in (
        rows,
        rows.drop("mss", "ts_val"),
        rows.with_columns(ts_val=pl.lit(5, pl.UInt32), base_rtt_ns=pl.lit(9)),
        pl.concat([rows[:4], rows[4:].with_columns(point=pl.lit("q"))], rechunk=False),
        rows.with_columns(pl.col("seq", "ack").cast(pl.Int64)),
    ):
        Tracker(KNOWN).advance(frame)
    assert len(follow.signatures) == 1  # type: ignore[attr-defined]
