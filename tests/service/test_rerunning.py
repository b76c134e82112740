"""Captures that are damaged are replayed as far as they go, and what was not read is said."""

from pathlib import Path

import pytest
import zstandard

from collector import CollectorSettings
from pipeline import Decider, PipelineSettings, Reran, Rerun
from service.rerunning import CaptureSource, rerun

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
SETTINGS = PipelineSettings()


def replayed(path: Path) -> int:
    """How many decisions a capture gives."""
    made: list[Reran] = []
    rerun(
        CaptureSource([path], CollectorSettings()),
        lambda sources: Rerun(SETTINGS, [Decider(SETTINGS)], sources),
        made.append,
        "replaying",
    )
    return sum(tracked.decisions.height for each in made for tracked in each.tracked)


def test_a_capture_that_ends_inside_a_frame_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = zstandard.ZstdDecompressor().stream_reader(CAPTURE.read_bytes()).read()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[:100_000])
    decided = replayed(cut)
    told = capsys.readouterr().err
    assert "+ 1 file_truncated" in told
    assert 100 < decided < replayed(CAPTURE)
    assert capsys.readouterr().err == ""
