"""What is not there is said as what it is: no frames, no such flow, the wrong direction."""

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import zstandard

from replay.rebuild.outcome import flows_of
from service import cli
from service.failure import ExitCode
from service.text import rate

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
FORMS = (
    ("replay",),
    ("conform",),
    ("replay", "--what-if", "dctcp.g=0.2"),
    ("replay", "--sweep", "dctcp.g=0.2", "--jobs", "1"),
    ("replay", "--report", "REPORT"),
)
CLOSED = (
    ("replay", "--closed-loop"),
    ("replay", "--closed-loop", "--sweep", "fabric.mark_bytes=9000", "--jobs", "1"),
)
"""Forms that are of whole captures, not of a flow."""
HEAD, SOURCE = 24, slice(26, 30)
SENDER = bytes([10, 1, 1, 1])


@pytest.fixture(params=FORMS, ids=" ".join)
def said(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """The last sentence that a form of a replay ends with, and its status."""
    verb, *words = (word.replace("REPORT", str(tmp_path / "told.md")) for word in request.param)

    def run(capture: Path, *arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([verb, str(capture), *words, *arguments])
        return int(ended.value.code or 0), capsys.readouterr().err.splitlines()[-1]

    return run


def records() -> tuple[bytes, list[bytes]]:
    """The head of the capture and its frames with their heads."""
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(CAPTURE.read_bytes())
    found, at = [], HEAD
    while at < len(whole):
        end = at + 16 + struct.unpack_from("<I", whole, at + 8)[0]
        found.append(whole[at:end])
        at = end
    return whole[:HEAD], found


@pytest.mark.parametrize("said", [*FORMS, *CLOSED], ids=" ".join, indirect=True)
def test_a_capture_without_frames_has_a_sentence_of_its_own(said: Any, tmp_path: Path) -> None:
    path = tmp_path / "head.pcap"
    path.write_bytes(records()[0])
    code, sentence = said(path)
    assert code == ExitCode.WRONG
    assert sentence.startswith("hopsight: there are no frames in head.pcap")


@pytest.mark.parametrize("said", [*FORMS, *CLOSED], ids=" ".join, indirect=True)
def test_frames_that_cannot_be_read_are_not_said_to_be_missing(said: Any, tmp_path: Path) -> None:
    path = tmp_path / "noise.pcap"
    noise = struct.pack("<IIII", 1, 0, 20, 20) + b"\xff" * 20
    path.write_bytes(records()[0] + noise * 3)
    code, sentence = said(path)
    assert code == ExitCode.WRONG
    assert sentence.startswith("hopsight: none of the 3 frames in noise.pcap could be read")


def test_a_flow_that_is_not_there_is_named_with_those_like_it(said: Any) -> None:
    code, sentence = said(CAPTURE, "--flow", "10.1.1.1:4000 10.2.1.2:5001")
    assert code == ExitCode.WRONG
    assert "no frame of 10.1.1.1:4000 → 10.2.1.2:5001 was seen" in sentence
    assert "alike: 10.1.1.1:40000 → 10.2.1.2:5001" in sentence
    _, sentence = said(CAPTURE, "--flow", "10.9.9.9:1 10.8.8.8:2")
    assert sentence.endswith("no flow has one of these ends")


def test_a_loop_without_a_whole_round_trip_is_not_closed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Six frames out of the middle: data, and acknowledgments of what was sent before."""
    head, frames = records()
    path = tmp_path / "middle.pcap"
    path.write_bytes(head + b"".join(frames[100:106]))
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", str(path), "--closed-loop"])
    assert ended.value.code == ExitCode.WRONG
    assert "no closed loop: no round trip was seen whole" in capsys.readouterr().err


def test_a_loop_in_which_nothing_moves_has_no_shares() -> None:
    kinds = {"start_ns": pl.Int64, "total": pl.Int64}
    scene: Any = SimpleNamespace(
        flows=pl.DataFrame({"start_ns": [0, 0], "total": [None, None]}, kinds)
    )
    acks = pl.DataFrame(schema={"flow": pl.Int64, "ack": pl.Int64, "time_ns": pl.Int64})
    assert flows_of(scene, acks)["share"].to_list() == [None, None]
    assert rate(0.0) == "0 bit/s"


def test_a_file_that_is_named_twice_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Read twice, each ACK would be heard twice."""
    link = tmp_path / "link.pcap.zst"
    link.symlink_to(CAPTURE)
    trace = tmp_path / "trace.parquet"
    folder = str(CAPTURE.parent)
    cases = (
        (("replay", str(CAPTURE), str(CAPTURE)), "named twice; it would count twice"),
        (("conform", str(CAPTURE), str(link)), f"named twice, as {CAPTURE}"),
        (("analyze", folder, str(CAPTURE)), f"is in {folder}, which is read whole"),
        (("replay", str(trace), str(trace)), "named twice"),
    )
    for words, said in cases:
        with pytest.raises(SystemExit) as ended:
            cli.main([*words])
        assert ended.value.code == ExitCode.USAGE
        assert said in capsys.readouterr().err


def test_the_direction_of_acknowledgments_is_turned(said: Any) -> None:
    code, sentence = said(CAPTURE, "--flow", "10.2.1.2:5001 10.1.1.1:40000")
    assert code == ExitCode.WRONG
    assert sentence.endswith("name the data's direction, 10.1.1.1:40000 → 10.2.1.2:5001")


def test_a_flow_of_which_only_acknowledgments_were_seen_is_not_turned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    head, frames = records()
    path = tmp_path / "acks.pcap"
    acks = [frame for frame in frames if frame[16:][SOURCE] != SENDER]
    path.write_bytes(head + b"".join(acks))
    with pytest.raises(SystemExit):
        cli.main(["replay", str(path), "--flow", "10.1.1.1:40000 10.2.1.2:5001"])
    told = capsys.readouterr().err
    assert "of 10.1.1.1:40000 → 10.2.1.2:5001 no data was seen" in told
    assert "sends no data" not in told
