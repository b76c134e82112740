"""`hopsight replay`: companions by name, what they need, and refusals that lead on."""

import json
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import zstandard

from collector import Frames, open_capture, write_pcapng
from service import cli
from service.commands.replay import companion_of
from service.commands.what_if import Asked, making_of
from service.decision_text import qualities
from service.failure import ExitCode, Failure
from service.flow_names import end_text, end_texts, flow_of
from service.run import settings_of

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"


def decided(printed: str) -> list[dict[str, Any]]:
    """Decisions, less where their frames stood."""
    rows = [json.loads(line) for line in printed.splitlines()]
    return [{name: row[name] for name in row if name not in {"source", "frame"}} for row in rows]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOPSIGHT_SETTINGS", raising=False)


def test_an_algorithm_is_run_beside_the_companions_that_settings_name() -> None:
    settings, parameters = settings_of(
        ['pipeline.companions=["dre"]', "dre.alpha=0.2", "swift.ai=2"], companion_of("swift")
    )
    assert settings.pipeline.companions == ("dre", "swift")
    assert parameters == {"dre": {"alpha": 0.2}, "swift": {"ai": 2.0}}
    assert settings_of([], companion_of("hpcc"))[0].pipeline.companions == ()
    assert settings_of([], companion_of(None))[0].pipeline.companions == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("base_target_ns", "swift would know it: name it in pipeline.companions"),
        ("swift.ai", "swift would know it: name it in pipeline.companions"),
        ("hpcc_aecn.eta", "accepted are hpcc.eta, hpcc_aecn.acts_on"),
        ("hpcc.g", "accepted are dctcp.g, hpcc.eta, "),
        ("etta", "collector.NAME and pipeline.NAME"),
        ("etta.eta", "collector.NAME and pipeline.NAME"),
    ],
)
def test_a_parameter_that_is_not_taken_leads_to_who_takes_it(name: str, hint: str) -> None:
    with pytest.raises(Failure) as refused:
        settings_of(['pipeline.companions=["hpcc_aecn"]', f"{name}=0.5"])
    assert refused.value.code == ExitCode.USAGE
    assert str(refused.value).startswith(f"--set: no parameter is called {name!r}; ")
    assert hint in str(refused.value)


def test_a_value_that_not_all_accept_says_for_whom_it_was_meant() -> None:
    told = ['pipeline.companions=["poseidon", "dre"]', "alpha=0.9"]
    with pytest.raises(Failure, match=r"takes range or rate.*meant for (poseidon|dre) and"):
        settings_of(told)
    assert settings_of([told[0], "dre.alpha=0.9"])[1] == {"dre": {"alpha": 0.9}}
    with pytest.raises(Failure, match=r'pipeline.companions: should be a list, .*\["swift"\]'):
        settings_of(["pipeline.companions=swift"])


def test_where_nothing_is_decided_it_is_said_what_would_be_needed(hopsight: Any) -> None:
    done = hopsight.here("replay", str(CAPTURE), "--algorithm", "hpcc_aecn")
    assert (done.returncode, done.stdout) == (ExitCode.WRONG, "")
    assert "no hpcc_aecn decision in these frames: it needs Advanced ECN" in done.stderr


def test_a_point_that_saw_nothing_is_told_from_those_that_did(
    hopsight: Any, tmp_path: Path
) -> None:
    named = tmp_path / "named.pcapng"
    with open_capture(CAPTURE) as capture:
        write_pcapng(named, ["leaf9:Ethernet1"], capture.chunks())
    away = hopsight.here("replay", str(named), "--point", "nowhere")
    assert (away.returncode, away.stdout) == (ExitCode.WRONG, "")
    assert "no frame was seen at nowhere; points are leaf9:Ethernet1" in away.stderr


def test_what_was_not_known_is_null_and_named(hopsight: Any) -> None:
    done = hopsight.here("replay", str(CAPTURE), "--algorithm", "poseidon", "--json", "--explain")
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["branch"], first["rtt_ns"], first["U"]) == ("nothing", None, None)
    assert first["fault_names"] == ["mpd_unknown"]
    assert "(faults mpd_unknown)" in first["sentence"]
    assert first["why"] is None


