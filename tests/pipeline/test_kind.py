"""Kinds of bottleneck: every row of the table is reached, and by what it says."""

import polars as pl
import pytest

from pipeline import KINDS, Topology
from pipeline.kind import CONGESTED, congested_kind, reroute_helps

CASES = [
    ("tor", "host", 8, "incast"),
    ("tor", "host", 2, "incast"),
    ("tor", "host", 1, "last_hop_elephant"),
    ("leaf", "host", 0, "last_hop_elephant"),
    ("tor", "up", 1, "uplink"),
    ("tor", "up", 9, "uplink"),
    ("spine", "down", 3, "downlink"),
    ("spine", "up", 3, "core"),
    ("core", "down", 3, "core"),
    ("spine", "side", 3, "side_link"),
    ("tor", "side", 1, "side_link"),
    ("host", "up", 1, "sender_host"),
    ("host", "host", 4, "receiver_host"),
    ("host", "down", 1, "receiver_host"),
    ("tor", "down", 1, "core"),
    ("spine", None, 3, "congested_hop"),
    (None, None, None, "congested_hop"),
    ("", "up", 3, "congested_hop"),
    ("fish", "down", 3, "congested_hop"),
]


def test_every_kind_of_a_congested_hop_is_reached() -> None:
    frame = pl.DataFrame(
        CASES,
        schema={"stage": pl.String, "orientation": pl.String, "contributors": pl.UInt32,
                "kind": pl.String},
        orient="row",
    )  # fmt: skip
    assert frame.select(congested_kind().alias("kind"))["kind"].equals(frame["kind"])
    assert set(frame["kind"]) == {kind.name for kind in CONGESTED}


WORDS = {"leaf": ("up", "uplink"), "ToR": ("up", "uplink"), "fabric": ("down", "downlink"),
         "T1": ("down", "downlink"), "super-spine": ("down", "core")}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_words_of_operators_for_stages_make_the_kinds_of_these(word: str) -> None:
    orientation, kind = WORDS[word]
    text = f"""
    devices:
      a: {{node: 1, stage: {word}, interfaces: {{e1: {{port: 1, orientation: {orientation}}}}}}}
    """
    told = Topology.from_yaml(text)
    ports = told.frame.with_columns(pl.lit(2).alias("contributors"))
    assert ports.select(congested_kind()).item() == kind
    assert told.devices[0].stage == word  # as it was told


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_says_whether_another_path_helps(name: str) -> None:
    told = pl.DataFrame({"kind": [name]}).select(reroute_helps()).item()
    assert told == KINDS[name].reroute_helps
    assert told in {"yes", "no", "unknown"}
    assert KINDS[name].sentence


def test_nothing_leads_around_a_last_hop() -> None:
    assert {k.reroute_helps for k in CONGESTED if k.orientation == "host"} == {"no"}
    inside = [k for k in CONGESTED if k.stage != "host"]
    assert {k.reroute_helps for k in inside if k.orientation in {"up", "down", "side"}} == {"yes"}
