"""What is told twice is refused: of two values only one would hold, and nobody said which."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import PipelineSettings
from service import cli
from service.assignment import same
from service.axis import grid
from service.commands.decode import assigned
from service.failure import ExitCode, Failure
from service.jobs.request import ASKED, checked
from service.problem import Problem
from service.stored_replay import parameters_of

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
TWICE = ("eta=0.9", "eta=0.8")
ALIAS = ("hpcc.eta=0.8", "eta=0.9")


@pytest.mark.parametrize(
    ("verb", "told", "sentence"),
    [
        ("replay", ("--set", *TWICE), "--set eta: told twice; one value is accepted"),
        ("replay", ("--set", *ALIAS), "--set hpcc.eta: eta sets it too; leave one out"),
        ("conform", ("--set", "pipeline.interval_ms=1", "pipeline.interval_ms=2"),
         "--set pipeline.interval_ms: told twice"),
        ("analyze", ("--set", *TWICE), "--set eta: told twice"),
        ("replay", ("--what-if", *TWICE), "--what-if eta: told twice"),
        ("replay", ("--what-if", "algorithm=hpcc", "algorithm=dctcp"),
         "--what-if algorithm: told twice"),
        ("replay --closed-loop", ("--what-if", *ALIAS), "--what-if hpcc.eta: eta sets it too"),
        ("replay --sweep eta=0.8,0.9", ("--what-if", "eta=0.7"),
         "--sweep eta: --what-if eta=0.7 sets it too; leave one out"),
        ("replay --closed-loop --sweep hpcc.eta=0.8,0.9", ("--what-if", "eta=0.7"),
         "--sweep hpcc.eta: --what-if eta=0.7 sets it too"),
    ],
)  # fmt: skip
def test_the_command_line_refuses_what_is_told_twice(
    capsys: pytest.CaptureFixture[str], verb: str, told: tuple[str, ...], sentence: str
) -> None:
    option, *texts = told
    words = [word for text in texts for word in (option, text)]
    first, *rest = verb.split()
    with pytest.raises(SystemExit) as ended:
        cli.main([first, str(CAPTURE), *rest, *words])
    assert ended.value.code == ExitCode.USAGE
    assert capsys.readouterr().err.startswith(f"hopsight: {sentence}")


@pytest.mark.parametrize("told", [TWICE, TWICE[::-1], ALIAS, ALIAS[::-1]])
def test_the_api_refuses_it_in_either_order(told: tuple[str, ...]) -> None:
    with pytest.raises(Problem) as refused:
        parameters_of(told, PipelineSettings())
    assert refused.value.status == 422
    assert refused.value.more["field"] == "set"
    assert refused.value.detail.startswith(f"set: {told[0].partition('=')[0]}: ")


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"kind": "replay", "set": TWICE}, "set"),
        ({"kind": "analyze", "set": ALIAS}, "set"),
        ({"kind": "what_if", "what_if": TWICE}, "what_if"),
        ({"kind": "closed_loop", "what_if": ALIAS}, "what_if"),
        ({"kind": "sweep", "sweep": ["eta=0.8,0.9"], "what_if": ["eta=0.7"]}, "sweep"),
    ],
)
def test_a_job_refuses_it_before_it_waits(told: dict[str, Any], field: str) -> None:
    wanted = ASKED.validate_python({"capture": "0" * 16, **told})
    with pytest.raises(Problem) as refused:
        checked(wanted)
    assert refused.value.more["field"] == field
    assert "--" not in refused.value.detail


def test_a_collector_is_told_a_setting_once() -> None:
    with pytest.raises(Failure, match=r"--set collector\.int_dscp: told twice"):
        assigned(["collector.int_dscp=1", "collector.int_dscp=2"])


def test_a_change_may_be_of_what_both_runs_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", str(CAPTURE), "--set", "dctcp.g=0.1", "--what-if", "g=0.2"])
    assert ended.value.code == ExitCode.OK
    assert "with g=0.2" in capsys.readouterr().out


def test_names_of_sections_are_no_other_names_of_parameters() -> None:
    assert same("eta", "hpcc.eta")
    assert not same("hpcc.eta", "hpcc_csig.eta")
    assert not same("eta", "pipeline.eta")
    assert not same("fabric.rate", "rate")
    axes, points = grid(["eta=0.8,0.9"], ["N=4"])
    assert ([each.name for each in axes], len(points)) == (["eta"], 2)
