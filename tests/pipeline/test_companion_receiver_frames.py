"""The receiver's HPCC++ beside the sender's: the stacks of the simulator's ACKs, put on data."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder, Frames
from pipeline import Tracker
from tests.pipeline.test_hpcc_frames import KEY, SHARED, answers, data, needs_shared

IN_ACK, IN_DATA, OCTETS = 46, 48, 42
"""Where INT begins in the frames of either, and its length."""


def arrived(acks: pl.DataFrame, flow: dict[str, Any]) -> pl.DataFrame:
    """The data packets as their receiver got them, half a round trip before the ACK was back."""
    frame = data(acks.rename({"pkt_seq": "seq"}))
    frame[:, IN_DATA : IN_DATA + OCTETS] = answers(acks)[:, IN_ACK : IN_ACK + OCTETS]
    size, octets = frame.shape
    frames = Frames(
        frame.ravel(), np.arange(size) * octets, np.full(size, octets, np.int32),
        np.full(size, octets, np.int32), acks["time_ns"].to_numpy() - flow["T_ns"] // 2,
        np.ones(size, np.uint16), np.zeros(size, np.uint16), 1,
    )  # fmt: skip
    ports = tuple(acks["dport"].unique().to_list())
    rows = Decoder(CollectorSettings(hpcc_udp_ports=ports)).decode(frames, ["nic"], "simulator")
    return rows.with_columns(
        pl.lit(flow["max_rate_bps"]).alias("src_nic_bps"),
        pl.lit(flow["T_ns"]).alias("base_rtt_ns"),
        pl.lit(flow["win_bytes"]).alias("window_bytes"),
        frame=pl.int_range(pl.len(), dtype=pl.UInt64),
    )


def beside(acks: pl.DataFrame, flow: dict[str, Any]) -> pl.DataFrame:
    """What the sender made of each stack, and what its receiver would have made of it."""
    tracker = Tracker(
        {
            "form": "rate", "qlen_by": "window", "eta": flow["eta"],
            "maxStage": flow["mi_thresh"], "R_ai_bps": flow["rai_bps"],
            "R_min_bps": flow["min_rate_bps"],
        },
        companions={"hpcc_receiver": {"clock": "receiver_edge", "N_from": "parameter"}},
    )  # fmt: skip
    made = tracker.advance(arrived(acks, flow)).companions["hpcc_receiver"]
    sender = acks.with_row_index("frame").with_columns(pl.col("frame").cast(pl.UInt64))
    return sender.join(made, on="frame", how="left", suffix="_receiver")


@needs_shared
@pytest.mark.parametrize("name", ["a_2to1", "b_incast16", "g_minclamp"])
def test_u_is_the_senders_whoever_measures_it(name: str) -> None:
    acks, flows = (pl.read_parquet(SHARED / f"{name}{part}.parquet") for part in ("", "_flows"))
    both = beside(acks.filter(ack_type="A"), flows.row(0, named=True))
    assert both["U"].null_count() == 0
    assert ((both["U"] - both["U_after"]).abs() / both["U_after"]).max() < 1e-12
    assert set(both["quality"]) == {"exact"}


@needs_shared
def test_w_follows_the_senders_until_updates_by_time_have_drifted_apart() -> None:
    acks, flows = (pl.read_parquet(SHARED / f"a_2to1{part}.parquet") for part in ("", "_flows"))
    both = beside(acks.filter(ack_type="A"), flows.row(0, named=True))
    apart = ((pl.col("W") - pl.col("W_after")) / pl.col("W_after")).abs()
    early = both.group_by(KEY, maintain_order=True).head(500)
    assert early.select(apart.median()).item() < 0.002
    # Nothing feeds what the receiver says back into the trace, so a difference stays.
    assert both.select(apart.median()).item() < 0.2
    updates = (both["mode"] == "U").sum()
    assert both["sent"].sum() == pytest.approx(updates, rel=0.02)
