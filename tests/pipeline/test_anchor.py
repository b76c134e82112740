"""W from the bytes in flight: captures that begin mid-flow, and what an anchor does to a state."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import borrowing
from pipeline import anchor as anchoring
from pipeline.anchor import anchor
from pipeline.cc import hpcc
from pipeline.cc.hpcc import Branch
from pipeline.memory import SLOT, Mark
from tests.pipeline import test_hpcc_frames as frames
from tests.pipeline.test_hpcc_frames import SHARED, needs_shared

SEGMENT, T_NS, NIC_BPS = 1000, 8_000, 100 * 10**9
W_INIT = 100_000
FORMS = (anchor.py_func, borrowing(anchor.py_func))  # type: ignore[attr-defined]


def sender(branch: int = 0, **values: Any) -> tuple[Any, Any, Any]:
    """A slot, a state and parameters of a sender in the middle of a flow."""
    p = hpcc.record({"T_ns": T_NS, "B_nic_bps": NIC_BPS})
    s, slot = hpcc.state()[0], np.zeros(1, SLOT)[0]
    hpcc.reset(s, p)
    s.started, s.branch, s.lastUpdateSeq = 1, branch, 5_000
    slot.largest[0] = SEGMENT
    for name, value in values.items():
        setattr(s, name, value)
    return slot, s, p


@pytest.mark.parametrize("take", FORMS, ids=["plain", "compiled"])
def test_a_full_update_takes_w_from_what_is_in_flight(take: Any) -> None:
    slot, s, p = sender()
    take(slot, 0, s, p, 5_001, 40_000, False)
    assert (s.W, s.Wc, s.R) == (40_000, 40_000, 40e9)
    assert slot.marks[0] & Mark.ANCHORED
    take(slot, 0, s, p, 5_001, 40_900, False)  # the last packet let go
    take(slot, 0, s, p, 5_001, 36_000, False)  # a sender that paces
    assert s.W == 40_000
    take(slot, 0, s, p, 5_001, 60_000, False)  # W cannot be less
    assert s.W == 60_000
    take(slot, 0, s, p, 5_001, 900_000, False)
    assert s.W == W_INIT


@pytest.mark.parametrize(
    ("branch", "right"),
    [
        (Branch.FULL_UPDATE_MI, 40_000.0),
        (Branch.FAST_REACT_AI, 39_950.0),
        (Branch.FAST_REACT_MI, 39_950.0 * (1.9 / 0.95)),
    ],
)
def test_wc_is_what_w_was_made_from(branch: Branch, right: float) -> None:
    slot, s, p = sender(branch.value, U=1.9)
    assert s.W_ai == pytest.approx(50)
    FORMS[0](slot, 0, s, p, 5_001, 40_000, False)
    assert s.Wc == pytest.approx(right)


def test_nothing_is_taken_where_nothing_can_be_told() -> None:
    for ack, flight, far, values in (
        (5_000, 40_000, False, {}),  # no full update
        (5_001, 40_000, True, {}),  # the tap is far from the sender
        (5_001, 0, False, {}),
        (5_001, 40_000, False, {"started": 0}),
        (5_001, 40_000, False, {"W_init": np.nan}),
    ):
        slot, s, p = sender(**values)
        FORMS[0](slot, 0, s, p, ack, flight, far)
        assert s.W == W_INIT
        assert not slot.marks[0] & Mark.ANCHORED


def test_a_flow_seen_from_its_beginning_needs_none() -> None:
    lost_track = anchoring.lost_track.py_func  # type: ignore[attr-defined]
    slot = np.zeros(1, SLOT)[0]
    assert lost_track(slot, 0)
    slot.marks[0] = Mark.SYN_SEEN
    assert not lost_track(slot, 0)
    slot.marks[0] |= Mark.GAP
    assert lost_track(slot, 0)


@needs_shared
@pytest.mark.parametrize(("name", "most"), [("a_2to1", 0.06), ("b_incast16", 0.12)])
def test_mid_flow_the_rate_comes_near_the_simulators(
    name: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = frames.observed
    acks, sent, flows = (
        pl.read_parquet(SHARED / f"{name}{part}.parquet") for part in ("", "_sent", "_flows")
    )
    begins = acks["time_ns"].quantile(0.3)
    monkeypatch.setattr(
        frames, "observed", lambda *rows: whole(*rows).filter(pl.col("time_ns") > begins)
    )
    table = frames.rebuilt(acks, sent, flows).filter(pl.col("W").is_not_null(), ack_type="A")
    settled = table.filter(pl.int_range(pl.len()).over("flow") > 50)
    error = (settled["R"] - settled["rate_after"]).abs() / settled["rate_after"]
    assert error.median() < most  # type: ignore[operator] # without anchors it is 0.8 and 4
    assert settled["quality"].unique().to_list() == ["estimated"]
    assert settled["why"].unique().to_list() == ["anchored"]
