"""Captures written once more with comments: what Wireshark and our own reader find in them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collector import CaptureError, Frames, open_capture, write_commented

Tool = Callable[..., str]
NS = 1_770_000_000_123_456_789


def frames(sizes: list[int], links: list[int], points: list[int], first: int = 1) -> Frames:
    """Frames of so many octets each, all of them different."""
    held = np.array(sizes, np.int32)
    return Frames(
        (np.arange(held.sum()) % 251).astype(np.uint8),
        (np.cumsum(held) - held).astype(np.int64),
        held,
        held + 7,
        NS + np.arange(len(sizes), dtype=np.int64) * 1_001,
        np.array(links, np.uint16),
        np.array(points, np.uint16),
        first,
    )


def read(path: Path) -> tuple[list[str], list[Frames]]:
    """What our own reader finds."""
    with open_capture(str(path)) as capture:
        runs = list(capture.chunks())
        return list(capture.points), runs


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Two captures behind each other; of two link types, on points of two names."""
    path = tmp_path / "out.pcapng"
    one = frames([60, 61, 62, 0], [1, 1, 9, 1], [0, 1, 0, 1])
    two = frames([64], [1], [0])
    said = pl.Series([None, "déjà vu", "x" * 70_000, ""])
    last = (["core"], [(two, pl.Series(["2"]))])
    captures = [(["edge1", "edge2"], [(one, said)]), last]
    write_commented(path, captures)
    return path


def test_frames_times_points_and_links_are_kept(written: Path) -> None:
    points, runs = read(written)
    assert points == ["edge1", "edge2", "core"]
    given = frames([60, 61, 62, 0], [1, 1, 9, 1], [0, 1, 0, 1])
    told = [
        (int(run.time_ns[i]), int(run.link[i]), int(run.length[i]), points[run.interface[i]],
         run.data[run.offset[i] : run.offset[i] + run.captured[i]].tobytes())
        for run in runs for i in range(len(run))
    ]  # fmt: skip
    expected = [
        (int(given.time_ns[i]), int(given.link[i]), int(given.length[i]),
         ["edge1", "edge2"][given.interface[i]],
         given.data[given.offset[i] : given.offset[i] + given.captured[i]].tobytes())
        for i in range(len(given))
    ]  # fmt: skip
    assert told[:4] == expected
    assert len(told) == 5
    assert told[4][3] == "core"


def test_wireshark_shows_the_comments(written: Path, tool: Tool) -> None:
    fields = ("frame.number", "frame.time_epoch", "frame.interface_name", "frame.comment")
    command = [tool("tshark"), "-r", str(written), "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[1][1] == "1770000000.123457790"
    assert [row[2] for row in rows] == ["edge1", "edge2", "edge1", "edge2", "core"]
    assert [row[3][:7] for row in rows] == ["", "déjà vu", "xxxxxxx", "", "2"]
    assert len(rows[2][3]) > 60_000
    command = [tool("capinfos"), "-M", "-c", str(written)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Number of packets:   5" in told


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be written"):
        write_commented(tmp_path / "no" / "x.pcapng", [])


def test_times_before_1970_are_refused(tmp_path: Path) -> None:
    run = frames([60], [1], [0])
    run.time_ns[0] = -1
    with pytest.raises(ValueError, match="before 1970"):
        write_commented(
            tmp_path / "x.pcapng", [(["p"], [(run, pl.Series([None], dtype=pl.String))])]
        )
