"""`hopsight replay --closed-loop` and `--sweep`: what is printed, kept and refused."""

import json
import os
import signal
import subprocess
import sys
import time
from operator import getitem
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from service import cli, crew
from service.axis import axis, each_value, grid
from service.commands import sweep, sweep_closed
from service.commands.closed_loop import change_of
from service.commands.sweep import check_measure, fitting
from service.crew import worked
from service.failure import ExitCode, Failure
from service.results import Results, digest

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOPSIGHT_SETTINGS", raising=False)


def test_axes_make_a_grid_whose_last_axis_moves_fastest() -> None:
    assert axis("eta=0.8..1:3").values == ("0.8", "0.9", "1")
    assert axis("algorithm=swift,hpcc").cells == ("swift", "hpcc")
    axes, _ = grid(["hpcc.eta=0.9", "swift.eta=0.9", "fabric.eta=1"])
    assert len(axes) == 3
    axes, points = grid(["eta=0.9,0.95", "maxStage=0,5"])
    assert axes[0].cells == (0.9, 0.95)
    assert points[:3] == [
        ("eta=0.9", "maxStage=0"), ("eta=0.9", "maxStage=5"), ("eta=0.95", "maxStage=0")
    ]  # fmt: skip


def test_every_value_is_checked_once_however_many_points_there_are() -> None:
    axes, points = grid(["a=1..9:9", "b=1..9:9", "c=x,y"])
    checked = [*each_value(axes)]
    assert len(checked) == 9 + 8 + 1 < len(points)
    assert {text for point in checked for text in point} == {
        text for point in points for text in point
    }
    assert set(checked) <= set(points)


def test_a_measure_that_no_row_has_is_refused_before_the_work() -> None:
    axes, _ = grid(["dctcp.g=0.1,0.2"])
    for by in (None, "jain", "dctcp.g"):
        check_measure(by, axes, sweep_closed.MEASURES)
    with pytest.raises(Failure, match="no measure is called 'speed'; there are dctcp"):
        check_measure("speed", axes, sweep_closed.MEASURES)


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        (["eta"], "is not of the form NAME=A,B,C"),
        (["eta=0..1"], "is not of the form NAME=A,B,C"),
        (["eta=0..1:1"], "is not of the form NAME=A,B,C"),
        (["eta=0..x:3"], "is not of the form NAME=A,B,C"),
        (["eta=1,,2"], "a value is empty"),
        (["eta=1,2", "eta=3"], "told twice"),
        (["eta=1,2", "hpcc.eta=3"], "--sweep eta: hpcc.eta sets it too; leave one out"),
        (["eta=0..1:1000", "g=0..1:1000"], "1,000,000 points are more than"),
        (["eta=0..1:1000000000"], "1,000,000,000 points are more than"),
        (["eta=0..1:-4"], "is not of the form NAME=A,B,C"),
    ],
)
def test_a_sweep_that_is_none_is_refused(axes: list[str], sentence: str) -> None:
    with pytest.raises(Failure, match=sentence) as refused:
        grid(axes)
    assert refused.value.code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("eta", "NAME=VALUE"),
        ("eta=2", "takes a number from 0.01 to 1"),
        ("fabric.rates=2", "accepted are mark_bytes, buffer_bytes, rate, delay, demand"),
        ("fabric.rate=0", "takes a number from 0.001 to 1000"),
        ("algorithm=cubic", "is none of hpcc, dctcp, swift"),
        ("swift.gain=1", "no parameter is called 'swift.gain'"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(told: str, sentence: str) -> None:
    with pytest.raises(Failure) as refused:
        change_of([told])
    assert sentence in str(refused.value)


@pytest.mark.parametrize("closed", [(), ("--closed-loop",)])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--sweep", "nonsense=1,2"), "--sweep: no parameter is called 'nonsense'"),
        (("--sweep", "dctcp.g=0.1,9"), "--sweep dctcp.g: g takes a number from 0.001 to 1"),
        (("--sweep", "dctcp.g=0.1", "--what-if", "eta=9"), "--what-if eta: eta takes"),
        (("--by", "jain"), "--by: of a --sweep"),
        (("--jobs", "2"), "--jobs: of a --sweep"),
    ],
)
def test_a_refusal_names_the_option_that_is_wrong(
    capsys: pytest.CaptureFixture[str], closed: tuple[str, ...], options: tuple[str, ...],
    sentence: str,
) -> None:  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", str(CAPTURE), *closed, *options])
    assert ended.value.code == ExitCode.USAGE
    assert capsys.readouterr().err.startswith(f"hopsight: {sentence}")


