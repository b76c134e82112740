"""Traces of implementations that nobody here wrote, through the replay path.

What they prove of the recurrences is proved of the tracker (`test_dctcp_oracle`,
`test_hpcc_frames`); here a rerun of each, cut into pieces, decides the same to the bit, and nobody
in them is accused.
"""

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import Decider, PipelineSettings, Rerun, Tracked, Tracker
from replay import Conformance, judged
from tests.pipeline import test_hpcc_frames as simulator
from tests.replay import test_conformance as conformance
from tests.replay.test_conformance import DATA, ORACLE_NAMES, ORACLES, capture_rows

PIECES = [DATA / "dctcp_a1.pcap.zst", DATA / "linux_A_h2.pcap.zst"]
MORE = ("linux/D1_last", "linux/D2_last", "linux/D5_last", "linux/D7_last")
"""Captures beside those of which conformance is tested."""
SIMULATED = ("a_2to1", "b_incast16", "c3_leafspine_hetero", "f_loss", "g_minclamp")
EXACT = {"a_2to1", "c3_leafspine_hetero", "f_loss", "g_minclamp"}
PARTS = 7
needs_shared = pytest.mark.skipif(not ORACLES.exists(), reason="the traces are not part of a clone")


def replayed(rows: pl.DataFrame, parameters: Any = None) -> tuple[Tracked, ...]:
    """What a rerun of the rows decides, cut into pieces."""
    settings = PipelineSettings()
    rerun = Rerun(settings, [Decider(settings, None, parameters)], ("ends",))
    rows = rows.with_columns(source=pl.lit("ends"))
    size = -(-rows.height // PARTS)
    made = [rerun.advance(part) for part in rows.iter_slices(size)]
    made += [rerun.end("ends"), rerun.finish()]
    return tuple(tracked for each in made for tracked in each.tracked)


def same(tracked: tuple[Tracked, ...], decisions: pl.DataFrame) -> None:
    """Decisions in pieces are those in one, to the bit."""
    pieces = pl.concat([each.decisions for each in tracked])
    assert pieces.height == decisions.height > 0
    one = decisions.with_columns(source=pieces["source"])
    assert_frame_equal(pieces, one, check_exact=True)


@pytest.mark.parametrize("path", PIECES, ids=lambda path: path.name)
def test_a_replay_of_a_piece_decides_as_the_stream(path: Path) -> None:
    rows = capture_rows(path)
    same(replayed(rows), Tracker().advance(rows).decisions)


@pytest.mark.sampled(6)
@needs_shared
@pytest.mark.parametrize("name", [*ORACLE_NAMES, *MORE])
def test_a_replay_of_every_capture_decides_as_the_stream(name: str) -> None:
    rows = capture_rows(ORACLES / f"{name}.pcap.zst")
    same(replayed(rows), Tracker().advance(rows).decisions)


@cache
def simulated(name: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    """Rows of a trace of HPCC's authors, what is decided, and beside the truth; parameters."""
    told: list[Any] = []

    class Spy(Tracker):
        def __init__(self, hpcc: dict[str, Any]) -> None:
            super().__init__(hpcc)
            told.append(hpcc)

        def advance(self, frame: pl.DataFrame) -> Tracked:
            tracked = super().advance(frame)
            told.extend((frame, tracked.decisions))
            return tracked

    acks, sent, flows = (
        pl.read_parquet(ORACLES / "hpcc" / f"{name}{part}.parquet")
        for part in ("", "_sent", "_flows")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "Tracker", Spy)
        table = simulator.rebuilt(acks, sent, flows)
    parameters, rows, decisions = told
    return rows, decisions, table, parameters


@pytest.mark.sampled(2)
@needs_shared
@pytest.mark.parametrize("name", SIMULATED)
def test_a_replay_of_every_trace_of_hpcc_decides_as_the_stream_and_its_authors(name: str) -> None:
    rows, decisions, table, parameters = simulated(name)
    same(replayed(rows, {"hpcc": parameters}), decisions)
    if name in EXACT:
        assert simulator.agreement(table)["all"] == 1.0


@needs_shared
@pytest.mark.parametrize("name", SIMULATED)
def test_nobody_of_hpcc_is_accused(name: str) -> None:
    rows, decisions, _, _ = simulated(name)
    judgement = conformance.hpcc_judged(rows, decisions)
    assert conformance.found(judgement) == []
    assert judgement.senders["sends"].sum() > conformance.ENOUGH


@needs_shared
@pytest.mark.parametrize("name", MORE)
def test_nobody_of_linux_with_trace_options_is_accused(name: str) -> None:
    rows = capture_rows(ORACLES / f"{name}.pcap.zst")
    watch: Conformance = conformance.watched(rows)
    assert conformance.found(judged(watch.finish())) == []
