"""DCTCP against the state that senders of ns-3 and of Linux wrote down, over whole traces."""

from functools import cache

import polars as pl
import pytest

from pipeline import Tracker
from tests.pipeline.test_track import KEY, SHARED, observations

NS3 = SHARED / "dctcp"
LINUX = SHARED / "linux"
pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
MICROSECOND = 1000
HALF_STEP = 0.5 / 1024


@cache
def decided(kind: str, name: str) -> pl.DataFrame:
    """Decisions of one capture with everything left to `auto`, and the key of their flow."""
    rows = observations(SHARED / kind / f"{name}.pcap.zst")
    keys = rows.select("flow", *KEY).unique("flow")
    keys = keys.with_columns(pl.col("sport", "dport").cast(pl.Int64))
    decisions = Tracker().advance(rows).decisions
    return decisions.join(keys, on="flow", how="left", maintain_order="left")


def windows(name: str, of: str = "") -> pl.DataFrame:
    """The n-th window of each flow as the sender closed it, and ours."""
    truth = pl.read_parquet(NS3 / f"truth_{of or name}.parquet")
    closed = decided("dctcp", name).filter(
        pl.col("branch").cast(pl.String).str.starts_with("window_end")
    )
    nth = pl.int_range(pl.len()).over(KEY).alias("nth")
    table = truth.with_columns(nth).join(
        closed.with_columns(nth), on=[*KEY, "nth"], how="full", coalesce=True, suffix="_ours"
    )
    return table.with_columns(
        error=(pl.col("alpha") - pl.col("alpha_ours")).abs(),
        same=(pl.col("bytes_acked") == pl.col("BytesAcked"))
        & (pl.col("bytes_marked") == pl.col("BytesMarked"))
        & (pl.col("WindowEnd") == pl.col("snd_nxt")),
    )


@pytest.mark.parametrize("name", ["a1", "a_ppp", "b", "e2", "f2"])
def test_every_window_of_ns3_is_exact_with_and_without_loss(name: str) -> None:
    table = windows(name)
    assert table["error"].null_count() == 0
    assert table["error"].max() < 1e-9  # type: ignore[operator] # no window is missing
    assert table["same"].all()
    rows = decided("dctcp", name)
    assert rows["dialect"].unique().to_list() == ["ns3"]
    assert rows["basis"].unique().to_list() == ["handshake"]


def test_before_the_queue_alpha_is_as_good_with_the_lag_of_the_handshake() -> None:
    table = windows("a1_swin", "a1")
    assert table["error"].max() < 1e-9  # type: ignore[operator]
    assert table["same"].all()
    assert decided("dctcp", "a1_swin")["why"].unique().to_list() == ["far_from_sender"]


def thresholds(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Changes of ssthresh: the sender's and ours."""
    truth = pl.read_parquet(NS3 / f"cwnd_{name}.parquet").filter(kind="ssthresh")
    truth = truth.with_columns(pl.col("new").cast(pl.Int64)).filter(pl.col("new") < (1 << 32) - 1)
    ours = decided("dctcp", name).select(*KEY, "time_ns", "ssthresh")
    before = pl.col("ssthresh").shift(1).over(KEY)
    changed = pl.col("ssthresh").is_finite() & (before.is_null() | (pl.col("ssthresh") != before))
    return truth, ours.filter(changed)


@pytest.mark.parametrize(
    ("name", "at_the_ack"), [("a1", 1.0), ("a_ppp", 1.0), ("b", 1.0), ("e2", 0.988), ("f2", 1.0)]
)
def test_ssthresh_changes_at_the_right_ack_to_the_byte(name: str, at_the_ack: float) -> None:
    """What a timeout changes shows at the first ACK after it: 16 of 1348 changes of e2."""
    truth, ours = thresholds(name)
    step = MICROSECOND if name == "a_ppp" else 1
    at = (pl.col("time_ns") // step).alias("at")
    met = truth.with_columns(at).join(ours.with_columns(at), on=[*KEY, "at"])
    assert (met["new"] == met["ssthresh"]).sum() / truth.height >= at_the_ack
    soon = ours.sort("time_ns").rename({"time_ns": "seen_ns"})
    next_ack = truth.sort("time_ns").join_asof(
        soon, left_on="time_ns", right_on="seen_ns", by=KEY, strategy="forward",
        check_sortedness=False,
    )  # fmt: skip
    if step == 1:
        assert (next_ack["new"] == next_ack["ssthresh"]).mean() >= 0.99  # type: ignore[operator]


def test_after_the_queue_the_share_of_marks_is_right_and_no_alpha_is_claimed() -> None:
    here, nic = decided("dctcp", "a1_switch"), decided("dctcp", "a1")
    shares = [rows["marked_bytes"].sum() / rows["acked_bytes"].sum() for rows in (here, nic)]
    assert abs(shares[0] - shares[1]) < 0.001
    marked = here.filter(pl.col("time_ns") > here["time_ns"].min() + 10**7)  # type: ignore[operator]
    assert marked["quality"].unique().to_list() == ["unknown"]


def sampled(name: str) -> pl.DataFrame:
    """Each sample of the kernel's alpha beside our last decision."""
    ours = decided("linux", name)
    truth = pl.read_parquet(LINUX / f"truth_linux_{name[0]}.parquet")
    truth = truth.join(ours.select(KEY).unique(), on=KEY).sort("time_ns")
    table = truth.join_asof(
        ours.select(*KEY, "time_ns", "dialect", "quality", "why", pl.col("alpha").alias("ours")),
        on="time_ns", by=KEY, strategy="backward", check_sortedness=False,
    )  # fmt: skip
    table = table.filter(pl.col("ours").is_not_null())
    return table.with_columns(error=(pl.col("alpha") - pl.col("ours")).abs())


@pytest.mark.parametrize("name", ["A_h1", "A_h2", "B_h1", "C_h1", "C_h2"])
def test_alpha_of_linux_is_the_kernels_with_and_without_loss(name: str) -> None:
    table = sampled(name)
    assert (table["error"] < HALF_STEP).mean() >= 0.99  # type: ignore[operator]
    assert table["error"].max() <= 0.06  # type: ignore[operator]
    assert table["dialect"].unique().to_list() == ["linux"]


def test_in_mid_path_alpha_is_an_estimate_that_says_so() -> None:
    table = sampled("A_mid")
    assert table["error"].median() <= 0.02  # type: ignore[operator]
    assert table["quality"].unique().to_list() == ["estimated"]