def test_of_a_narrow_table_columns_are_left_out_and_none_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pl.DataFrame({"algorithm": ["dctcp"] * 2, "g": [0.1, 0.2], "differ": [0, 12], "w": 2})
    monkeypatch.setattr(sweep, "console", lambda: Console(width=20))
    assert fitting(rows, rows.columns, ["g"]) == (["g", "differ", "w"], ["algorithm"])
    monkeypatch.setattr(sweep, "console", lambda: Console(width=5))
    assert fitting(rows, rows.columns, ["g"]) == (["g"], ["algorithm", "differ", "w"])
    monkeypatch.setattr(sweep, "console", lambda: Console(width=80))
    assert fitting(rows, rows.columns, ["g"]) == (rows.columns, [])


def test_a_point_without_a_row_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--sweep", "algorithm=hpcc,swift", "--jobs", "1", "--json")
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", str(CAPTURE), *words])
    assert ended.value.code == ExitCode.OK
    told = capsys.readouterr()
    *_, note = json.loads(told.out)["notes"]
    assert note.endswith("no row is told, at algorithm=hpcc")
    assert note in told.err


@pytest.mark.parametrize("name", ["r.parquet", "r.csv"])
def test_results_are_kept_and_found_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    kept = Results(path)
    kept.keep()
    assert not path.exists()
    kept.add("00e1", [{"g": 0.25, "differ": 3}])
    kept.add("00e2", [{"g": 0.5, "differ": 4}, {"g": 0.5, "differ": 5}])
    kept.keep()
    again = Results(path)
    assert again.rows == kept.rows
    again.add("00e3", [{"g": 1.0, "other": "x"}])
    again.keep()
    assert Results(path).frame(["00e3", "00e2"])["g"].to_list() == [1.0, 0.5, 0.5]
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert digest("a", ["b"]) == digest("a", ["b"]) != digest("a", ["c"])


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("")
    with pytest.raises(Failure, match="no results of a sweep"):
        Results(path)
    path.write_text("g\n1\n")
    with pytest.raises(Failure, match="no column point"):
        Results(path)
    with pytest.raises(Failure, match=r"must end in \.parquet or \.csv"):
        Results(tmp_path / "r.json")


def failing(_: object, point: tuple[str, ...]) -> list[dict[str, Any]]:
    """A point that cannot be worked out."""
    raise Failure(ExitCode.USAGE, f"a bad point {point}")


def test_a_crew_gives_what_one_gives() -> None:
    rows = {(str(number),): [{"sum": 10 + number}] for number in range(5)}
    for jobs in (1, 2):
        assert dict(worked(getitem, rows, list(rows), jobs)) == rows


def test_what_a_crew_cannot_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failure, match="a bad point"):
        list(worked(failing, None, [("1",)], 1))
    monkeypatch.setitem(crew._held, "work", failing)
    monkeypatch.setitem(crew._held, "needed", None)
    assert crew.one(("1",)) == (ExitCode.USAGE, "a bad point ('1',)")


def killed(needed: Any, point: crew.Point) -> list[crew.Row]:
    """Ends its process at the second point, as a machine without memory does."""
    if point == ("2",):
        os.kill(os.getpid(), signal.SIGKILL)
    return [{"needed": needed}]


def test_a_process_that_was_ended_is_a_sentence() -> None:
    with pytest.raises(Failure, match="was ended from outside") as failed:
        list(worked(killed, None, [("1",), ("2",), ("3",)], 2))
    assert failed.value.code == ExitCode.UNAVAILABLE


def waiting(place: str, point: crew.Point) -> list[crew.Row]:
    """Says who works, and goes on for long."""
    (Path(place) / f"{point[0]}-{os.getpid()}").touch()
    time.sleep(120)
    return []


def test_a_crew_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = (
        "from tests.service.test_sweep import waiting; from service.crew import worked\n"
        "if __name__ == '__main__':\n"
        f"    list(worked(waiting, {str(tmp_path)!r}, [('1',), ('2',)], 2))\n"
    )
    own = tmp_path / "own.py"
    own.write_text(script)
    root = str(Path(__file__).resolve().parents[2])
    parent = subprocess.Popen([sys.executable, str(own)], env=os.environ | {"PYTHONPATH": root})
    until_s = time.monotonic() + 60
    while len(named := [*tmp_path.glob("*-*")]) < 2 and time.monotonic() < until_s:
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    crew_of = [int(path.name.rpartition("-")[2]) for path in named]
    assert len(crew_of) == 2
    while any(alive(each) for each in crew_of) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert not any(alive(each) for each in crew_of)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kept", "later_s"), [(True, 0.05), (False, 2.0)])
