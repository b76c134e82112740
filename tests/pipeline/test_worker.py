"""The worker: the same tables however its input is cut, and no input that it cannot take."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder, open_capture
from pipeline import TABLES, PipelineSettings, Topology, Worker
from pipeline.interface import Tenant
from pipeline.merging import merged
from replay import frames_of, points, scenario, simulate, topology

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
SETTINGS = PipelineSettings(interval_ms=1.0)
MS = 1_000_000
LAST_HOP = ("leaf1", "Ethernet1")
"""Where the flows of the fabric meet, loaded to the brim."""


class Tables(dict[str, pl.DataFrame]):
    """All that a worker gave, table by table; flows as the store would join their rows."""

    def __init__(self, parts: Iterable[Any]) -> None:
        collected: dict[str, list[pl.DataFrame]] = {}
        for output in parts:
            for name, rows in output.tables.items():
                collected.setdefault(name, []).append(rows)
            if output.tracked is not None:
                collected.setdefault("decisions", []).append(output.tracked.decisions)
        super().__init__(
            {name: pl.concat(parts, how="diagonal_relaxed") for name, parts in collected.items()}
        )
        if "flows" in self:
            self["flows"] = merged([self["flows"]], "flows", TABLES["flows"].order).sort("flow")


def worked(worker: Worker, batches: Iterable[pl.DataFrame]) -> Tables:
    return Tables([*(worker.advance(batch) for batch in batches), worker.finish()])


def assert_same(one: Tables, other: Tables) -> None:
    assert set(one) == set(other)
    for name, rows in one.items():
        columns = sorted(set(rows.columns) | set(other[name].columns))
        both = [
            frame.with_columns(
                pl.lit(None).alias(c) for c in columns if c not in frame.columns
            ).select(columns)
            for frame in (rows, other[name])
        ]
        assert_frame_equal(*both, check_exact=True, check_dtypes=False)


@cache
def captured() -> pl.DataFrame:
    """A capture of a simulator that is not ours."""
    decoder = Decoder(CollectorSettings())
    with closing(open_capture(CAPTURE)) as capture:
        parts = [decoder.decode(part, capture.points, capture.source) for part in capture.chunks()]
    return pl.concat(parts, how="diagonal")


@cache
def played(telemetry: str) -> tuple[pl.DataFrame, Topology]:
    """A few milliseconds of the fabric, two flows at one port."""
    told = CollectorSettings(int_dscp=23)
    world = scenario.alone(telemetry, duration_ns=3 * MS)
    run = simulate(world, told)
    frames = frames_of(run, told)
    return Decoder(told).decode(frames, points(world), "fabric"), topology(world)


def cut(rows: pl.DataFrame, sizes: Iterable[int]) -> list[pl.DataFrame]:
    """Rows in batches of the given sizes, then the rest."""
    batches, at = [], 0
    for size in sizes:
        batches.append(rows[at : at + size])
        at += size
    return [*batches, rows[at:]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("telemetry", ["int", "csig_compact", "csig_expanded", "aecn"])
@pytest.mark.parametrize("size", [1_000, 77])
def test_any_split_of_a_run_gives_bit_identical_tables(telemetry: str, size: int) -> None:
    rows, known = played(telemetry)
    whole = worked(Worker(SETTINGS, known, ("fabric",)), [rows])
    assert (whole["verdicts"]["device"][0], whole["verdicts"]["interface"][0]) == LAST_HOP
    parts = cut(rows, [size] * (rows.height // size))
    assert_same(whole, worked(Worker(SETTINGS, known, ("fabric",)), parts))


def test_frames_by_themselves_give_the_tables_of_all() -> None:
    """A frame whose tag tells of no time before is one with a tag, whatever comes with it."""
    rows, known = played("csig_expanded")
    at_once = SETTINGS.model_copy(update={"disorder_us": 0.0})
    few = rows[:60]
    whole = worked(Worker(at_once, known, ("fabric",)), [few])
    assert whole["flow_intervals"]["tagged_frames"].sum() > 20
    assert_same(whole, worked(Worker(at_once, known, ("fabric",)), cut(few, [1] * 60)))


@given(st.data())
@settings(deadline=None, max_examples=8)
def test_any_split_of_a_real_capture_gives_bit_identical_tables(data: st.DataObject) -> None:
    rows = captured()
    sizes = data.draw(st.lists(st.integers(0, 1500), max_size=6))
    whole = worked(Worker(SETTINGS, None, ("a",)), [rows])
    assert_same(whole, worked(Worker(SETTINGS, None, ("a",)), cut(rows, sizes)))


@given(st.data())
@settings(deadline=None, max_examples=6)
def test_any_interleaving_of_two_sources_gives_bit_identical_tables(data: st.DataObject) -> None:
    rows, known = played("csig_compact")
    rows = rows.with_columns(
        pl.when(pl.col("point").str.starts_with("leaf1")).then(pl.lit("x")).otherwise(pl.lit("y"))
        .alias("source")
    )  # fmt: skip
    sources = {name: rows.filter(pl.col("source") == name) for name in ("x", "y")}

    def mixed(turns: Iterable[tuple[str, int]]) -> Tables:
        worker = Worker(SETTINGS, known, ("x", "y"))
        left, made = dict(sources), []
        for name, size in turns:
            made.append(worker.advance(left[name][:size]))
            left[name] = left[name][size:]
        for name, rest in left.items():
            made += [worker.advance(rest), worker.end(name)]
        assert worker.counters["late"] == 0
        return Tables([*made, worker.finish()])

    turn = st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 2_000))
    assert_same(mixed([]), mixed(data.draw(st.lists(turn, max_size=8))))


def test_disorder_within_the_window_is_put_right() -> None:
    rows = captured()
    late = PipelineSettings(interval_ms=1.0, disorder_us=500.0)
    moved = rows.with_row_index("at").sort(
        pl.col("time_ns") + (pl.col("at") * 7919 % 499_000), maintain_order=True
    )
    assert moved["frame"].to_list() != rows["frame"].to_list()
    worker = Worker(late, None, ("a",))
    assert_same(worked(Worker(late, None, ("a",)), [rows]),
                worked(worker, cut(moved.drop("at"), [300] * 9)))  # fmt: skip
    assert worker.counters["late"] == 0


def test_row_by_row_is_the_same_as_all_at_once() -> None:
    rows = captured()[:400]
    single = worked(Worker(SETTINGS, None, ("a",)), [rows[at : at + 1] for at in range(400)])
    assert_same(worked(Worker(SETTINGS, None, ("a",)), [rows]), single)


def test_rows_later_than_the_window_of_lateness_are_counted_and_their_verdict_yields(
    observed: Observed,
) -> None:
    short = PipelineSettings(interval_ms=1.0, disorder_us=0.0, lateness_ms=2.0)
    worker = Worker(short, None, ("a",))
    first = [{"time_ns": at * MS // 4, "frame": at} for at in range(13)]
    later = [{"time_ns": 8 * MS, "frame": 20}, {"time_ns": 9 * MS, "frame": 21}]
    late = [{"time_ns": 10}, {"time_ns": 7 * MS}, {"time_ns": 10 * MS, "frame": 22}]
    made = [*(worker.advance(observed(each)) for each in (first, later, late)), worker.finish()]
    counted = worker.counters
    assert (counted["late"], counted["too_late"], counted["revised"]) == (2, 1, 0)
    told = pl.concat(out.tables["verdicts"] for out in made).sort("time_ns", "revision")
    assert [(row["time_ns"] // MS, row["revision"]) for row in told.iter_rows(named=True)] == [
        (0, 0), (0, 1), (1, 1), (2, 1), (3, 1), (7, 1), (8, 1), (9, 1), (10, 1),
    ]  # fmt: skip


EDGES: dict[str, list[dict[str, Any]]] = {
    "acks only": [{"payload_bytes": 0, "ack": 1_000 * at, "time_ns": at} for at in range(9)],
    "one direction": [{"seq": 1_000 * at, "time_ns": at} for at in range(9)],
    "one row": [{}],
    "before 1970": [{"time_ns": -5 * MS + at} for at in range(9)],
    "all at one time": [{"frame": at + 1, "seq": at * 1_000} for at in range(9)],
    "no topology, IPv6": [{"src": "fe80::1", "dst": "ff02::1", "protocol": 58, "sport": 0}],
    "a port that is used again": [
        {"flags": flags, "seq": 7 * at, "payload_bytes": 0 if flags == 2 else 9, "time_ns": at}
        for at, flags in enumerate([2, 16, 16, 1, 2, 16, 16])
    ],
    "a hop without ids": [
        {"hop_count": 2, "time_ns": at, "h0_qlen_bytes": 9, "h0_ts_ns": 1_000 * at,
         "h0_tx_bytes": at, "h0_b_bps": 10**9, "h1_node": 4, "h1_qlen_bytes": 9,
         "h1_ts_ns": 1_000 * at, "h1_tx_bytes": at, "h1_b_bps": 10**9}
        for at in range(9)
    ],
    "twelve hops": [
        {"hop_count": 12, "time_ns": at}
        | {f"h{hop}_{name}": value for hop in range(12) for name, value in (
            ("node", hop), ("port", 1), ("qlen_bytes", 9), ("ts_ns", 1_000 * at),
            ("tx_bytes", 100 * at), ("b_bps", 10**9))}
        for at in range(9)
    ],
    "counters at their ends": [
        {"hop_count": 1, "time_ns": at, "h0_node": 2**32 - 2, "h0_port": 0,
         "h0_qlen_bytes": 2**64 - 1, "h0_ts_ns": 2**63 + at, "h0_tx_bytes": 2**64 - 1 - at,
         "h0_b_bps": at}
        for at in range(9)
    ],
    "signals that are no numbers": [
        {"csig_variant": 2, "csig_t": kind, "csig_s": 3, "csig_lm": 257, "csig_low": value,
         "csig_high": value, "aecn_u": value, "time_ns": at}
        for at, value in enumerate([float("nan"), float("inf"), -float("inf"), 1e308, -1.0])
        for kind in (0, 1, 2)
    ],
}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("known", [False, True])
def test_any_observation_is_taken(
    observed: Observed, chain_of: Callable[..., Topology], edge: str, known: bool
) -> None:
    made = chain_of("leaf1", "spine1", "leaf2") if known else None
    rows = observed(EDGES[edge])
    whole = worked(Worker(SETTINGS, made, ("a",)), [rows])
    assert whole["flow_intervals"]["frames"].sum() == rows.height
    assert_same(whole, worked(Worker(SETTINGS, made, ("a",)), cut(rows, [1] * rows.height)))
    for name in ("verdicts", "flow_intervals"):
        for column in whole[name].select(pl.selectors.float()):
            assert column.drop_nulls().is_finite().all(), "what is not known is null, never NaN"


@pytest.mark.parametrize("sources", [(), ("a",), ("a", "b")])
def test_no_row_gives_no_table(observed: Observed, sources: tuple[str, ...]) -> None:
    worker = Worker(SETTINGS, None, sources)
    assert worker.advance(observed([])).tables == {}
    assert [worker.end(name).tables for name in sources] == [{}] * len(sources)
    assert worker.finish().tables == {}
    assert worker.flows.is_empty()


def test_flows_have_an_owner_before_any_frame_said_its_network(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    made = replace(chain_of("leaf1", "leaf2"), tenants=(Tenant("blue"), Tenant("red")))
    rows = observed([{"time_ns": at * 10 * MS, "seq": at * 1_000} for at in range(9)])
    rows = rows.drop("vni", strict=False)
    early = Worker(PipelineSettings(), made, ("a",)).advance(rows).tables
    assert early["flows"]["owner"].to_list() == [""]
    assert "verdicts" not in early, "its first interval is still open"


def test_an_interval_may_be_shorter_than_the_window_of_disorder(observed: Observed) -> None:
    short = PipelineSettings(interval_ms=0.001, disorder_us=1000.0)
    rows = observed([{"time_ns": at * 700, "seq": at * 1_000} for at in range(50)])
    whole = worked(Worker(short, None, ("a",)), [rows])
    assert whole["flow_intervals"]["frames"].sum() == 50
    assert whole["flow_intervals"].height > 30
    assert_same(whole, worked(Worker(short, None, ("a",)), cut(rows, [7] * 6)))


def test_acknowledgments_alone_tell_of_the_flow_that_they_acknowledge() -> None:
    rows, known = played("csig_expanded")
    server = rows["dport"].min()
    told = rows.filter(pl.col("sport") == server)
    assert told["payload_bytes"].sum() == 0
    made = worked(Worker(SETTINGS, known, ("fabric",)), [told])
    judged, whole = made["verdicts"], worked(Worker(SETTINGS, known, ("fabric",)), [rows])
    assert set(judged["flow"]) == set(whole["verdicts"]["flow"])
    last = pl.col("time_ns") == pl.col("time_ns").max()
    assert judged.filter(last)["kind"].to_list() == whole["verdicts"].filter(last)["kind"].to_list()
    assert set(made["flows"]["sport"]) == {*told["sport"], *told["dport"]}


def test_unknown_points_of_two_captures_are_two_places(observed: Observed) -> None:
    rows = [{"point": "unknown", "source": name, "time_ns": 5} for name in ("a", "b")]
    several = Worker(SETTINGS, None, ("a", "b"))
    made = Tables([*(several.advance(observed([row])) for row in rows), several.finish()])
    assert set(made["flow_intervals"]["point"]) == {"a", "b"}
    alone = worked(Worker(SETTINGS, None, ("a",)), [observed(rows[:1])])
    assert set(alone["flow_intervals"]["point"]) == {"unknown"}


def test_the_topology_tells_capacities_that_telemetry_leaves_out() -> None:
    rows, known = played("int")
    bare = rows.drop([name for name in rows.columns if name.endswith("_b_bps")])
    told = worked(Worker(SETTINGS, known, ("fabric",)), [rows])
    filled = worked(Worker(SETTINGS, known, ("fabric",)), [bare])
    assert_frame_equal(told["verdicts"], filled["verdicts"], check_exact=True)
    assert worked(Worker(SETTINGS, None, ("fabric",)), [bare])["hop_intervals"].is_empty()


def test_flows_that_went_silent_are_forgotten(observed: Observed) -> None:
    worker = Worker(SETTINGS, None, ("a",))
    minute = 60_000 * MS
    worker.advance(observed([{"sport": 1}, {"sport": 2, "time_ns": 2 * minute}]))
    worker.advance(observed([{"sport": 3, "time_ns": 4 * minute}]))
    worker.advance(observed([{"sport": 4, "time_ns": 6 * minute}]))
    assert worker.flows["sport"].to_list() == [2, 3], "2 had an open interval when 3 came"


def test_a_parameter_that_is_not_accepted_is_named() -> None:
    with pytest.raises(ValueError, match="gain"):
        Worker(SETTINGS, None, (), {"dctcp": {"gain": 1}})
