"""Decisions in Wireshark: as comments of their packets, and beside one packet's fields."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from collector import open_capture
from service import cli
from service.failure import ExitCode

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
Tool = Callable[..., str]
FLOW = "10.1.1.1:40000 10.2.1.2:5001"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """A command in this process."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_each_decision_is_a_comment_of_its_packet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tool: Tool
) -> None:
    path = tmp_path / "told.pcapng"
    code, out, err = run(capsys, "replay", str(CAPTURE), "--flow", FLOW, "--json")
    decisions = [json.loads(line) for line in out.splitlines()]
    assert code == ExitCode.OK, err
    code, out, err = run(capsys, "replay", str(CAPTURE), "--flow", FLOW, "--pcapng", str(path))
    assert (code, out) == (ExitCode.OK, ""), err
    command = [tool("tshark"), "-r", str(path), "-Y", "frame.comment", "-T", "fields", "-e",
               "frame.number", "-e", "tcp.ack_raw", "-e", "frame.comment"]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in shown.splitlines()]
    assert [int(row[0]) for row in rows] == [each["frame"] for each in decisions]
    assert [int(row[1]) for row in rows] == [each["ack"] for each in decisions]
    for row, each in zip(rows, decisions, strict=True):
        assert f"dctcp {each['branch']}" in row[2]
        assert "10.1.1.1:40000 → 10.2.1.2:5001" in row[2]
    with open_capture(str(CAPTURE)) as one, open_capture(str(path)) as two:
        before, after = next(iter(one.chunks())), next(iter(two.chunks()))
        assert (before.time_ns == after.time_ns[: len(before)]).all()
        assert (before.length == after.length[: len(before)]).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-"], "--pcapng: - is no file"),
        ([str(CAPTURE), "--json"], "--pcapng: not beside --output or --json"),
        ([str(CAPTURE), "--what-if", "g=0.5"], "--pcapng: not beside --what-if"),
        ([str(CAPTURE), "--report", "x.html"], "--pcapng: not beside --report"),
        ([str(CAPTURE), "--sweep", "g=0.1,0.2"], "--pcapng: not beside --sweep"),
        (["x.parquet"], "--pcapng: of captures"),
    ],
)
def test_what_cannot_be_written_again_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    code, _, err = run(capsys, "replay", *arguments, "--pcapng", str(tmp_path / "x.pcapng"))
    assert code in (ExitCode.USAGE, ExitCode.INPUT)
    assert sentence in err or "x.parquet" in err
    assert not (tmp_path / "x.pcapng").exists()


def test_a_packet_is_shown_beside_its_decision(
    capsys: pytest.CaptureFixture[str], tool: Tool
) -> None:
    tool("tshark")
    _, out, _ = run(capsys, "replay", str(CAPTURE), "--json", "--explain")
    decisions = [json.loads(line) for line in out.splitlines()]
    wanted = next(each for each in decisions if each["branch"] == "count_reduce")
    code, out, _ = run(capsys, "dissect", str(CAPTURE), str(wanted["frame"]), "--json")
    assert code == ExitCode.OK
    [told] = json.loads(out)["decisions"]
    assert told == wanted
    code, out, _ = run(capsys, "dissect", str(CAPTURE), str(wanted["frame"]))
    assert f"decision: dctcp count_reduce\n  [{wanted['line']}] {wanted['sentence']}" in out
    code, out, _ = run(capsys, "dissect", str(CAPTURE), "1", "--json")
    assert json.loads(out)["decisions"] == []


def test_a_packet_is_decided_on_by_the_parameters_that_are_told(
    capsys: pytest.CaptureFixture[str], tool: Tool
) -> None:
    tool("tshark")
    told = ["--set", "dctcp.g=0.5", "--json"]
    _, out, _ = run(capsys, "replay", str(CAPTURE), "--explain", *told)
    decisions = [json.loads(line) for line in out.splitlines()]
    wanted = next(each for each in decisions if each["branch"] == "count_reduce")
    _, out, _ = run(capsys, "dissect", str(CAPTURE), str(wanted["frame"]), *told)
    [changed] = json.loads(out)["decisions"]
    _, out, _ = run(capsys, "dissect", str(CAPTURE), str(wanted["frame"]), "--json")
    assert changed == wanted != json.loads(out)["decisions"][0]
