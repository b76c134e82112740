"""What counts as agreeing with the truth."""

import polars as pl
import pytest

from replay.score import score
from replay.truth import Truth

KEY = {"src": "10.0.0.1", "sport": 1, "dst": "10.0.0.2", "dport": 2}
HERE = {"device": "leaf1", "interface": "Ethernet1"}
THERE = {"device": "spine1", "interface": "Ethernet2"}


def world(*, congested: bool, scored: bool = True) -> Truth:
    """One flow in one interval."""
    flow = {"script": 0, **KEY, "protocol": 6, "role": "incast", "telemetry": "int"}
    verdict = {"script": 0, **KEY, "protocol": 6, "time_ns": 0, **HERE, "kind": "incast"}
    known = verdict | {"u_mean": 1.5, "congested": congested, "scored": scored}
    return Truth(pl.DataFrame([flow]), pl.DataFrame(), pl.DataFrame([known]), pl.DataFrame())


def told(kind: str, hop: dict[str, str]) -> pl.DataFrame:
    """What hopsight said."""
    return pl.DataFrame(
        [{"time_ns": 0, **KEY, "kind": kind, **hop, "u_mean": 1.4, "confidence": 1.0}]
    )


@pytest.mark.parametrize(
    ("congested", "kind", "hop", "agrees"),
    [
        (True, "incast", HERE, True),
        (True, "uplink", HERE, True),
        (True, "incast", THERE, False),
        (True, "not_congested", HERE, False),
        (False, "not_congested", HERE, True),
        (False, "sender_limited", THERE, True),
        (False, "incast", HERE, False),
    ],
)
def test_agreement(congested: bool, kind: str, hop: dict[str, str], agrees: bool) -> None:
    result = score(world(congested=congested), told(kind, hop))
    assert result.agreement == float(agrees)
    assert result.measured_right is agrees


def test_a_flow_without_a_verdict_is_wrong() -> None:
    assert score(world(congested=True), told("incast", HERE).clear()).agreement == 0.0


def test_nothing_scored_is_not_all_right() -> None:
    result = score(world(congested=True, scored=False), told("incast", HERE))
    assert not result.measured_right
    assert result.intervals.is_empty()