def test_ctrl_c_is_answered_by_one_sentence_and_by_no_process_of_the_crew(
    tmp_path: Path, kept: bool, later_s: float
) -> None:
    """The whole group hears it, as at a terminal, while processes of the crew begin, or work."""
    output = ["--output", str(tmp_path / "s.csv")] if kept else []
    asked = ["replay", str(CAPTURE), "--sweep", "g=0.01..0.5:300", "--jobs", "2", *output]
    with subprocess.Popen(
        [sys.executable, "-m", "service.cli", *asked],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as sweep:  # fmt: skip
        until_s = time.monotonic() + 60
        while len(crew_of(sweep.pid)) < 2 and time.monotonic() < until_s:
            time.sleep(0.02)
        time.sleep(later_s)
        os.killpg(sweep.pid, signal.SIGINT)
        try:
            _, said = sweep.communicate(timeout=60)
        finally:
            sweep.kill()  # where it hangs, the tests shall not
    assert sweep.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in said
    assert ("goes on from what is in" in said) is kept
    assert ("nothing is kept" in said) is not kept


def crew_of(parent: int) -> list[int]:
    """Processes that a process has begun and that have begun to run this Python."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            ours = (each / "stat").read_text().rpartition(")")[2].split()[1] == str(parent)
            if ours and b"spawn_main" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
        except OSError:
            continue
    return found


def alive(process: int) -> bool:
    """Whether a process works; one that nobody waited for does not."""
    status = Path(f"/proc/{process}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


def test_a_capture_is_rebuilt_and_says_what_to_believe(hopsight: Any) -> None:
    asked = ("replay", str(CAPTURE), "--closed-loop", "--what-if", "fabric.mark_bytes=60000")
    made = json.loads(hopsight.here(*asked, "--json").stdout)
    trust = {each["name"]: each for each in made["trust"]}
    assert abs(trust["queue_mean_bytes"]["difference"]) < 0.25
    assert trust["bottleneck"]["difference"] == 0
    assert made["changed"]["queue_mean_bytes"] > made["rerun"]["queue_mean_bytes"]
    for name in ("queue_mean_bytes", "queue_p99_bytes", "utilisation"):  # at one port
        assert trust[name]["rerun"] == made["rerun"][name]
    assert any("fastest that data was acknowledged" in note for note in made["scene"]["assumed"])
    assert sum(flow["rerun"]["share"] for flow in made["flows"]) == pytest.approx(1)
    said = hopsight.here(*asked).stdout
    assert "The unchanged re-run differs by" in said
    assert "believe differences larger than that" in said
    assert "to be believed" in said


def test_a_sweep_goes_on_where_it_ended(hopsight: Any, tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    asked = ["replay", str(CAPTURE), "--output", str(path), "--json", "--jobs", "1"]
    first = json.loads(hopsight.here(*asked, "--sweep", "dctcp.g=0.0625,0.25").stdout)
    assert first["points"] == 2
    same, other = sorted(first["rows"], key=lambda row: row["dctcp.g"])
    assert same["differ"] == 0 < other["differ"]
    more = json.loads(hopsight.here(*asked, "--sweep", "dctcp.g=0.0625,0.25,0.5").stdout)
    assert (more["points"], more["known"]) == (1, 3)
    assert pl.read_parquet(path).height == 3
    shorter = [each for each in asked if each != "--json"]
    shown = hopsight.here(*shorter, "--sweep", "dctcp.g=0.0625,0.25", "--by", "differ").stdout
    assert "0 points worked out, 2 rows in all" in shown
    assert "The signals are held fixed" in shown
    refused = hopsight.here(*shorter, "--sweep", "dctcp.g=0.0625", "--by", "speed")
    assert refused.returncode == ExitCode.USAGE
    assert "no measure is called 'speed'; there are" in refused.stderr


def test_a_closed_loop_is_swept(hopsight: Any, tmp_path: Path) -> None:
    path = tmp_path / "sweep.csv"
    done = hopsight.here(
        "replay", str(CAPTURE), "--closed-loop", "--sweep", "fabric.mark_bytes=20000,40000",
        "--what-if", "dctcp.g=0.1", "--output", str(path), "--jobs", "1",
    )  # fmt: skip
    assert "2 points worked out" in done.stdout
    assert "ranked by queue_mean_bytes" in done.stdout
    rows = pl.read_csv(path).sort("fabric.mark_bytes")
    assert rows["queue_mean_bytes"][0] < rows["queue_mean_bytes"][1]
    again = hopsight.here(
        "replay", str(CAPTURE), "--closed-loop", "--sweep", "fabric.mark_bytes=20000",
        "--by", "fct_p99_ns", "--jobs", "1",
    )  # fmt: skip
    assert (again.returncode, "1 point worked out, 1 row in all" in again.stdout) == (0, True)
    assert "fct_p99_ns is known of no row: they are in no order" in again.stdout


@pytest.mark.parametrize("option", [("--explain",), ("--algorithm", "dctcp")])
def test_what_is_of_decisions_is_refused(hopsight: Any, option: tuple[str, ...]) -> None:
    refused = hopsight.here("replay", str(CAPTURE), "--closed-loop", *option)
    assert refused.returncode == ExitCode.USAGE
    assert "of decisions, not of --closed-loop" in refused.stderr
