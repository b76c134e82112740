"""The receiver's checker on captures of receivers that are not ours: ns-3's and Linux's."""

from functools import cache
from typing import Any

import polars as pl
import pytest

from pipeline.cc import dctcp_receiver
from pipeline.cc.dctcp_receiver import Branch, Evidence, Verdict
from tests.pipeline.test_track import SHARED, observations

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
COLUMNS = ["conversation", "direction", "flags", "seq", "ack", "payload_bytes", "ecn"]
SYN = 2
WRONG = (Branch.LATCHED, Branch.ECE_UNEXPECTED, Branch.ECE_MISSING)
LONG = 200
"""Segments of a flow whose receiver can be judged."""


def near(number: int, other: int) -> int:
    """The number that is this one modulo 2**32 and nearest to another."""
    return other + ((number - other + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@cache
def heard(name: str, **changes: Any) -> list[tuple[Any, set[int]]]:
    """State of each receiver of long flows at the end, and the branches of its ACKs."""
    rows = observations(SHARED / f"{name}.pcap.zst").filter(pl.col("flags").is_not_null())
    p = dctcp_receiver.record(changes)
    known: dict[tuple[int, int], Any] = {}
    latest: dict[tuple[int, int], int] = {}
    branches: dict[tuple[int, int], set[int]] = {}
    for conversation, direction, flags, seq, ack, octets, ecn in rows.select(COLUMNS).iter_rows():
        here, there = (conversation, direction), (conversation, 1 - direction)
        for key in (here, there):
            if key not in known:
                known[key], branches[key] = dctcp_receiver.state()[0], set()
        latest[here] = max(near(seq, latest.get(here, seq)), latest.get(here, seq))
        at = near(seq, latest[here])
        if flags & SYN:
            latest[here] = seq
            dctcp_receiver.establish(known[here], seq + 1)
        number = near(ack, latest.get(there, ack))
        branches[there].add(dctcp_receiver.ack(known[there], p, number, flags))
        dctcp_receiver.data(known[here], p, at, octets, ecn, flags)
    return [(s, branches[key]) for key, s in known.items() if s.segments >= LONG]


def test_every_ack_of_ns3_is_expected_where_ce_is_seen_and_every_marked_byte_is_reported() -> None:
    receivers = heard("dctcp/a1_switch")
    assert len(receivers) == 2
    for s, branches in receivers:
        assert (s.verdict, s.evidence) == (Verdict.DCTCP, Evidence.MARKS)
        assert s.wrong[0] == s.late == 0
        assert s.sure > 0.99
        assert s.reported_bytes == s.expected_bytes > 0
        assert s.m == 1
        assert branches <= {
            Branch.NOTHING, Branch.UNSIGHTED, Branch.EXPECTED, Branch.AT_CHANGE_OLD,
            Branch.AT_CHANGE_NEW,
        }  # fmt: skip


def test_a_receiver_whose_marks_are_set_behind_the_tap_contradicts_only_if_all_are_said_to_be_seen(
) -> None:  # fmt: skip
    for s, branches in heard("linux/A_mid"):
        assert (s.verdict, s.evidence) == (Verdict.DCTCP, Evidence.LATCH)
        assert not branches & set(WRONG)
    for s, _ in heard("linux/A_mid", sees_ce="all"):
        assert s.verdict == Verdict.CONTRADICTS


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["A_h1", "A_h2", "C_h1", "C_h2"])
def test_linux_is_dctcp_by_how_long_ece_lasts(name: str) -> None:
    receivers = heard(f"linux/{name}")
    assert receivers
    for s, _ in receivers:
        assert (s.verdict, s.evidence) == (Verdict.DCTCP, Evidence.LATCH)
        assert s.sure > 0.8


def test_classic_ecn_of_linux_is_recognised_in_every_flow() -> None:
    receivers = heard("linux/E_h1")
    assert receivers
    for s, _ in receivers:
        assert (s.verdict, s.evidence) == (Verdict.CLASSIC, Evidence.LATCH)
        assert s.sure > 0.9


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["linux/B_h1", "linux/B_tx", "dctcp/a1", "dctcp/b", "dctcp/e2", "dctcp/f2"]
)
def test_dctcp_is_never_taken_for_classic(name: str) -> None:
    for s, branches in heard(name):
        assert s.verdict in (Verdict.DCTCP, Verdict.UNKNOWN)
        assert not branches & set(WRONG)
