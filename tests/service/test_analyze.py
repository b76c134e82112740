"""`hopsight analyze` and `hopsight replay` on small real captures, as a user types them."""

import json
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import write_pcapng
from service.failure import ExitCode
from tests.collector.octets import ethernet, frames_of, ipv4, tcp

DATA = Path(__file__).resolve().parent.parent / "data" / "cc"
CAPTURE = DATA / "dctcp_a1.pcap.zst"
FLOW = {"src", "sport", "dst", "dport", "protocol", "bottleneck", "hpcc", "dctcp"}
DECISION = {"time_ns", "src", "sport", "dst", "dport", "algorithm", "branch", "ack"}
DCTCP = {"alpha", "BytesAcked", "BytesMarked", "WindowEnd"}
HPCC = {"U", "W", "Wc", "R", "incStage", "lastUpdateSeq"}


@pytest.fixture(scope="module")
def report(hopsight: Any) -> dict[str, Any]:
    """The machine shape of one analysis."""
    ran = hopsight.here("analyze", "--json", str(CAPTURE))
    assert ran.returncode == 0, ran.stderr
    read: dict[str, Any] = json.loads(ran.stdout)
    return read


def test_frames_seen_are_decoded_or_counted_by_a_reason(report: dict[str, Any]) -> None:
    accounting = report["accounting"]
    assert set(accounting) == {"seen", "decoded", "reasons"}
    assert accounting["seen"] == accounting["decoded"] + sum(accounting["reasons"].values()) > 0


def test_every_flow_has_the_promised_keys(report: dict[str, Any]) -> None:
    assert report["flows"]
    for flow in report["flows"]:
        assert flow.keys() >= FLOW


def test_alpha_is_that_of_the_sender(report: dict[str, Any]) -> None:
    truth = pl.read_parquet(DATA / "dctcp_a1_truth.parquet")
    compared = 0
    for flow in report["flows"]:
        if flow["dctcp"] is None:
            continue
        windows = pl.DataFrame(flow["dctcp"]["windows"]).select("time_ns", "alpha")
        mine = truth.filter(sport=flow["sport"])
        both = mine.join(windows, on="time_ns", how="inner", suffix="_seen")
        assert both.height >= 0.9 * mine.height
        error = (both["alpha"].cast(pl.Float64) - both["alpha_seen"]).abs()
        assert error.max() < 1e-9  # type: ignore[operator] # a column of floats has a float maximum
        compared += both.height
    assert compared > 50


