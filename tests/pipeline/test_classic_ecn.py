"""Classic ECN is told from DCTCP by how its ECE ends, and DCTCP is never taken for it."""

from typing import Any

import pytest

from pipeline import Tracker
from tests.pipeline.test_dctcp_oracle import decided
from tests.pipeline.test_track import SHARED, Trace

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
CWR = 0x90


def runs(trace: Trace, *, ends_with_cwr: bool, count: int = 10) -> list[dict[str, Any]]:
    """Runs of ECE over six segments; CWR goes out with the third and is acknowledged or not."""
    trace.connect()
    seq = 1001
    for _ in range(count):
        for k in range(6):
            flags = CWR if k == 2 else 0x10
            trace.add(0, flags, seq + k * 1460, 5001, payload_bytes=1460, after=1000)
        for k in range(6):
            ece = k < 2 if ends_with_cwr else k < 1
            trace.ack(seq + (k + 1) * 1460, ece=ece, after=1000)
            if k == 0 and ends_with_cwr:
                trace.add(0, 0x10, seq + 6 * 1460, 5001, payload_bytes=1460, after=1000)
        seq += 7 * 1460
        trace.ack(seq, after=1000)
    return Tracker().advance(trace.frame()).decisions.to_dicts()


def late_cwr(count: int) -> list[dict[str, Any]]:
    """ECE from the first ACK until the segment that carried CWR is acknowledged."""
    trace = Trace()
    trace.connect()
    seq = 1001
    trace.data(seq, after=1000)
    for _ in range(count):
        trace.ack(seq + 1460, ece=True, after=1000)
        seq += 1460
        trace.add(0, CWR, seq, 5001, payload_bytes=1460, after=1000)
        trace.data(seq + 1460, after=1000)
        trace.ack(seq + 1460, after=1000)
        trace.ack(seq + 2920, after=1000)
        seq += 2920
        trace.data(seq, after=1000)
    return Tracker().advance(trace.frame()).decisions.to_dicts()


def test_ece_that_lasts_until_cwr_again_and_again_is_classic() -> None:
    rows = late_cwr(12)
    assert rows[0]["dialect"] == "linux"
    last = rows[-1]
    assert (last["dialect"], last["basis"]) == ("classic", "reactions")
    assert (last["quality"], last["why"]) == ("unknown", "classic_ecn")
    assert last["alpha"] is None


def test_a_few_runs_are_not_enough_to_say_so() -> None:
    assert {row["dialect"] for row in late_cwr(4)} == {"linux"}


def test_ece_that_ends_before_cwr_arrives_is_dctcp() -> None:
    assert {row["dialect"] for row in runs(Trace(), ends_with_cwr=False)} == {"linux"}


def test_classic_can_be_said_of_a_host() -> None:
    trace = Trace()
    trace.connect()
    trace.data(1001)
    trace.ack(2461, ece=True)
    row = trace.decisions(dctcp_parameters={"dialect": "classic"}).row(0, named=True)
    assert (row["dialect"], row["basis"], row["alpha"]) == ("classic", "set", None)


@needs_shared
def test_cubic_and_reno_with_classic_ecn_are_recognised_in_every_flow() -> None:
    last = decided("linux", "E_h1").group_by("flow", maintain_order=True).last()
    assert last.height > 0
    assert last["dialect"].unique().to_list() == ["classic"]


@needs_shared
@pytest.mark.parametrize("name", ["A_h1", "A_h2", "A_mid", "B_h1", "B_tx", "C_h1", "C_h2"])
def test_dctcp_of_linux_is_never_taken_for_classic(name: str) -> None:
    assert decided("linux", name)["dialect"].unique().to_list() == ["linux"]


@needs_shared
@pytest.mark.parametrize("name", ["a1", "a1_swin", "a1_switch", "b", "e2", "f2"])
def test_dctcp_of_ns3_is_never_taken_for_classic(name: str) -> None:
    assert decided("dctcp", name)["dialect"].unique().to_list() == ["ns3"]
