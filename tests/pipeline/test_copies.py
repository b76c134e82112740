"""A mirror that sends every frame twice, and two taps on one link, change nothing."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder, open_capture
from pipeline import PipelineSettings, Topology, Worker, copies
from pipeline.first_sight import FirstSight
from replay import frames_of, points, scenario, simulate, topology

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
SETTINGS = PipelineSettings(interval_ms=1.0)
MS = 1_000_000
OTHER = "'"
"""Ends the name of a second tap."""
STATE = ("U", "W", "Wc", "R", "alpha", "cwnd", "ssthresh", "branch", "ack", "inflight_bytes")


@cache
def captured() -> tuple[pl.DataFrame, None]:
    """A capture of a simulator that is not ours."""
    decoder = Decoder(CollectorSettings())
    with closing(open_capture(CAPTURE)) as capture:
        parts = [decoder.decode(part, capture.points, capture.source) for part in capture.chunks()]
    return pl.concat(parts, how="diagonal"), None


@cache
def played(telemetry: str) -> tuple[pl.DataFrame, Topology]:
    """A few milliseconds of the fabric, two flows at one port."""
    told = CollectorSettings(int_dscp=23)
    world = scenario.alone(telemetry, duration_ns=3 * MS)
    frames = frames_of(simulate(world, told), told)
    return Decoder(told).decode(frames, points(world), "fabric"), topology(world)


def worked(
    rows: pl.DataFrame, known: Topology | None
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame, int]:
    """(tables, decisions, copies) of a worker that took these rows."""
    worker = Worker(SETTINGS, known, tuple(rows["source"].unique()))
    made = [worker.advance(rows), worker.finish()]
    tables: dict[str, list[pl.DataFrame]] = {}
    for output in made:
        for name, part in output.tables.items():
            tables.setdefault(name, []).append(part)
    decisions = pl.concat([output.tracked.decisions for output in made if output.tracked])
    joined = {name: pl.concat(parts, how="diagonal_relaxed") for name, parts in tables.items()}
    return joined, decisions, worker.counters["copies"]


def twice(rows: pl.DataFrame, after_ns: int) -> pl.DataFrame:
    """Every frame again, a little later."""
    again = rows.with_columns(pl.col("time_ns") + after_ns, pl.col("frame") + rows["frame"].max())
    return pl.concat([rows, again])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("telemetry", ["captured", "int", "csig_compact", "csig_expanded", "aecn"])
@pytest.mark.parametrize("after_ns", [0, 2_000])
def test_every_frame_mirrored_twice_gives_what_once_gives(telemetry: str, after_ns: int) -> None:
    rows, known = captured() if telemetry == "captured" else played(telemetry)
    tables, decisions, none = worked(rows, known)
    again, decisions_again, copies = worked(twice(rows, after_ns), known)
    assert none == 0
    assert copies == rows.height
    assert_frame_equal(decisions.select(STATE), decisions_again.select(STATE), check_exact=True)
    for name in ("flow_intervals", "hop_intervals", "verdicts"):
        assert_frame_equal(tables[name], again[name], check_exact=True)
    ends = [each["flows"].group_by("flow").agg(pl.col("last_ns").max()) for each in (tables, again)]
    assert_frame_equal(*ends, check_row_order=False)


def test_copies_are_found_whatever_is_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = twice(captured()[0], 2_000).sort("time_ns", maintain_order=True)
    whole = copies.Copies(SETTINGS.copies_ns)
    kept = whole.without(rows)
    assert whole.count == kept.height == rows.height // 2
    monkeypatch.setattr(copies, "AT_ONCE", 5)
    parts = copies.Copies(SETTINGS.copies_ns)
    assert_frame_equal(kept, parts.without(rows), check_exact=True)
    assert parts.count == whole.count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("telemetry", ["captured", "int", "csig_compact", "csig_expanded", "aecn"])
def test_two_taps_on_one_way_give_what_one_gives(telemetry: str) -> None:
    rows, known = captured() if telemetry == "captured" else played(telemetry)
    tables, decisions, _ = worked(rows, known)
    other = pl.col("time_ns") + 50_000, (pl.col("point") + OTHER).alias("point")
    both = pl.concat([rows, rows.with_columns(*other)])
    again, of_both, copies = worked(both.sort("time_ns", maintain_order=True), known)
    assert copies == 0
    assert_frame_equal(tables["verdicts"], again["verdicts"], check_exact=True)
    ours = pl.col("point").cast(pl.String).str.ends_with(OTHER)
    for theirs in (~ours, ours):
        state = of_both.filter(theirs).select(STATE)
        assert_frame_equal(decisions.select(STATE), state, check_exact=True)
        for name in ("flow_intervals", "hop_intervals"):
            one = again[name].filter(theirs).with_columns(pl.col("point").str.strip_suffix(OTHER))
            assert_frame_equal(tables[name], one, check_exact=True, check_row_order=False)


def test_acknowledgments_of_hosts_that_do_not_number_packets_are_kept(observed: Observed) -> None:
    row = {"payload_bytes": 0, "ip_id": 0, "flags": 16, "ack": 7}
    data = [{"ip_id": 1 + at, "seq": at, "time_ns": at} for at in range(6)]
    rows = observed([*data, *({**row, "time_ns": at} for at in (1000, 2000))])
    assert worked(rows, None)[2] == 0
    numbered = observed([{**row, "ip_id": 5, "time_ns": at} for at in (0, 1000)])
    assert worked(numbered, None)[2] == 1


@pytest.mark.parametrize("sizes", [(6,), (1,) * 6, (2, 4), (3, 3), (5, 1)])
def test_a_packet_counts_in_the_interval_of_its_first_sight_however_batches_are_cut(
    observed: Observed, sizes: tuple[int, ...]
) -> None:
    """The second point is seen first by a packet that the first one saw an interval before."""
    rows = observed([
        {"time_ns": at * MS // 10, "frame": at, "point": point, "seq": number, "ip_id": number}
        for at, point, number in ((1, "a", 1), (7, "a", 2), (11, "a", 3), (12, "b", 2),
                                  (21, "b", 3), (45, "b", 9))
    ])  # fmt: skip
    settings = PipelineSettings(interval_ms=1.0, disorder_us=0.0)
    worker, at, made = Worker(settings, None, ("s",)), 0, []
    for size in sizes:
        made.append(worker.advance(rows[at : at + size]))
        at += size
    told = pl.concat([each.tables["flow_intervals"] for each in (*made, worker.finish())
                      if "flow_intervals" in each.tables])  # fmt: skip
    found = told.sort("point", "time_ns").select("point", pl.col("time_ns") // MS, "frames").rows()
    assert found == [("a", 0, 2), ("a", 1, 1), ("b", 0, 1), ("b", 1, 1), ("b", 4, 1)]
    assert worker.counters["late"] == worker.counters["revised"] == 0


ALIKE = {"ip_id": 0, "seq": None, "ack": None, "flags": None, "ts_val": None, "protocol": 17}


def test_datagrams_that_nothing_tells_apart_are_kept(observed: Observed) -> None:
    """UDP of IPv6 has no identification; whatever is beside it at the point."""
    stream = [{**ALIKE, "time_ns": at * 100_000} for at in range(400)]
    assert worked(observed(stream), None)[2] == 0
    beside = [{"ip_id": 1 + at, "seq": at, "time_ns": at * 100_000 + 5} for at in range(400)]
    assert worked(observed(stream + beside).sort("time_ns"), None)[2] == 0


@pytest.mark.parametrize("after_ns", [0, 2_000, 250_000])
def test_of_datagrams_that_are_alike_each_second_is_a_copy_where_all_comes_twice(
    observed: Observed, after_ns: int
) -> None:
    stream = [{**ALIKE, "time_ns": MS + at * 100_000} for at in range(400)]
    told = [{"ip_id": 1 + at, "seq": at, "time_ns": at * 100_000 + 5} for at in range(410)]
    rows = observed(stream + told).sort("time_ns").with_columns(frame=pl.int_range(810) + 1)
    both = twice(rows.with_columns(pl.col("frame").cast(pl.UInt64)), after_ns)
    kept = copies.Copies(SETTINGS.copies_ns).without(both.sort("time_ns", maintain_order=True))
    assert dict(kept.group_by("protocol").len().rows()) == {17: 400, 6: 410}


def test_what_comes_later_is_sent_again_and_no_copy(observed: Observed) -> None:
    rows = observed([{"ip_id": 5, "time_ns": at} for at in (0, 2 * MS)])
    assert worked(rows, None)[2] == 0


def test_no_other_packet_of_that_time_takes_one_out_of_mind(observed: Observed) -> None:
    """Ten thousand frames on their way from one tap to another, and each mirrored twice."""
    sent = observed([{"ip_id": 1 + at, "seq": at, "time_ns": MS + at * 50} for at in range(10_000)])
    there = sent.with_columns(pl.col("time_ns") + MS // 2, pl.lit("b").alias("point"))
    rows = pl.concat([sent, there])
    both = twice(rows, 2_000).sort("time_ns", maintain_order=True)
    found = copies.Copies(SETTINGS.copies_ns)
    kept = found.without(both)
    assert found.count == rows.height == kept.height
    told = FirstSight(SETTINGS.copies_ns).told(kept.sort("time_ns", "point", maintain_order=True))
    assert (told["first_ns"] == MS + told["seq"].cast(pl.Int64) * 50).all()
