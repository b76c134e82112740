"""What `analyze` tells of each flow, and how batches reach it."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import (
    Accounting,
    Batch,
    CollectorSettings,
    Decoder,
    MemoryBus,
    feed,
    open_capture,
    tell_apart,
    write_pcapng,
)
from collector.frame import Frames
from pipeline import Output, PipelineSettings, Sink, StoreError, Summary, Worker, drain
from replay import frames_of, scenario, simulate

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
SETTINGS = PipelineSettings(interval_ms=1.0)
MS = 1_000_000
ARP = bytes.fromhex("ffffffffffff0200000000010806") + bytes(28)


def report(batches: Iterable[pl.DataFrame], worker: Worker | None = None) -> list[dict[str, Any]]:
    """The flows of a report, through JSON as `analyze --json` prints it."""
    worker, summary = worker or Worker(SETTINGS, None, ("a",)), Summary()
    for rows in batches:
        summary.take(worker.advance(rows), "")
    summary.take(worker.finish(), "")
    told = json.loads(json.dumps(summary.report(Accounting()), allow_nan=False, default=str))
    assert set(told) == {"accounting", "flows", "telemetry_health"}
    return list(told["flows"])


def test_a_flow_is_told_with_its_key_and_what_it_sent(observed: Observed) -> None:
    rows = observed([{"seq": 1_000 * at, "time_ns": at * MS // 4, "ecn": 3 * (at == 4)}
                     for at in range(10)])  # fmt: skip
    (flow,) = report([rows])
    assert list(flow)[:6] == ["src", "sport", "dst", "dport", "protocol", "vni"]
    assert (flow["src"], flow["sport"], flow["dst"], flow["dport"]) == (
        "10.1.0.1", 1000, "10.2.0.1", 2000,
    )  # fmt: skip
    assert (flow["frames"], flow["data_bytes"], flow["ce_frames"]) == (10, 10_000, 1)
    assert (flow["first_ns"], flow["last_ns"]) == (0, 9 * MS // 4)
    assert (flow["hpcc"], flow["dctcp"], flow["cc"]) == (None, None, None)
    assert flow["bottleneck"]["kind"] == "congested_path"
    assert flow["bottleneck"]["intervals"] == 1


def test_flows_come_in_the_order_in_which_they_began(observed: Observed) -> None:
    rows = [{"sport": port, "time_ns": at} for at, port in enumerate([7, 3, 5, 3])]
    assert [flow["sport"] for flow in report([observed(rows)])] == [7, 3, 5]


def test_a_report_is_the_same_however_the_input_is_cut() -> None:
    told = CollectorSettings(int_dscp=23)
    world = scenario.elephant("int", duration_ns=3 * MS)
    rows = Decoder(told).decode(frames_of(simulate(world, told), told), ["p"] * 99, "a")
    whole = report([rows])
    assert whole == report([rows[at : at + 500] for at in range(0, rows.height, 500)])
    (flow,) = whole
    assert flow["cc"] == "hpcc"
    assert flow["hpcc"]["decisions"] > 100
    assert set(flow["hpcc"]) == {"point", "decisions", "U", "W", "Wc", "R", "incStage",
                                 "lastUpdateSeq", "quality", "why"}  # fmt: skip


def test_dctcp_is_told_window_by_window() -> None:
    told = CollectorSettings(int_dscp=23)
    world = scenario.elephant("csig_compact", duration_ns=6 * MS)
    rows = Decoder(told).decode(frames_of(simulate(world, told), told), ["p"] * 99, "a")
    (flow,) = report([rows])
    dctcp = flow["dctcp"]
    assert set(dctcp) == {"point", "decisions", "alpha", "dialect", "basis", "quality", "why",
                          "mark_share", "windows"}  # fmt: skip
    assert dctcp["windows"][-1]["alpha"] == dctcp["alpha"]
    assert 0 < dctcp["mark_share"] < 1
    assert list(dctcp["windows"][0]) == ["time_ns", "frame", "ack", "alpha", "M", "BytesAcked",
                                         "BytesMarked", "WindowEnd"]  # fmt: skip


def test_a_verdict_of_late_rows_does_not_take_the_place_of_the_first(observed: Observed) -> None:
    settings = PipelineSettings(interval_ms=1.0, disorder_us=0.0)
    on_time = [{"time_ns": at * MS // 4, "ecn": 3} for at in range(13)]
    late = [{"time_ns": 10, "frame": 20}, {"time_ns": 4 * MS, "frame": 21, "ecn": 3}]
    (flow,) = report([observed(on_time), observed(late)], Worker(settings, None, ("a",)))
    assert flow["frames"] == 15, "what came late counts"
    assert [part["kind"] for part in flow["bottleneck"]["history"]] == ["congested_path"]


def test_many_flows_are_told_in_one_pass(observed: Observed) -> None:
    rows = observed([{"sport": at % 2_000 + 1, "time_ns": at * 1_000} for at in range(8_000)])
    assert len(report([rows[at : at + 1_000] for at in range(0, 8_000, 1_000)])) == 2_000


@pytest.mark.parametrize("batches", [[], [[]], [[{"payload_bytes": 0}]]])
def test_a_capture_without_data_has_no_flows(
    observed: Observed, batches: Sequence[Sequence[Mapping[str, Any]]]
) -> None:
    assert report([observed(rows) for rows in batches]) == []


def arp(frames: int, time_ns: int) -> Frames:
    """Frames that hold nothing of a flow."""
    size = len(ARP)
    return Frames(
        np.frombuffer(ARP * frames, np.uint8), np.arange(frames) * size,
        np.full(frames, size, np.int32), np.full(frames, size, np.int32),
        np.full(frames, time_ns), np.ones(frames, np.uint16), np.zeros(frames, np.uint16), 1,
    )  # fmt: skip


def test_a_run_of_frames_without_flows_does_not_end_a_source(tmp_path: Path) -> None:
    told = CollectorSettings(int_dscp=23, frames_per_batch=64)
    world = scenario.elephant("aecn", duration_ns=2 * MS)
    frames = frames_of(simulate(world, told), told)
    names = ["p"] * 99
    path, other = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    write_pcapng(path, names, [arp(200, int(frames.time_ns[0])), frames])
    write_pcapng(other, names, [arp(200, int(frames.time_ns[0])), frames])

    async def run() -> tuple[dict[str, Any], Worker]:
        with open_capture(path) as one, open_capture(other) as two:
            decoder, bus, summary = Decoder(told), MemoryBus(4), Summary()
            worker = Worker(SETTINGS, None, (one.source, two.source))
            await asyncio.gather(feed([one, two], decoder, bus), drain(bus, worker, summary.take))
            return summary.report(decoder.accounting), worker

    told_of, worker = asyncio.run(run())
    assert told_of["accounting"]["seen"] == 2 * (200 + len(frames))
    assert worker.counters["late"] == 0
    assert len(told_of["flows"]) == 1


def test_a_sink_is_told_which_input_it_was_made_of(observed: Observed) -> None:
    tokens: list[str] = []

    async def run() -> None:
        bus = MemoryBus(8)
        for first in (1, 2):
            await bus.publish(Batch(observed([{"frame": first}]), "a", 0, first, first))
        await bus.publish(Batch(pl.DataFrame(), "a", 0, 2, 2, ended=True))
        await bus.close()
        await drain(bus, Worker(SETTINGS, None, ("a",)), lambda _, token: tokens.append(token))

    asyncio.run(run())
    assert tokens == ["a:0:1-1", "a:0:2-2", "a:0:end", "finish+a:0"]


def test_one_output_is_kept_while_the_next_is_made(observed: Observed) -> None:
    """The sink of a batch ends only when another one is being worked on; none is left behind."""
    kept: list[str] = []
    made = threading.Semaphore(0)

    def sink(_: Output, name: str) -> None:
        if name != "finish+a:0":
            assert made.acquire(timeout=10), "nothing is made while this is kept"
        kept.append(name)

    class Told(Worker):
        def add(self, rows: pl.DataFrame) -> None:
            if rows["frame"][0] > 1:
                made.release()
            super().add(rows)

        def finish(self) -> Output:
            made.release()
            return super().finish()

    asyncio.run(drained(observed, Told(SETTINGS, None, ("a",)), sink))
    assert kept == ["a:0:1-1", "a:0:2-2", "a:0:3-3", "finish+a:0"]


def test_what_a_sink_raises_ends_the_work(observed: Observed) -> None:
    tokens: list[str] = []

    def sink(_: Output, name: str) -> None:
        tokens.append(name)
        raise StoreError("no room")

    with pytest.raises(StoreError, match="no room"):
        asyncio.run(drained(observed, Worker(SETTINGS, None, ("a",)), sink))
    assert tokens == ["a:0:1-1"]


async def drained(observed: Observed, worker: Worker, sink: Sink) -> None:
    bus = MemoryBus(8)
    for first in (1, 2, 3):
        await bus.publish(Batch(observed([{"frame": first}]), "a", 0, first, first))
    await bus.close()
    await drain(bus, worker, sink)


def test_captures_of_one_file_name_are_two_sources(tmp_path: Path) -> None:
    told = CollectorSettings(int_dscp=23)
    frames = frames_of(simulate(scenario.elephant("aecn", duration_ns=2 * MS), told), told)
    paths = [tmp_path / name / "tap.pcapng" for name in ("a", "b", "c")]
    for path in paths:
        path.parent.mkdir()
        write_pcapng(path, ["p"] * 99, [frames])
    with (
        open_capture(paths[0]) as one,
        open_capture(paths[1]) as two,
        open_capture(paths[2]) as three,
    ):
        tell_apart([one, two, three])
        sources = [each.source for each in (one, two, three)]
    assert sources == ["tap.pcapng", "tap.pcapng (2)", "tap.pcapng (3)"]
