"""The whole way from frames to answers, held against what others know to be true."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collector import CollectorSettings, Decoder, feed, open_bus, open_capture, write_pcapng
from pipeline import (
    Output,
    PipelineSettings,
    Summary,
    Topology,
    Worker,
    address_text,
    drain,
)
from replay import World, frames_of, points, scenario, score, simulate, topology, truth_of

DATA = Path(__file__).resolve().parent / "data" / "cc"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "oracles"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="the full traces are not part of a clone"
)
MS = 1_000_000
INT_DSCP = 23
MOST_ERROR = 0.06
"""Of alpha, at every window or sample."""


def analyzed(
    paths: Sequence[Path],
    collector: CollectorSettings | None = None,
    settings: PipelineSettings | None = None,
    known: Topology | None = None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Captures through collector, bus and pipeline: the report and all verdicts."""
    judged: list[pl.DataFrame] = []

    async def run() -> dict[str, Any]:
        with ExitStack() as stack:
            captures = [stack.enter_context(open_capture(path)) for path in paths]
            decoder = Decoder(collector or CollectorSettings())
            sources = tuple(capture.source for capture in captures)
            worker = Worker(settings or PipelineSettings(), known, sources)
            summary, bus = Summary(), open_bus("memory://?capacity=4")

            def sink(output: Output, token: str) -> None:
                summary.take(output, token)
                judged.extend(rows for rows in [output.tables.get("verdicts")] if rows is not None)

            await asyncio.gather(feed(captures, decoder, bus), drain(bus, worker, sink))
            return summary.report(decoder.accounting)

    report = asyncio.run(run())
    return report, pl.concat(judged) if judged else pl.DataFrame()


@cache
def windows(*paths: Path) -> dict[tuple[str, int], pl.DataFrame]:
    """Windows that DCTCP senders closed, by the address and port of the sender."""
    report, _ = analyzed(paths)
    assert report["accounting"]["seen"] == report["accounting"]["decoded"] > 0
    return {
        (flow["src"], flow["sport"]): pl.DataFrame(flow["dctcp"]["windows"])
        .select("time_ns", pl.col("alpha").alias("reconstructed"))
        .sort("time_ns")
        for flow in report["flows"]
        if flow["dctcp"] and flow["dctcp"]["windows"]
    }


def errors(
    capture: Sequence[Path], truth: Path, strategy: str, before_first: float | None = None
) -> pl.DataFrame:
    """Error of alpha at every row of the truth, flow by flow."""
    known, parts = windows(*capture), []
    for (source, port), rows in pl.read_parquet(truth).group_by("src", "sport"):
        nearest = rows.sort("time_ns").join_asof(
            known[str(source), int(str(port))],
            on="time_ns",
            strategy=strategy,
        )
        told = pl.col("reconstructed")
        told = told if before_first is None else told.fill_null(before_first)
        parts.append(nearest.select("src", "sport", (pl.col("alpha") - told).abs().alias("error")))
    found = pl.concat(parts)
    assert found["error"].null_count() == 0
    return found


@needs_shared
@pytest.mark.parametrize("run", ["a1", "a_ppp"])
def test_alpha_of_a_simulated_sender_at_every_window(run: str) -> None:
    folder = SHARED / "dctcp"
    found = errors([folder / f"{run}.pcap.zst"], folder / f"truth_{run}.parquet", "nearest")
    assert found["error"].max() <= MOST_ERROR
    assert found["error"].median() <= 1e-9


@needs_shared
def test_alpha_of_a_kernel_at_every_sample() -> None:
    folder = SHARED / "linux"
    captures = [folder / f"A_{host}.pcap.zst" for host in ("h1", "h2")]
    found = errors(captures, folder / "truth_linux_A.parquet", "backward", before_first=1.0)
    assert found["sport"].n_unique() == 4
    assert found["error"].max() <= MOST_ERROR


def test_alpha_in_the_piece_of_a_simulation_that_a_clone_has() -> None:
    found = errors([DATA / "dctcp_a1.pcap.zst"], DATA / "dctcp_a1_truth.parquet", "nearest")
    assert found.height > 50
    assert found["error"].max() <= MOST_ERROR
    assert found["error"].median() <= 1e-9


def test_alpha_in_the_piece_of_a_kernel_s_trace_that_a_clone_has() -> None:
    found = errors(
        [DATA / "linux_A_h2.pcap.zst"], DATA / "linux_A_truth.parquet", "backward", before_first=1.0
    )
    assert found.height > 50
    assert found["error"].max() <= MOST_ERROR


def test_verdicts_on_a_fabric_agree_with_its_truth(tmp_path: Path) -> None:
    """An incast, a bottleneck that moves and limited senders, in a tenth of the demo's time."""
    world: World = scenario.demo(duration_ns=20 * MS)
    settings = CollectorSettings(int_dscp=INT_DSCP)
    run = simulate(world, settings)
    path = tmp_path / "fabric.pcapng"
    write_pcapng(path, points(world), [frames_of(run, settings)])
    interval_ns = 5 * MS
    report, judged = analyzed(
        [path], settings, PipelineSettings(interval_ms=interval_ns / MS), topology(world)
    )
    assert report["accounting"]["seen"] == report["accounting"]["decoded"]
    ends = [
        pl.Series(end, [address_text(row, end) for row in judged.iter_rows(named=True)])
        for end in ("src", "dst")
    ]
    result = score(truth_of(run, interval_ns), judged.with_columns(ends))
    assert set(result.intervals["telemetry"]) == {"int", "csig_compact", "csig_expanded", "aecn"}
    assert result.intervals["congested"].any()
    assert not result.intervals["congested"].all()
    assert result.agreement >= 0.95
    assert result.measured_right
    kinds = result.intervals.filter(pl.col("telemetry") == "int").select("kind", "kind_seen")
    assert {"incast", "uplink", "downlink"} <= set(kinds["kind_seen"])
