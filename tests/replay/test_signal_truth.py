"""Truth per signal: the hop that each is about, recounted plainly, and what verdicts say of it."""

from collections import Counter
from functools import cache

import polars as pl
import pytest

from replay import Run, Truth, scenario, simulate, truth_of
from replay.campaign import SETTINGS
from replay.matrix import signals
from replay.signal_score import COLUMNS, by_signal, told
from replay.signal_truth import SIGNALS
from replay.state import BIN_NS, DATA, SENT
from replay.world import GBPS, MS, FlowScript, Phase, World


@cache
def played() -> tuple[Run, Truth]:
    """Six flows fill leaf1's way up at 85 %; the one to a host of 2 Gb/s sends little."""
    others = tuple(
        FlowScript("other", "csig_expanded", f"leaf1-h{at}", f"leaf2-h{at}",
                   (Phase(0, 39 * GBPS // 10),))
        for at in range(2, 7)
    )  # fmt: skip
    one = FlowScript("one", "csig_compact", "leaf1-h1", "leaf2-h1", (Phase(0, GBPS // 2),))
    world = World((one, *others), 3 * MS, link_bps=25 * GBPS, nic_bps={"leaf2-h1": 2 * GBPS},
                  payload_bytes=1000)  # fmt: skip
    run = simulate(world, SETTINGS)
    return run, truth_of(run, MS)


def test_signals_of_one_flow_are_about_different_ports() -> None:
    """As in Figure 5 of the draft: the least bandwidth is not the least share of a link."""
    _, truth = played()
    later = pl.col("time_ns") > truth.signals["time_ns"].min()
    mine = truth.signals.filter(pl.col("script") == 0, later)
    hop = {name: set(mine.filter(signal=name)["device"]) for name in ("abw", "abw_share", "u")}
    assert hop["abw"] == {"leaf2"}, "the port to the slow host"
    assert hop["abw_share"] | hop["u"] <= {"leaf1", "spine1"}, "the way up, or that down"
    assert mine.filter(signal="abw")["apart"].all()
    assert mine["runner_up"].is_not_null().all()


def test_values_are_those_of_the_exact_counters() -> None:
    run, truth = played()
    for row in truth.signals.filter(signal="abw").iter_rows(named=True):
        at = (row["time_ns"] - run.world.start_ns) // BIN_NS
        ports = [port for port, each in enumerate(run.interfaces)
                 if (each.device, each.name) == (row["device"], row["interface"])]  # fmt: skip
        left = run.interfaces[ports[0]].capacity_bps - run.counters[SENT, at, ports[0]] * 8 * 1000
        assert row["value"] == pytest.approx(left)
        assert row["runner_up"] >= row["value"]


def test_marks_are_counted_where_they_were_made() -> None:
    run = simulate(scenario.alone("ecn", 4, 3 * MS), SETTINGS)
    marks = truth_of(run, MS).signals.filter(signal="marks")
    counted = Counter(
        (run.scripts[each["flow"]], each["last_ns"] // MS, each["ce_hop"])
        for each in run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
        if each["ce"]
    )
    start = run.world.start_ns
    for script, time_ns, hop, value in marks.select(
        "script", "time_ns", "hop_index", "value"
    ).iter_rows():
        at = (time_ns - start) // MS
        assert value == max(counted[script, at, other] for other in range(3))
        assert value == counted[script, at, hop] > 0
    assert set(marks["stage"]) == {"tor"}


def test_every_signal_has_one_row_a_flow_and_interval() -> None:
    _, truth = played()
    assert set(truth.signals["signal"]) <= {signal.name for signal in SIGNALS}
    counts = truth.signals.filter(pl.col("signal") != "marks").group_by("script", "time_ns").len()
    assert set(counts["len"]) == {len(SIGNALS) - 1}
    assert counts.height == truth.verdicts.height


def test_a_hop_nearly_as_good_is_neither_right_nor_wrong() -> None:
    """On the way up and down of one flow alone the same is left."""
    run = simulate(scenario.elephant("csig_compact", 2 * MS), SETTINGS)
    found = truth_of(run, MS).signals
    assert found.filter(signal="abw_share")["apart"].all()
    alone = simulate(World((FlowScript("one", "ecn", "leaf1-h1", "leaf2-h1", (Phase(0, GBPS),)),),
                           2 * MS), SETTINGS)  # fmt: skip
    assert not truth_of(alone, MS).signals.filter(signal="abw")["apart"].any()


def text_of(*hops: tuple[str, str, float]) -> str:
    """Candidates of signals."""
    return "[" + ",".join(
        f'{{"signal":"{signal}","device":"{hop.split()[0]}","interface":"{hop.split()[1]}",'
        f'"probability":{share}}}' for signal, hop, share in hops
    ) + "]"  # fmt: skip


def test_each_signal_is_held_against_its_own_truth() -> None:
    like = {"a 1": "a", "b 1": "b*", "c 1": "b*"}
    shares = {"a 1": 1.0, "b 1": 0.5, "c 1": 0.5}
    text = text_of(("csig_abw", "a 1", 0.6), ("csig_abw", "b 1", 0.4), ("csig_delay", "a 1", 0.995),
                   ("csig_delay", "b 1", 0.005), ("ecn", "a 1", 1.0))  # fmt: skip
    names, first, held = told(text, {"abw": "c 1", "delay": "a 1"}, like, shares)
    assert names == ["csig_abw", "csig_delay"], "of marks the truth knows no hop"
    assert first == [0.0, 1.0]
    assert held == [0.5, 1.0], "one of two spines that nobody can tell apart"
    assert told(None, {"abw": "a 1"}, like, shares) == ([], [], [])


def test_the_table_counts_scored_rows_only() -> None:
    rows = pl.DataFrame(
        {
            "telemetry": ["int", "int", "ecn"], "scored": [True, True, False],
            COLUMNS[0]: [["int", "delay"], ["int"], ["ecn"]],
            COLUMNS[1]: [[1.0, 0.0], [0.0], [1.0]], COLUMNS[2]: [[1.0, 1.0], [0.5], [1.0]],
        }
    )  # fmt: skip
    found = by_signal(rows)
    assert found.select("signals", "about", "rows", COLUMNS[1], COLUMNS[2]).rows() == [
        ("delay", "delay", 1, 0.0, 1.0), ("int", "u", 2, 0.5, 0.75),
    ]  # fmt: skip
    head, delay, load = signals(rows, ("int", "ecn"))
    assert head.split() == ["telemetry", "signal", "about", "told", "top-1", "in", "set"]
    assert delay.split() == ["int", "delay", "delay", "1", "0.0", "100.0"]
    assert load.split() == ["int", "int", "u", "2", "50.0", "75.0"]