def test_marks_out_of_sight_are_no_zero_and_no_exact_verdict(hopsight: Any) -> None:
    done = hopsight.here("replay", str(CAPTURE), "--algorithm", "dctcp_receiver", "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    unsighted = [row for row in told if row["branch"] == "unsighted"]
    assert {row["expected_bytes"] for row in unsighted} == {None}
    assert max(row["reported_bytes"] for row in unsighted) > 0
    unknown = [row for row in told if row["verdict"] == "unknown"]
    assert {(row["quality"], row["why"], row["sure"]) for row in unknown} == {
        ("unknown", None, None)
    }


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00:0:0:4::4"])
def test_an_end_is_written_as_it_is_asked_for(address: str) -> None:
    ends = flow_of(f"{end_text(address, 5001)} → {end_text(address, 1)}")
    assert ends is not None
    assert (ends[0].address, ends[0].port) == (ip_address(address), 5001)
    rows = pl.DataFrame({"src": [address], "sport": [5001]})
    assert rows.select(end_texts("src")).item() == end_text(address, 5001)


def test_a_quality_says_why_it_is_not_better() -> None:
    rows = pl.DataFrame({"quality": ["estimated", "exact"], "why": ["gap", None]})
    assert rows.select(qualities()).to_series().to_list() == ["estimated (gap)", "exact"]


def test_the_flag_of_a_dialect_wins_over_the_settings_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[pipeline]\ndctcp_dialect = "ns3"\n')
    monkeypatch.setenv("HOPSIGHT_SETTINGS", "")
    told = []
    for flag in ([], ["--dialect", "auto"]):
        with pytest.raises(SystemExit):
            cli.main(["--settings", str(file), "analyze", str(CAPTURE), "--json", *flag])
        report = json.loads(capsys.readouterr().out)
        told.append({each["dctcp"]["basis"] for each in report["flows"] if each["dctcp"]})
    assert told == [{"set"}, {"handshake"}]


def test_files_of_one_tap_go_on_where_the_one_before_ended(hopsight: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(CAPTURE.read_bytes()))
    octets = whole.read_bytes()
    cut, at = 24, 0
    while at < 1500:
        cut, at = cut + 16 + int.from_bytes(octets[cut + 8 : cut + 12], "little"), at + 1
    first, second = tmp_path / "edge.pcap0", tmp_path / "edge.pcap1"
    first.write_bytes(octets[:cut])
    second.write_bytes(octets[:24] + octets[cut:])
    asked = ("--algorithm", "dctcp", "--json", "--point", "edge")
    together = decided(hopsight.here("replay", str(first), str(second), *asked).stdout)
    assert together == decided(hopsight.here("replay", str(whole), *asked).stdout)
    apart = decided(
        hopsight.here("replay", str(first), str(second), *asked[:-1], "edge.pcap0").stdout
    )
    here = [{**row, "point": "edge.pcap0"} for row in together]
    assert apart == [row for row in here if row["time_ns"] <= apart[-1]["time_ns"]]
    assert {row["point"] for row in together} == {"edge"}


def test_a_flow_is_told_from_one_point_whenever_another_becomes_known(
    hopsight: Any, tmp_path: Path
) -> None:
    with open_capture(CAPTURE) as capture:
        [frames] = capture.chunks()
    rows = np.arange(3, len(frames.offset))  # the handshakes are missing
    some = rows[(rows < 1000) | (rows % 3 != 0)]  # one point misses frames later on
    both = [picked(frames, some, 0), picked(frames, rows[rows >= 1000], 1)]
    named = tmp_path / "named.pcapng"
    write_pcapng(named, ["a", "b"], both)
    few = ("--set", "collector.frames_per_batch=500")
    told = decided(hopsight.here("replay", str(named), "--json", *few).stdout)
    assert {row["point"] for row in told} == {"a"}


def picked(frames: Frames, rows: Any, interface: int) -> Frames:
    """Some of the frames, as another interface saw them."""
    return replace(
        frames,
        offset=frames.offset[rows],
        captured=frames.captured[rows],
        length=frames.length[rows],
        time_ns=frames.time_ns[rows],
        link=frames.link[rows],
        interface=np.full(len(rows), interface, np.uint16),
    )


def test_decisions_are_written_as_columns(hopsight: Any, tmp_path: Path) -> None:
    for name in ("d.parquet", "d.arrow"):
        path = tmp_path / name
        done = hopsight.here("replay", str(CAPTURE), "--output", str(path), "--explain")
        assert (done.returncode, done.stdout) == (0, "")
        rows = pl.read_parquet(path) if name.endswith("parquet") else pl.read_ipc(path)
        assert {"src", "line", "sentence", "alpha_before", "alpha", "u_hops"} <= set(rows.columns)
    shown = hopsight.here("replay", str(CAPTURE), "--json").stdout.splitlines()
    assert rows.height == len(shown)
    assert json.loads(shown[-1])["alpha"] == rows["alpha"][-1]
    assert (rows["u_hop"].null_count(), rows["u_hop"].min()) == (rows.height, None)
    refused = hopsight.here("replay", str(CAPTURE), "--output", "d.csv")
    assert refused.returncode == ExitCode.USAGE
    assert "must end in .parquet or .arrow" in refused.stderr


def test_a_capture_under_two_names_is_told_of(hopsight: Any, tmp_path: Path) -> None:
    one, other = tmp_path / "one.pcap.zst", tmp_path / "other.pcap.zst"
    for path in (one, other):
        path.write_bytes(CAPTURE.read_bytes())
    done = hopsight.here("replay", str(one), str(other), "--point", "tap", "--json")
    assert "its first frame came from" in done.stderr
    assert done.stderr.count("counts twice\n") == 1
    assert "its first frame" not in hopsight.here("replay", str(one), "--json").stderr


def test_options_that_were_given_are_named(hopsight: Any) -> None:
    for option, value in (("--from-offset", "3"), ("--bus", "kafka://127.0.0.1:1/x")):
        done = hopsight.here("replay", str(CAPTURE), option, value)
        assert done.stderr.startswith(f"hopsight: {option}: of a bus, not beside captures")
    done = hopsight.here("replay", str(CAPTURE), "--from", "2025-10-09T08:53:20Z")
    assert "--from: of a store or a bus" in done.stderr


def test_another_parameter_is_laid_beside_the_first(hopsight: Any, tmp_path: Path) -> None:
    path = tmp_path / "beside.parquet"
    asked = ("replay", str(CAPTURE), "--what-if", "dctcp.g=0.25")
    done = hopsight.here(*asked, "--json", "--output", str(path))
    made = json.loads(done.stdout)
    assert "held fixed" in made["held_fixed"]
    [told] = made["comparisons"]
    assert (told["algorithm"], told["what_if"]) == ("dctcp", ["dctcp.g=0.25"])
    rows = pl.read_parquet(path)
    assert sum(row["differ"] for row in told["flows"]) == rows["differs"].sum() > 1000
    first = rows.filter("differs").row(0, named=True)
    assert told["flows"][0]["first_frame"] == first["frame"]
    assert first["alpha"] != first["alpha_other"]
    said = hopsight.here(*asked).stdout
    assert f"they part at 1970-01-01T00:00:00.001322Z, frame {first['frame']}" in said
    assert said.startswith("The signals are held fixed")


def test_another_algorithm_hears_the_same_signals(hopsight: Any) -> None:
    done = hopsight.here(
        "replay", str(CAPTURE), "--what-if", "algorithm=swift", "--json",
        "--set", "swift.base_target_ns=100000",
    )  # fmt: skip
    [told] = json.loads(done.stdout)["comparisons"]
    assert (told["algorithm"], told["other"]) == ("dctcp", "swift")
    assert all(0 < row["differ"] < row["decisions"] for row in told["flows"])
    for row in told["flows"]:
        [window] = row["spread"]
        assert window["variable"] == "window_bytes"
        assert window["known"] > row["decisions"] // 2
        assert -1 < window["p05"] <= window["p50"] <= window["p95"] < 100


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("collector.int_dscp=3", "the signals are held fixed"),
        ("dctcp.gg=3", "--what-if: no parameter is called 'dctcp.gg'"),
        ("dctcp.g=nan", "--what-if dctcp.g: g takes a number"),
        ("fabric.rate=2", "the fabric is changed by --closed-loop"),
        ("algorithm=cubic", "algorithm 'cubic' is none of hpcc, dctcp"),
    ],
)
def test_what_cannot_be_compared_is_refused(told: str, sentence: str) -> None:
    with pytest.raises(Failure, match=sentence):
        making_of(Asked([], [told], None, None, None), None)
