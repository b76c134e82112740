"""Every field of every layer of the captures of others is tshark's, and none is passed over."""

from collections.abc import Callable
from pathlib import Path

import pytest
from shark_captures import both_ways

SHARED = Path(__file__).resolve().parents[3] / "shared"
CAPTURES = sorted((SHARED / "captures").rglob("*.pcap*"))
ORACLES = sorted((SHARED / "oracles").rglob("*.pcap*"))
MOST, MOST_OF_ORACLES = 200, 120
"""Frames of each file; the soak takes all."""


@pytest.mark.skipif(not CAPTURES, reason="captures of others are not part of a clone")
def test_captures_of_others_hold_what_tshark_shows(tool: Callable[..., str]) -> None:
    found = both_ways(tool, CAPTURES, MOST)
    assert found.differences == []
    assert found.files == len(CAPTURES)
    assert found.frames > 2 * len(CAPTURES)


@pytest.mark.skipif(not ORACLES, reason="traces of others are not part of a clone")
def test_traces_of_simulators_and_linux_hold_what_tshark_shows(tool: Callable[..., str]) -> None:
    found = both_ways(tool, ORACLES, MOST_OF_ORACLES)
    assert found.differences == []
    assert found.frames == MOST_OF_ORACLES * len(ORACLES)
    assert {name for name, _ in found.fields} >= {"ipv4", "ipv6", "tcp", "ioam_preallocated"}
