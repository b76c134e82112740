"""Two flows with the same ends in two networks: each is found, replayed, kept and told apart."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from asked import Asked

from pipeline import open_or_ask
from service.commands import replay
from service.failure import ExitCode
from service.jobs.request import replay_request, words_of

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
HEAD, FRAMES = 24, 600
BEGUN_S, LATER_S = 1_760_000_000, 1_760_000_005
NETWORKS = {100: BEGUN_S, 200: LATER_S}
ENDS = ("10.1.1.1:40000", "10.2.1.2:5001")
FLOW = ("--flow", " ".join(ENDS))
ASKED = dict(zip(("src", "dst"), ENDS, strict=True))
OLD = {"from": f"{BEGUN_S}", "to": f"{BEGUN_S + 1}"}
OLD_WORDS = ("--from", OLD["from"], "--to", OLD["to"])


def tunnelled(frame: bytes, vni: int) -> bytes:
    """A frame in VXLAN."""
    inner = bytes([8, 0, 0, 0]) + vni.to_bytes(3, "big") + b"\0" + frame
    udp = struct.pack(">HHHH", 50_000, 4789, 8 + len(inner), 0) + inner
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    return bytes(12) + b"\x08\x00" + ip + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + udp


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory, hopsight: Any) -> str:
    """A store of the same frames twice: in network 100, and five seconds later in 200."""
    folder = tmp_path_factory.mktemp("overlay")
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(CAPTURE.read_bytes())
    written = [whole[:HEAD]]
    for vni, begun_s in NETWORKS.items():
        at = HEAD
        for _ in range(FRAMES):
            seconds, micros, size, _ = struct.unpack_from("<IIII", whole, at)
            frame = tunnelled(whole[at + 16 : at + 16 + size], vni)
            head = struct.pack("<IIII", begun_s + seconds, micros, len(frame), len(frame))
            written += [head, frame]
            at += 16 + size
    path = folder / "overlay.pcap"
    path.write_bytes(b"".join(written))
    store = f"chdb://{folder}/store"
    done = hopsight.here("analyze", str(path), "--store", store)
    assert done.returncode == 0, done.stderr
    return store


@pytest.fixture(scope="module")
def asked(dsn: str) -> Iterator[Asked]:
    """The API of that store, and nobody else's."""
    with open_or_ask(dsn) as store, Asked(store) as client:
        yield client


