"""Reports: one file that says what was decided, where, with what, and is made again to the byte."""

import hashlib
import json
import re
import shlex
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from replay import rebuild
from service.closed_loop_text import sentences
from service.commands.replay import Request, check_form
from service.failure import ExitCode, Failure
from service.provenance import command
from service.report import Code, Report, Section, Table, as_html, as_markdown
from service.report_chart import sparkline, svg
from service.report_content import MOST_MATTERED, changed, most
from service.report_output import Course
from service.text import signed

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
FLOW = "10.1.1.1:40000 10.2.1.2:5001"


def test_a_report_is_whole_and_is_made_again_by_the_command_it_prints(
    hopsight: Any, tmp_path: Path
) -> None:
    path = tmp_path / "told.html"
    typed = ("replay", str(CAPTURE), "--flow", FLOW, "--set", "g=0.125", "--report", str(path))
    done = hopsight.here(*typed)
    assert done.returncode == 0, done.stderr
    html = path.read_text()
    told = hopsight.here("replay", str(CAPTURE), "--flow", FLOW, "--set", "g=0.125", "--json")
    decided = [json.loads(line) for line in told.stdout.splitlines()]
    assert f"{len(decided):,} decisions of 1 flow." in html
    assert hashlib.sha256(CAPTURE.read_bytes()).hexdigest() in html
    assert "<td>g</td><td>0.125</td><td>told</td>" in html
    assert "The path is congested" in html
    assert "first window open" in html
    assert html.count("<svg") == 2
    assert not re.search(r"<script|(?:src|href)=", html)
    assert "hopsight replay" in html
    path.unlink()
    assert hopsight.here(*typed).returncode == 0
    assert path.read_text() == html


def test_a_change_of_the_window_is_told_from_what_to_what_in_its_unit(
    hopsight: Any, tmp_path: Path
) -> None:
    path = tmp_path / "told.md"
    hopsight.here("replay", str(CAPTURE), "--report", str(path))
    made = path.read_text()
    cut = re.search(r"cwnd ([\d,]+) → ([\d,]+) bytes \(−([\d.]+) %\)", made)
    assert cut is not None
    before, after = (float(text.replace(",", "")) for text in cut.groups()[:2])
    assert float(cut[3]) == pytest.approx(100 * (1 - after / before), abs=0.06)
    told = hopsight.here("replay", str(CAPTURE), "--json").stdout.splitlines()
    windows = [round(float(json.loads(line)["cwnd"])) for line in told]
    assert (before, after) in pairwise(windows)
    assert "| cwnd, bytes |" in made
    assert "bytes |" in made.split("## Verdicts", maxsplit=1)[0]
    assert "| window open | 1 | \\< 1 % |" in made


def test_what_a_sender_does_is_in_the_report_as_conform_has_it(
    hopsight: Any, silenced: Path, tmp_path: Path
) -> None:
    path = tmp_path / "told.md"
    assert (
        hopsight.here("replay", str(silenced), "--report", str(path), "--conduct").returncode == 0
    )
    made = path.read_text()
    found = json.loads(hopsight.here("conform", str(silenced), "--json").stdout)
    [finding] = found["findings"]
    assert "1 sender: 1 breaks the rules." in made
    assert f"{finding['count']} of {finding['cases']} windows" in made
    assert finding["meaning"] in made
    assert f"silenced.pcapng {finding['frames'][0]['frame']} after" in made
    assert "dctcp\\_receiver" not in made
    assert hopsight.here("replay", str(CAPTURE), "--report", str(path), "--conduct").returncode == 0
    assert "1 sender: 1 does as it should." in path.read_text()
    assert hopsight.here("replay", str(CAPTURE), "--report", str(path)).returncode == 0
    assert "Conduct" not in path.read_text()
    alone = hopsight.here("replay", str(CAPTURE), "--conduct")
    assert (alone.returncode, alone.stderr) == (
        ExitCode.USAGE,
        "hopsight: --conduct: of a --report\n",
    )


def test_windows_of_algorithms_in_packets_are_told_so() -> None:
    course = Course(1, "swift", pl.DataFrame(), {}, pl.DataFrame(), "delay_ns", "cwnd")
    assert changed(course, 0.4, 0.36) == "cwnd 0.4 → 0.36 packets (−10 %)"
    assert changed(course, 0.0, 2.0) == "cwnd 0 → 2 packets"
    assert course.with_unit("delay_ns") == "delay_ns, ns"
    assert replace(course, algorithm="hpcc", window="W").with_unit("W") == "W, bytes"


def test_the_command_has_what_the_environment_told(hopsight: Any, tmp_path: Path) -> None:
    """It is run as it is printed, elsewhere, and makes the same bytes."""
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
        (place / "own.pcap.zst").write_bytes(CAPTURE.read_bytes())
        (place / "own.toml").write_text("[pipeline]\nbase_rtt_us = 80\n")
    told = {"HOPSIGHT_SETTINGS": "own.toml", "HOPSIGHT_PIPELINE__NIC_GBPS": "1"}
    words = hopsight.command("replay", "own.pcap.zst", "--report", "told.md")
    subprocess.run(words, cwd=places[0], env=hopsight.environment | told, check=True)
    made = (places[0] / "told.md").read_text()
    assert hashlib.sha256((places[0] / "own.toml").read_bytes()).hexdigest() in made
    assert "| pipeline.base\\_rtt\\_us | 80.0 |" in made
    printed = re.search(r"^HOPSIGHT_.* hopsight replay .*$", made, re.MULTILINE)
    assert printed is not None
    assert "HOPSIGHT_CACHE_DIR" not in printed[0]
    again = printed[0].replace(" hopsight ", f" {shlex.join(hopsight.command())} ", 1)
    subprocess.run(["sh", "-c", again], cwd=places[1], env=hopsight.environment, check=True)
    assert (places[1] / "told.md").read_text() == made


