"""`hopsight conform`: who breaks a rule, by name and frame; who does not; what is not decided."""

import json
from pathlib import Path

import pytest
import zstandard

from service import cli
from service.conform_text import lines
from service.failure import ExitCode
from service.jobs import summary
from service.sureness import odds, sureness
from service.text import console

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command in this process."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["conform", *arguments])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_senders_that_conform_are_not_accused(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(CAPTURE))
    assert code == ExitCode.OK
    assert "breaks" not in out
    assert out.count("does as it should") > 1


def test_ends_are_told_whatever_brackets_they_have(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (": [fd00::1]:40000 → [fd00::2]:5001", "a name [bold]of[/bold] [red]strangers"):
        console().print(line, soft_wrap=True)
        assert capsys.readouterr().out == f"{line}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "50 %"), (0.98, "98 %"), (0.9902, "99.0 %"), (0.9968, "99.6 %"), (0.99968, "99.96 %"),
     (0.999999, "> 99.999 %"), (1.0, "> 99.999 %"), (None, "–")],
)  # fmt: skip
def test_sureness_has_its_nines_and_is_never_certainty(value: float | None, text: str) -> None:
    assert sureness(value) == text


@pytest.mark.parametrize(
    ("log10", "text"), [(-1.3011, "1 in 20"), (-3.2, "1 in 1,584"), (-24.3, "1 in 10²⁴")]
)
def test_odds_are_written_out_or_as_a_power(log10: float, text: str) -> None:
    assert odds(log10) == text


def test_several_and_one_are_told_apart() -> None:
    told = {"findings": [], "undecided": [], "decisions_without_row": 0}
    [one, *_] = lines(told | {"flows": []})
    assert one == "no sender can be judged"


def test_a_sender_without_cwr_is_named_with_its_frames(
    capsys: pytest.CaptureFixture[str], silenced: Path
) -> None:
    code, out, _ = run(capsys, str(silenced), "--json")
    assert code == ExitCode.OK
    told = json.loads(out)
    assert {each["finding"] for each in told["findings"]} == {"cwr_missing"}
    for each in told["findings"]:
        assert each["about"] == "sender"
        assert each["sure"] > 0.95
        for frame in each["frames"]:
            assert frame["source"] == "silenced.pcapng"
            assert frame["cause_frame"] < frame["frame"]
    assert {each["sender"] for each in told["flows"]} >= {"breaks"}
    assert summary.judged(told)["surest"] == [
        "10.1.1.1:40000 → 10.2.1.2:5001: sender, cwr missing, 7 of 7 windows, 1 in 10¹¹ by chance"
    ]
    flow = told["findings"][0]
    named = f"{flow['src']}:{flow['sport']} {flow['dst']}:{flow['dport']}"
    code, out, _ = run(capsys, str(silenced), "--flow", named)
    assert code == ExitCode.OK
    assert "cwr missing" in out
    assert f"{told['findings'][0]['count']} of {told['findings'][0]['cases']} windows" in out
    assert "1 in 10¹¹" in out
    assert out.count("breaks the rules") == 2


def test_what_there_is_nothing_to_judge_of_is_said(
    capsys: pytest.CaptureFixture[str], capture: Path
) -> None:
    code, out, err = run(capsys, str(capture), "--point", "nowhere")
    assert (code, out) == (ExitCode.WRONG, "")
    assert "no frame was seen at nowhere; points are " in err


def test_octets_of_no_capture_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(zstandard.compress(b"nothing of the kind"))
    code, _, err = run(capsys, str(path))
    assert code == ExitCode.INPUT
    assert "x.pcap" in err


def test_settings_that_do_not_exist_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, str(CAPTURE), "--set", "etta=1")
    assert code == ExitCode.USAGE
    assert "etta" in err
