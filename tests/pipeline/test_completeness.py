"""How complete a verdict is: every part a number, and one figure out of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Topology, Worker
from pipeline.csig_profile import SIGNALS, Csig, CsigSignal

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS = 1_000_000
SIZE = 1_000
TAG = {"csig_variant": 2, "csig_t": 2, "csig_s": 3, "csig_lm": 77, "csig_low": 0.1,
       "csig_high": 0.2}  # fmt: skip


def frames(numbers: Iterable[int], **told: Any) -> list[dict[str, Any]]:
    """Data of one flow, the n-th at n/100 of a millisecond."""
    return [
        {"time_ns": n * MS // 100, "frame": n + 1, "seq": (n * SIZE) % (1 << 32),
         "payload_bytes": SIZE, "protocol": 6, **told} for n in numbers
    ]  # fmt: skip


def judged(batches: Iterable[pl.DataFrame], known: Topology | None = None, **told: Any) -> Any:
    settings = PipelineSettings(**{"interval_ms": 1.0, "disorder_us": 0.0} | told)
    worker = Worker(settings, known, ("a",))
    made = [*(worker.advance(each) for each in batches), worker.finish()]
    rows = pl.concat([out.tables["verdicts"] for out in made if "verdicts" in out.tables])
    return rows.sort("revision").unique(["time_ns", "flow"], keep="last").sort("time_ns")


def test_what_sequence_numbers_tell_and_no_frame_brought_is_a_gap(observed: Observed) -> None:
    seen = [n for n in range(200) if not 20 <= n < 40]
    first, second = judged([observed(frames(seen))]).to_dicts()
    assert first["gaps"] == pytest.approx(0.2, abs=1e-4)
    assert second["gaps"] == 0.0


def test_gaps_are_the_same_however_the_input_is_cut(observed: Observed) -> None:
    rows = observed(frames([n for n in range(100) if n % 7]))
    whole = judged([rows])
    cut = judged([rows[at : at + 9] for at in range(0, rows.height, 9)])
    assert cut["gaps"].to_list() == whole["gaps"].to_list()
    assert whole["gaps"][0] == pytest.approx(14 / 99, rel=0.01)


def test_numbers_that_begin_anew_and_what_is_sent_again_are_no_gap(observed: Observed) -> None:
    around = [{**row, "seq": (row["seq"] - 50 * SIZE) % (1 << 32)} for row in frames(range(100))]
    assert judged([observed(around)])["gaps"].to_list() == [0.0]
    again = frames([*range(40), *range(30, 60)])
    rows = [{**row, "time_ns": at * 1_000} for at, row in enumerate(again)]
    assert judged([observed(rows)])["gaps"].to_list() == [0.0]
    ends = [{**row, "flags": 2 if n == 0 else 1, "payload_bytes": 0} if n in {0, 39} else row
            for n, row in enumerate(frames(range(40)))]  # fmt: skip
    shifted = [{**row, "seq": row["seq"] - SIZE + 1 if n else 0} for n, row in enumerate(ends)]
    assert judged([observed(shifted)])["gaps"].to_list() == [0.0], "SYN and FIN take a number each"
    assert judged([observed(frames(range(9), protocol=17))])["gaps"].to_list() == [None]


def test_late_frames_fill_a_gap(observed: Observed) -> None:
    """So the verdict is revised to what it would have been in time."""
    on_time = [n for n in range(250) if not 20 <= n < 40]
    parts = [frames(on_time[:-5]), frames(range(20, 40)), frames(on_time[-5:])]
    told = judged([observed(part) for part in parts])
    in_time = judged([observed(frames(range(250)))])
    assert told["gaps"].to_list() == in_time["gaps"].to_list() == [0.0, 0.0, 0.0]
    assert (told["revision"][0], told["revised_ns"].is_not_null()[0]) == (2, True)


@pytest.mark.parametrize("late", [range(120, 140), range(105, 110)])
def test_late_frames_fill_a_gap_of_an_interval_that_is_open(
    observed: Observed, late: range
) -> None:
    """The last that came is not the last that was sent."""
    on_time = [n for n in range(250) if n not in late]
    for cut in (150, 190):
        parts = [frames(on_time[:cut]), frames(late), frames(on_time[cut:])]
        told = judged([observed(part) for part in parts])
        assert told["gaps"].to_list() == [0.0, 0.0, 0.0]
        assert told["revision"].to_list() == [1, 1, 1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [6, 50, 1000])
def test_gaps_are_those_of_each_point_whatever_its_clock(observed: Observed, size: int) -> None:
    """One of two points is half a millisecond behind: all its rows come after later ones."""
    late = {"point": "b", "sport": 7777}
    rows = [row | more for n, row in enumerate(frames(range(600)))
            for more in ({}, late | {"time_ns": row["time_ns"] - MS // 2})
            if not (more and 260 <= n < 280)]  # fmt: skip
    rows = [{**row, "frame": at + 1, "time_ns": row["time_ns"] + 10 * MS}
            for at, row in enumerate(rows)]  # fmt: skip
    batches = [observed(rows[at : at + size]) for at in range(0, len(rows), size)]
    told = judged(batches, disorder_us=200.0).filter(pl.col("gaps") > 0)
    assert told["gaps"].to_list() == pytest.approx([0.2], abs=1e-3)
    assert told["time_ns"].to_list() == [12 * MS]


@pytest.mark.parametrize(("rate", "setting", "sampling"), [
    (100, None, 0.01), (100, 7.0, 0.01), (None, 4.0, 0.25), (None, None, None),
])  # fmt: skip
def test_a_rate_of_sampling_is_told_by_frames_or_else_by_settings(
    observed: Observed, rate: int | None, setting: float | None, sampling: float | None
) -> None:
    told = {} if rate is None else {"sampling_rate": rate}
    (row,) = judged([observed(frames(range(50), **told))], sampling=setting).to_dicts()
    assert row["sampling"] == (None if sampling is None else pytest.approx(sampling))


def test_one_figure_comes_of_the_parts(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    """Of sampling and gaps the smaller share counts: what is sampled leaves gaps."""
    seen = [n for n in range(100) if not 20 <= n < 40]
    tagged = [{**row, **(TAG if row["frame"] % 2 else {})} for row in frames(seen)]
    rows = observed(tagged)
    (row,) = judged([rows], chain_of("leaf1", "spine1", "leaf2")).to_dicts()
    assert (row["telemetry"], row["gaps"]) == (0.5, pytest.approx(0.2, abs=1e-4))
    in_sight = 1.0 if row["hops"] is None else row["hops_seen"] / row["hops"]
    assert row["completeness"] == pytest.approx(0.5 * 0.8 * in_sight, rel=1e-3)
    (sampled,) = judged([rows], None, sampling=2.0).to_dicts()
    assert sampled["completeness"] == pytest.approx(0.5 * 0.5)


def test_hops_that_no_topology_knows_and_counters_that_run_backwards_are_said(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    known = chain_of("leaf1", "spine1", "leaf2")
    stack = {"hop_count": 2, "h0_node": 1, "h0_port": 1, "h1_node": 99, "h1_port": 5}
    rows = observed([
        {**row, **stack, "h0_qlen_bytes": 90_000, "h1_qlen_bytes": 0,
         **{f"h{hop}_{name}": value for hop in range(2) for name, value in (
             ("b_bps", 10**10), ("ts_ns", row["time_ns"]),
             ("tx_bytes", 10**9 + (-1 if 50 < row["frame"] < 60 else 1) * row["time_ns"]),
         )}}
        for row in frames(range(99))
    ])  # fmt: skip
    (row,) = judged([rows], known, base_rtt_us=10.0).to_dicts()
    assert {"locator_not_in_topology", "counter_backwards"} <= set(row["plausibility"])


def test_what_the_collector_shed_is_a_part_of_its_own(observed: Observed) -> None:
    """Half of the interval one of four conversations was passed on: three frames a frame seen."""
    tagged = [{**row, **TAG, **({"shed_from": 4} if row["frame"] > 40 else {})}
              for row in frames(range(80))]  # fmt: skip
    (row,) = judged([observed(tagged)]).to_dicts()
    assert row["shed"] == pytest.approx(120 / 200)
    assert row["completeness"] == pytest.approx(row["telemetry"] * (1 - 120 / 200))
    cut = judged([observed(tagged[:33]), observed(tagged[33:])])
    assert cut["shed"].to_list() == [row["shed"]]
    (whole,) = judged([observed(frames(range(80)))]).to_dicts()
    assert whole["shed"] is None


def test_a_tag_that_tells_of_the_time_before_counts_when_it_came(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    made = chain_of("leaf1", "spine1", "leaf2")
    slow = Csig(signals=tuple(CsigSignal(name, delta_t_ns=300_000) for name in SIGNALS))
    known = replace(made, devices=tuple(replace(each, csig=slow) for each in made.devices))
    told = judged([observed(frames(range(300), **TAG))], known)
    assert told["telemetry"].to_list() == [1.0, 1.0, 1.0]
    halves = [row for n in range(300) for row in frames([n], **(TAG if n % 2 else {}))]
    assert judged([observed(halves)], known)["telemetry"].to_list() == [0.5, 0.5, 0.5]
    cut = judged([observed(halves[at : at + 7]) for at in range(0, 300, 7)], known)
    assert cut["telemetry"].to_list() == [0.5, 0.5, 0.5]
