"""Several lengths of intervals at once, and revisions of what late rows change."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder
from pipeline import TABLES, PipelineSettings, Topology, Worker
from pipeline.csig_profile import SIGNALS, Csig, CsigSignal
from pipeline.lengths import fitting, lengths_ns
from pipeline.revisions import OWN
from pipeline.sums import widened
from replay import frames_of, points, scenario, simulate, topology

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS, US = 1_000_000, 1_000
LENGTHS_MS = (0.5, 1.0, 4.0)
KEY = ["interval_ns", "time_ns", "flow"]


@cache
def played(telemetry: str) -> tuple[pl.DataFrame, Topology]:
    """Eight milliseconds of the fabric, two flows at one port."""
    told = CollectorSettings(int_dscp=23)
    world = scenario.alone(telemetry, duration_ns=8 * MS)
    run = simulate(world, told)
    return Decoder(told).decode(frames_of(run, told), points(world), "fabric"), topology(world)


def stored(outputs: Iterable[Any], table: str = "verdicts") -> pl.DataFrame:
    """Rows of a table as the store holds them: of several revisions the newest."""
    told = [out.tables[table] for out in outputs if table in out.tables]
    rows = pl.concat(told).sort("revision", maintain_order=True)
    key = KEY if table == "verdicts" else [*KEY, "revision"]
    return rows.unique(key, keep="last", maintain_order=True).sort(key)


def judged(batches: Iterable[pl.DataFrame], known: Topology | None, **told: Any) -> pl.DataFrame:
    worker = Worker(PipelineSettings(**{"interval_ms": LENGTHS_MS} | told), known)
    return stored([*(worker.advance(each) for each in batches), worker.finish()])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("telemetry", ["int", "csig_expanded"])
def test_each_length_is_judged_as_if_it_were_the_only_one(telemetry: str) -> None:
    rows, known = played(telemetry)
    at_once = judged([rows[:5_000], rows[5_000:]], known)
    assert sorted(set(at_once["interval_ns"])) == [MS // 2, MS, 4 * MS]
    for length in LENGTHS_MS:
        alone = judged([rows], known, interval_ms=length)
        assert_frame_equal(
            at_once.filter(pl.col("interval_ns") == round(length * MS)), alone, check_exact=True
        )


def test_sums_are_stored_of_the_shortest_length_only() -> None:
    rows, known = played("int")
    worker = Worker(PipelineSettings(interval_ms=LENGTHS_MS), known, ("fabric",))
    made = [worker.advance(rows), worker.finish()]
    for table in ("flow_intervals", "hop_intervals"):
        told = pl.concat([out.tables[table] for out in made if table in out.tables])
        assert set(told["interval_ns"]) == {MS // 2}


def test_slices_of_a_shorter_interval_lie_in_those_of_the_longer_one() -> None:
    rng = np.random.default_rng(5)
    short, times, long = 30, np.sort(rng.integers(0, 40, 25)) * 30, 120
    slices = rng.integers(0, 2**32, 25, dtype=np.uint32)
    rows = pl.DataFrame({"time_ns": times, "interval_ns": short, "slices": slices})
    for row, wide in zip(rows.iter_rows(named=True), widened(rows, long), strict=True):
        want = 0
        for number in (n for n in range(32) if row["slices"] >> n & 1):
            at = row["time_ns"] + number * short / 32
            want |= 1 << int((at - row["time_ns"] // long * long) * 32 / long)
        assert wide == want


@pytest.mark.sampled(1)
@pytest.mark.parametrize("telemetry", ["csig_expanded", "aecn"])
def test_late_rows_of_a_tap_make_the_verdicts_that_they_would_have_made_in_time(
    telemetry: str,
) -> None:
    """What rows say by themselves, and what another point sees, adds up in any order."""
    rows, known = played(telemetry)
    first = str(rows["point"][0])
    slow = (pl.col("point") != first) & (pl.col("time_ns") % (4 * MS) < 2 * MS)
    in_time, late = rows.filter(~slow), rows.filter(slow)
    start = int(rows["time_ns"].to_numpy().min())
    batches = []
    for at in range(0, 8, 2):
        now = start + at * MS
        batches += [
            part.filter(pl.col("time_ns").is_between(since, since + 2 * MS, closed="left"))
            for part, since in ((in_time, now), (late, now - 2 * MS))
        ]
    batches.append(late.filter(pl.col("time_ns") >= start + 6 * MS))
    assert sum(each.height for each in batches) == rows.height
    worker = Worker(PipelineSettings(interval_ms=LENGTHS_MS), known)
    made = [*(worker.advance(each) for each in batches), worker.finish()]
    assert worker.counters["late"] > 100
    assert worker.counters["revised"] > 10
    assert worker.counters["too_late"] == 0
    told, whole = stored(made), judged([rows], known)
    names = [*KEY, "kind", "node", "port", "contributors"]
    assert_frame_equal(told.select(names), whole.select(names))
    # A packet is counted where it was seen first, which late rows cannot change any more.
    assert told["samples"].sum() == pytest.approx(whole["samples"].sum(), rel=0.02)
    revised = told.filter(pl.col("revision") > 1)
    assert revised["revised_ns"].is_not_null().all()
    assert told.filter(pl.col("revision") == 1)["revised_ns"].is_null().all()
    changes = stored(made, "verdict_revisions")
    last = changes.group_by(KEY, maintain_order=True).agg(
        pl.col("revision").max(), pl.len().alias("count")
    )
    assert last.select(*KEY, "revision").equals(revised.sort(KEY).select(*KEY, "revision"))
    assert (last["count"] == last["revision"]).all(), "every revision from the first on is kept"


def test_late_tags_of_one_source_give_the_same_bits(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    known = chain_of("leaf1", "spine1", "leaf2")
    rows = observed([
        {"time_ns": at * 50 * US, "frame": at + 1, "seq": at * 1_000, "payload_bytes": 1_000,
         "csig_variant": 2, "csig_t": at % 3, "csig_s": 3, "csig_lm": 257, "csig_low": 0.1,
         "csig_high": 0.2, "sport": 1 + at % 2, "ecn": 3 if at % 5 else 2}
        for at in range(120)
    ])  # fmt: skip
    late = pl.col("frame").is_in([4, 24, 25, 43])
    in_time = rows.filter(~late)
    batches = [in_time[:60], rows.filter(late), in_time[60:]]
    told, whole = (judged(each, known, disorder_us=0) for each in (batches, [rows]))
    assert (told["revision"] > 1).any()
    assert_frame_equal(told.drop(OWN), whole.drop(OWN), check_exact=True)
    alone = judged(batches, known, disorder_us=0, lateness_ms=0)
    assert not alone.drop(OWN).equals(whole.drop(OWN)), "without a window nothing is judged anew"


def test_what_is_kept_for_late_rows_is_bounded_however_steadily_they_come(
    observed: Observed,
) -> None:
    worker = Worker(
        PipelineSettings(interval_ms=1.0, lateness_ms=5.0, disorder_us=0.0), None, ("a",)
    )
    most = 0
    for at in range(3, 60):
        batch = [{"time_ns": at * MS, "frame": 2 * at}, {"time_ns": (at - 3) * MS + 5, "frame": at}]
        worker.advance(observed(batch))
        (rung,), (revisions,) = worker.ladder.rungs, worker.ladder.revisions
        kept = sum(each.height for each in rung._kept)
        most = max(most, kept, sum(each.height for each in revisions._told))
    assert worker.counters["late"] > 50
    assert 0 < most < 20


def test_no_verdict_is_finer_than_what_fed_it() -> None:
    rows, known = played("csig_expanded")
    signals = tuple(CsigSignal(name, delta_t_ns=3 * MS) for name in SIGNALS)
    slow = replace(
        known, devices=tuple(replace(d, csig=Csig(signals=signals)) for d in known.devices)
    )
    told = judged([rows], slow)
    held = told.filter(pl.col("candidates").str.contains('"csig"'))
    assert set(held.filter(pl.col("u_mean") > 0.5)["interval_ns"]) == {4 * MS}
    assert not told["plausibility"].list.contains("interval_finer_than_csig").any()
    reached = judged([rows], slow, interval_ms=1.0)
    assert set(reached["interval_ns"]) <= {MS, 3 * MS}
    assert reached.filter(interval_ns=3 * MS).height > 1


@pytest.mark.parametrize(("told", "lengths"), [
    (100.0, (100 * MS,)), ([1000, 1, 100], (MS, 100 * MS, 1000 * MS)), ([1, 1], (MS,)),
    ([0.3, 0.6], (300 * US, 600 * US)),
])  # fmt: skip
def test_lengths_as_settings_tell_them(told: Any, lengths: tuple[int, ...]) -> None:
    assert lengths_ns(told) == lengths
    assert PipelineSettings(interval_ms=told).lengths_ns == lengths


@pytest.mark.parametrize(("told", "sentence"), [
    ([100, 250], "250 is no whole multiple of 100"), (0, "greater than"), ([], "one length"),
    ("soon", "a number of ms"), (True, "a number of ms"), ([1e12], "less than"),
    (float("nan"), "greater than"),
])  # fmt: skip
def test_lengths_that_cannot_be_used_are_named(told: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        PipelineSettings(interval_ms=told)


def test_the_longest_length_that_suits_a_window_answers() -> None:
    lengths = [MS, 100 * MS, 1000 * MS]
    assert fitting(lengths, 10_000 * MS) == 1000 * MS
    assert fitting(lengths, 9_999 * MS) == 100 * MS
    assert fitting(lengths, 5) == MS
    assert fitting(lengths, 10_000 * MS, MS) == MS
    assert fitting(lengths, 10_000 * MS, 7) is None
    assert fitting([], 5) is None


def test_revisions_have_columns_of_verdicts() -> None:
    verdicts, revisions = (TABLES[name].schema for name in ("verdicts", "verdict_revisions"))
    assert {name: verdicts[name] for name in revisions} == dict(revisions)