def test_frames_that_come_too_late_are_told_of(hopsight: Any, tmp_path: Path) -> None:
    second, path = 1_000_000_000, tmp_path / "late.pcapng"
    times = [*range(0, second, second // 8), *range(600 * second, 601 * second, second // 8), 0]
    packets = [ethernet(ipv4(tcp(payload=bytes(1 + at)))) for at in range(len(times))]
    frames = replace(frames_of(packets), time_ns=np.array(times, np.int64))
    write_pcapng(path, ["tap"], [frames])
    words = "analyze", str(path), "--json", "--set", "collector.frames_per_batch=4"
    told = hopsight.here(*words)
    assert told.returncode == 0, told.stderr
    [note] = json.loads(told.stdout)["notes"]
    assert "too late (pipeline.lateness_ms): 1;" in note
    assert "too late" in told.stderr


def test_a_table_for_people_ends_with_the_accounting(hopsight: Any) -> None:
    ran = hopsight.here("analyze", str(CAPTURE))
    assert "congested path" in ran.stdout
    assert ran.stdout.rstrip().splitlines()[-1].startswith("frames: ")


def test_a_directory_without_a_capture_is_an_error_and_one_with_a_capture_is_not(
    hopsight: Any, tmp_path: Path
) -> None:
    """Files that cannot be read are counted beside one that can."""
    (tmp_path / "notes").write_text("no capture")
    (tmp_path / "empty").write_text("")
    ran = hopsight.here("analyze", str(tmp_path))
    assert ran.returncode == 3
    assert ran.stderr.splitlines()[-1].endswith("of 2 files none can be read as a capture")
    (tmp_path / CAPTURE.name).write_bytes(CAPTURE.read_bytes())
    ran = hopsight.here("analyze", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.rstrip().splitlines()[-1].endswith("+ 2 file_unreadable")


@pytest.mark.parametrize("stores", [False, True])
def test_analyzing_does_not_load_pandas(hopsight: Any, tmp_path: Path, stores: bool) -> None:
    """Neither to print nor to store: it takes 40 MB and a fifth of a second."""
    more = ["--store", f"chdb://{tmp_path}/store"] if stores else []
    python, *rest = hopsight.command("analyze", str(CAPTURE), *more)
    ran = subprocess.run(
        [python, "-X", "importtime", *rest],
        capture_output=True, text=True, check=True,
        cwd=hopsight.directory, env=hopsight.environment,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "polars" in loaded
    assert "pandas" not in loaded


def test_replay_prints_one_object_a_decision(hopsight: Any) -> None:
    ran = hopsight.here("replay", "--json", "--algorithm", "dctcp", str(CAPTURE))
    decisions = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(decisions) > 100
    assert all(decision.keys() >= DECISION | DCTCP for decision in decisions)
    assert {"count", "window_end"} <= {decision["branch"] for decision in decisions}


def test_replay_takes_a_flow_a_parameter_and_explains(hopsight: Any) -> None:
    flow = "10.1.1.1:40000 10.2.1.2:5001"
    plain = hopsight.here("replay", "--flow", flow, "--json", str(CAPTURE)).stdout.splitlines()
    changed = hopsight.here(
        "replay", "--flow", flow, "--set", "g=0.5", "--json", "--explain", str(CAPTURE)
    ).stdout.splitlines()
    assert len(plain) == len(changed) > 100
    last, other = json.loads(plain[-1]), json.loads(changed[-1])
    assert last["src"] == "10.1.1.1"
    assert last["sport"] == 40000
    assert last["alpha"] != other["alpha"]
    assert "window" in other["sentence"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("analyze", "missing.pcap"), 3, "no such file"),
        (("analyze", "--set", "nope=1", str(CAPTURE)), 2, "nope"),
        (("analyze", "--set", "eta=tall", str(CAPTURE)), 2, "eta"),
        (("analyze", "--set", "collector.int_dscp=99", str(CAPTURE)), 2, "collector.int_dscp"),
        (("analyze", "--dialect", "klingon", str(CAPTURE)), 2, "'rfc8257'"),
        (("analyze", "--base-rtt", "soon", str(CAPTURE)), 2, "--base-rtt"),
        (("analyze", "--base-rtt", "9us", "--set", "pipeline.base_rtt_us=8", str(CAPTURE)), 2,
         "--set pipeline.base_rtt_us: another option tells it already"),
        (("analyze", "--topology", "missing.yaml", str(CAPTURE)), 3, "missing.yaml"),
        (("replay", "--algorithm", "cubic", str(CAPTURE)), 2, "hpcc, dctcp"),
        (("replay", "--flow", "here there", str(CAPTURE)), 2, "--flow"),
        (("replay", "--algorithm", "hpcc", str(CAPTURE)), 1, "INT telemetry"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(
    hopsight: Any, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = hopsight.here(*arguments)
    assert ran.returncode == code
    assert words in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert "Traceback" not in ran.stderr


def test_a_foreign_and_a_cut_file_end_in_a_sentence_and_a_count(
    hopsight: Any, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.pcap"
    foreign.write_bytes(b"PK\x03\x04 not packets")
    assert hopsight.here("analyze", str(foreign)).returncode == 3
    cut = tmp_path / "cut.pcap"
    record = (0).to_bytes(8, "little") + (60).to_bytes(4, "little") * 2
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    cut.write_bytes(header + record + bytes(60) + record + bytes(10))
    accounting = json.loads(hopsight.here("analyze", "--json", str(cut)).stdout)["accounting"]
    assert accounting == {
        "seen": 2,
        "decoded": 0,
        "reasons": {"unknown_ethertype": 1, "file_truncated": 1},
    }


def test_a_capture_under_another_name_is_told_of(hopsight: Any, tmp_path: Path) -> None:
    one, other = tmp_path / "one.pcap.zst", tmp_path / "other.pcap.zst"
    for path in (one, other):
        path.write_bytes(CAPTURE.read_bytes())
    store = ("--store", f"chdb://{tmp_path}/store", "--point", "tap")
    said = [hopsight.here("analyze", str(path), *store).stderr for path in (one, one, other)]
    told = "other.pcap.zst: its first frame came from one.pcap.zst too"
    assert [told in text for text in said] == [False, False, True]
    assert not any("first frame" in text for text in said[:2])
    both = hopsight.here("analyze", str(one), str(other), "--point", "tap").stderr
    assert told in both
    apart = hopsight.here("analyze", str(one), str(other)).stderr
    assert "first frame" not in apart, "files without a point are points of their own"


def test_points_that_are_read_one_after_the_other_are_told_of(
    hopsight: Any, tmp_path: Path
) -> None:
    """Each is judged alone then, and its bytes count beside those of the others."""
    one, other = tmp_path / "one.pcap.zst", tmp_path / "other.pcap.zst"
    for path in (one, other):
        path.write_bytes(CAPTURE.read_bytes())
    store = ("--store", f"chdb://{tmp_path}/store", "--point")
    assert "saw its first flow" not in hopsight.here("analyze", str(one), *store, "left").stderr
    said = hopsight.here("analyze", str(other), *store, "right").stderr
    assert "other.pcap.zst: one.pcap.zst saw its first flow at that time, and is stored" in said


def test_analyze_stores_and_where_answers_while_serve_owns_the_store(
    hopsight: Any, serve: Callable[[str], Any], tmp_path: Path
) -> None:
    dsn = f"chdb://{tmp_path / 'store'}"
    served = serve(dsn)
    try:
        stored = hopsight.here("analyze", "--store", dsn, str(CAPTURE))
        assert stored.returncode == 0, stored.stderr
        ends = ("10.1.1.1:40000", "10.2.1.2:5001")
        told = hopsight.here("where", *ends, "--store", dsn, "--json")
        assert told.returncode == 0, told.stderr
        asked = served.get("/api/v1/flows/bottleneck", src=ends[0], dst=ends[1])
        assert asked.status_code == 200
        assert json.loads(told.stdout)["verdict"] == asked.json()["verdict"]
        top = json.loads(hopsight.here("top", "--store", dsn, "--json").stdout)
        assert top["interval"]["covered"] == 1.0, "its time ends with its shortest interval"
        apart = {"src": "10.1.1.1", "sport": 40000, "dst": "10.2.1.2", "dport": 5001}
        assert served.get("/api/v1/flows/bottleneck", **apart).json() == asked.json()
        again = hopsight.here("analyze", "--store", dsn, str(CAPTURE))
        assert again.returncode == 0
        repeated = json.loads(hopsight.here("where", *ends, "--store", dsn, "--json").stdout)
        assert repeated["verdict"]["samples"] == json.loads(told.stdout)["verdict"]["samples"]
    finally:
        assert served.stop() == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(served.url.rsplit(":", 1)[1]))) != 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--interface", "nosuch0"), ExitCode.UNAVAILABLE, "there is no such interface"),
        (("--interface", "lo", "--filter", "bogus("), ExitCode.USAGE, "capture filter"),
        (("--int-reports", "192.0.2.1:7"), ExitCode.UNAVAILABLE, "assign requested address"),
    ],
)
def test_a_live_source_that_is_not_to_be_had_is_no_file_that_cannot_be_read(
    hopsight: Any, tool: Callable[..., str], words: tuple[str, ...], code: int, said: str
) -> None:
    tool("dumpcap")
    told = hopsight.here("analyze", *words)
    assert (told.returncode, said in told.stderr) == (code, True), told.stderr


def test_for_an_interface_that_is_not_there_no_store_is_made(
    hopsight: Any, tool: Callable[..., str], tmp_path: Path
) -> None:
    tool("dumpcap")
    place = tmp_path / "store"
    told = hopsight.here("analyze", "--interface", "nosuch0", "--store", f"chdb://{place}")
    assert (told.returncode, place.exists()) == (ExitCode.UNAVAILABLE, False), told.stderr