def test_a_store_s_address_is_told_without_its_users() -> None:
    environment = {
        "HOPSIGHT_STORE__DSN": "http://u:secret@h:8123/d?password=secret&user=u",
        "HOPSIGHT_PIPELINE__NIC_GBPS": "1", "HOPSIGHT_SERVICE__TOKENS": "secret",
        "HOPSIGHT_SETTINGS": "x.toml", "HOME": "secret",
    }  # fmt: skip
    words = ["--settings", "y.toml", "replay", "--store", "http://u:secret@h/d", "--flow", "a b"]
    assert command(words, environment, stored=True) == (
        "HOPSIGHT_PIPELINE__NIC_GBPS=1 HOPSIGHT_STORE__DSN=http://h:8123/d"
        " hopsight --settings y.toml replay --store http://h/d --flow 'a b'"
    )
    assert "STORE" not in command(words, environment, stored=False)


def test_a_report_has_a_form_that_is_known(hopsight: Any, tmp_path: Path) -> None:
    done = hopsight.here("replay", str(CAPTURE), "--report", str(tmp_path / "told.pdf"))
    assert done.returncode == ExitCode.USAGE
    assert ".html or .md" in done.stderr
    done = hopsight.here("replay", str(CAPTURE), "--report", str(tmp_path / "told.md"), "--json")
    assert done.returncode == ExitCode.USAGE


@pytest.mark.parametrize("other", [("--sweep", "g=0.1,0.2"), ("--closed-loop",)])
def test_a_report_is_not_left_out_in_silence(other: tuple[str, ...], tmp_path: Path) -> None:
    asked = Request([CAPTURE], report=tmp_path / "x.html", closed_loop=other == ("--closed-loop",),
                    sweep=other[1:])  # fmt: skip
    with pytest.raises(Failure, match=f"--report: not beside {other[0]}"):
        check_form(asked)


def test_nothing_that_a_capture_holds_becomes_markup() -> None:
    hostile = "<img src=x onerror=alert(1)> | `a` [b](c)"
    rows = [[hostile]]
    report = Report(hostile, [Section(hostile, [hostile, Table((hostile,), rows), Code(hostile)])])
    html = as_html(report)
    assert "<img" not in html
    markdown = as_markdown(report).replace(f"```\n{hostile}\n```", "")
    assert "<img" not in markdown.replace("\\<img", "")
    assert "[b](c)" not in markdown


def test_charts_keep_the_extremes_of_many_values() -> None:
    values = pl.Series([1.0] * 50_000)
    values[31_234] = 9.0
    picture = svg("W", pl.int_range(50_000, eager=True), values, ("eta", 0.95))
    assert ">9<" in picture
    assert len(picture) < 40_000
    assert svg("W", pl.Series([], dtype=pl.Int64), pl.Series([], dtype=pl.Float64), None) == ""
    assert len(sparkline(values)) == 60
    assert sparkline(pl.Series([None], dtype=pl.Float64)) == ""


def test_of_many_decisions_those_that_changed_most_are_told_in_order() -> None:
    count = 5 * MOST_MATTERED
    change = [((-1) ** row) * (row % 97) / 100 if row % 10 else None for row in range(count)]
    rows = pl.DataFrame(
        {"time_ns": range(count), "branch": ["ai"] * (count - 1) + ["mi"], "change": change}
    )
    kept = most(rows)
    assert kept.height == MOST_MATTERED
    assert kept["time_ns"].is_sorted()
    assert {0, count - 1} <= set(kept["time_ns"])
    others = rows.join(kept, on="time_ns", how="anti")["change"].abs().max()
    assert kept.filter(~pl.col("time_ns").is_in([0, count - 1]))["change"].abs().min() >= others
    assert most(rows.head(3)).equals(rows.head(3))


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.34, "+12.3 %"), (-12.34, "−12.3 %"), (-0.01, "0.0 %"), (0.0, "0.0 %"), (0.04, "0.0 %")],
)
def test_a_difference_has_a_minus_and_no_sign_where_it_is_shown_as_none(
    value: float, text: str
) -> None:
    assert signed(value, ".1f", "%") == text


def test_the_trust_in_a_closed_loop_is_told_without_signs() -> None:
    trust = [
        {"name": "queue_mean_bytes", "kind": "relative", "difference": -0.25},
        {"name": "fct_p99_ns", "kind": "relative", "difference": None},
        {"name": "fct_mean_ns", "kind": "relative", "difference": None},
        {"name": "bottleneck", "kind": rebuild.EXACT, "difference": 0},
    ]
    first, last = sentences(trust)
    assert first.startswith("The unchanged re-run differs by queue, mean 25.0 %: believe")
    assert last == "Not known, so not to be trusted: completion, p99; completion, mean."