def decided(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


@pytest.mark.parametrize(("at", "vni"), [(BEGUN_S, 100), (LATER_S, 200)])
def test_where_and_spans_answer_of_the_flow_of_their_window(
    hopsight: Any, dsn: str, at: int, vni: int
) -> None:
    window = ("--at", f"{at}.01", "--window", "10ms", "--store", dsn, "--json")
    told = json.loads(hopsight.here("where", *ENDS, *window).stdout)
    assert told["flow"]["vni"] == vni
    assert any(f"with vni {300 - vni} from 2025-10-09T08:53" in note for note in told["notes"])
    other = hopsight.here("where", *ENDS, *window[:-1], "--vni", str(300 - vni))
    assert other.returncode == ExitCode.WRONG
    spans = hopsight.here("spans", *ENDS, *window, "--vni", "7")
    assert spans.returncode == ExitCode.WRONG
    assert "no flow 10.1.1.1:40000" in spans.stderr


def test_replay_of_a_store_takes_one_flow_names_the_other_and_tells_whose_rows_are(
    hopsight: Any, dsn: str
) -> None:
    newest = hopsight.here("replay", *FLOW, "--store", dsn, "--json")
    assert {row["vni"] for row in decided(newest.stdout)} == {200}
    assert "tenant" not in decided(newest.stdout)[0]
    said = "2 flows have these ends; this is the one seen last, with vni 200; also seen: with vni"
    assert said in newest.stderr
    for words in (OLD_WORDS, ("--vni", "100")):
        older = hopsight.here("replay", *FLOW, *words, "--store", dsn)
        assert older.returncode == 0, older.stderr
        assert {line.split("  ")[2] for line in older.stdout.splitlines()} == {"vni=100"}
    assert "flows have these ends" not in older.stderr
    conform = hopsight.here("conform", *FLOW, "--vni", "100", "--store", dsn, "--json")
    assert conform.returncode == 0, conform.stderr
    for verb in ("replay", "conform", "archive"):
        output = ("--output", "none.parquet") if verb == "archive" else ()
        none = hopsight.here(verb, *FLOW, "--tenant", "red", *output, "--store", dsn)
        assert none.returncode == ExitCode.WRONG


@pytest.mark.parametrize("vni", NETWORKS)
def test_a_job_reads_the_flow_of_one_network(dsn: str, tmp_path: Path, vni: int) -> None:
    wanted = {"kind": "replay", **ASKED, "vni": vni}
    rows = tmp_path / "rows.arrow"
    replay.run(replay_request(wanted, [], dsn, output=rows))
    assert pl.read_ipc(rows)["vni"].unique().to_list() == [vni]
    assert words_of(wanted) == [*FLOW, "--vni", str(vni)]


@pytest.mark.parametrize("verb", ["replay", "conform"])
def test_what_tells_stored_flows_apart_is_of_a_store(hopsight: Any, verb: str) -> None:
    told = hopsight.here(verb, str(CAPTURE), "--vni", "100")
    assert told.returncode == ExitCode.USAGE
    assert "--vni: of a store, which is read where no file or bus is named" in told.stderr


def test_an_archive_keeps_all_flows_with_these_ends(
    hopsight: Any, dsn: str, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.parquet"
    words = ("archive", *FLOW, "--output", str(kept), "--store", dsn)
    done = hopsight.here(*words)
    assert "1,200 observations over" in done.stderr
    assert done.stderr.endswith("of 2 flows\n")
    held = pl.read_parquet(kept)
    assert held["time_ns"].is_sorted()
    assert dict(held["vni"].value_counts().iter_rows()) == {100: FRAMES, 200: FRAMES}
    again = decided(hopsight.here("replay", str(kept), "--json").stdout)
    assert {row["vni"] for row in again} == {100, 200}
    for more in (OLD_WORDS, ("--vni", "100")):
        done = hopsight.here(*words, *more, "--json")
        told = json.loads(done.stdout)
        assert told["observations"] == FRAMES, done.stderr
        assert set(pl.read_parquet(kept)["vni"]) == {100}
    assert told["flows"] == 1


def test_a_report_has_the_verdict_of_the_flow_of_its_decisions(
    hopsight: Any, dsn: str, tmp_path: Path
) -> None:
    path = tmp_path / "told.md"
    done = hopsight.here("replay", *FLOW, *OLD_WORDS, "--store", dsn, "--report", str(path))
    assert done.returncode == 0, done.stderr
    assert "this is the one seen in that time" in done.stderr


def test_the_api_answers_of_the_flow_of_the_window_and_names_the_other(asked: Asked) -> None:
    window = ASKED | {"at": f"{BEGUN_S}.01", "window": "10ms"}
    for route in ("bottleneck", "signals", "contributors"):
        told = asked.get(f"/api/v1/flows/{route}", **window).json()
        assert told["flow"]["vni"] == 100, route
        [note] = [each for each in told["notes"] if "have these ends" in each]
        assert "with vni 200 from" in note
    assert asked.get("/api/v1/flows/signals", **window, vni=100).json()["notes"] == []
    page = asked.get("/api/v1/replay/decisions", **ASKED, **OLD).json()
    assert page["total"] > 0
    assert {row["vni"] for row in page["decisions"]} == {100}
    table = asked.get("/api/v1/replay/decisions", **ASKED, **OLD, format="csv").text
    assert "vni" in table.splitlines()[0].split(",")


def test_a_time_without_a_verdict_names_all_flows_with_these_ends(asked: Asked) -> None:
    """Those with verdicts are offered, and not the acknowledgments, which have none."""
    answer = asked.get("/api/v1/flows/bottleneck", **ASKED, at="1990-01-01T00:00:00Z")
    problem = answer.json()
    assert (answer.status_code, problem["field"]) == (404, "at")
    assert "with vni 200 from 2025-10-09T08:53:25" in problem["detail"]
    assert any("2 flows have these ends" in note for note in problem["notes"])
    assert [(flow["sport"], flow["vni"]) for flow in problem["flows"]] == [
        (40000, 100),
        (40000, 200),
    ]
    for flow in problem["flows"]:
        assert asked.get("/api/v1/flows/bottleneck", **ASKED, vni=flow["vni"]).status_code == 200
