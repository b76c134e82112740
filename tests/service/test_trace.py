"""Traces: what files of observations, the store and an archive replay is what the capture does."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collector import CollectorSettings, Decoder, open_capture, write_pcapng
from replay import frames_of, points, simulate
from replay.campaign import SETTINGS
from replay.scenario_core import uplink_hot_spot
from replay.world import MS, Telemetry
from service.commands.replay import Request, source_of
from service.decidable import Decidable
from service.failure import ExitCode, Failure
from service.trace_file import TraceSource, check, is_trace, slices
from service.window_step import Run, steps_assumed

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
TWO_FLOWS = CAPTURE.with_name("linux_A_h2.pcap.zst")
FLOW = "10.1.1.1:40000 10.2.1.2:5001"


def decided(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_the_store_and_an_archive_replay_what_the_capture_does(
    hopsight: Any, tmp_path: Path
) -> None:
    dsn, archived = f"chdb://{tmp_path}/store", tmp_path / "kept.parquet"
    whole = decided(hopsight.here("replay", str(CAPTURE), "--flow", FLOW, "--json").stdout)
    assert hopsight.here("analyze", str(CAPTURE), "--store", dsn).returncode == 0
    stored = hopsight.here("replay", "--store", dsn, "--flow", FLOW, "--json")
    assert decided(stored.stdout) == whole
    done = hopsight.here("archive", "--store", dsn, "--flow", FLOW, "--output", str(archived))
    assert done.returncode == 0, done.stderr
    assert "observations over" in done.stderr
    again = hopsight.here("replay", str(archived), "--flow", FLOW, "--json")
    assert decided(again.stdout) == whole
    late = ("--to", "1970-01-01T00:00:00Z", "--from", "0")
    nothing = hopsight.here("replay", "--store", dsn, "--flow", FLOW, *late)
    assert nothing.returncode == ExitCode.WRONG
    assert "holds no observations" in nothing.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("telemetry", ["int_roce", "accecn"])
def test_what_tcp_has_not_and_few_have_is_kept_too(
    hopsight: Any, tmp_path: Path, telemetry: Telemetry
) -> None:
    """Queue pairs, whose acknowledgments come under another number, and options of AccECN."""
    capture, dsn = tmp_path / "seen.pcapng", f"chdb://{tmp_path}/store"
    world = uplink_hot_spot((telemetry,), 3 * MS)
    frames = frames_of(simulate(world, SETTINGS), SETTINGS)
    write_pcapng(capture, points(world), [frames])
    read = ("--set", f"collector.int_dscp={SETTINGS.int_dscp}")
    done = hopsight.here("analyze", str(capture), *read, "--store", dsn, "--json")
    seen = [" ".join(f"{each[end]}:{each[f'{end[0]}port']}" for end in ("src", "dst"))
            for each in json.loads(done.stdout)["flows"]]  # fmt: skip
    assert len(seen) == len(set(seen)), "none stands beside a flow that nobody sent"
    ends = ("--flow", seen[0], "--json")
    whole = decided(hopsight.here("replay", str(capture), *read, *ends).stdout)
    assert len(whole) > 100
    assert decided(hopsight.here("replay", "--store", dsn, *ends).stdout) == whole


def test_an_archive_keeps_several_flows_in_order_of_time(hopsight: Any, tmp_path: Path) -> None:
    dsn, kept = f"chdb://{tmp_path}/store", tmp_path / "kept.parquet"
    assert hopsight.here("analyze", str(TWO_FLOWS), "--store", dsn).returncode == 0
    flows = ("10.0.1.2:35568 10.0.2.1:5202", "10.0.1.2:35560 10.0.2.1:5202")
    backwards = " ".join(reversed(flows[0].split()))
    told = [word for flow in (*flows, backwards) for word in ("--flow", flow)]
    done = hopsight.here("archive", "--store", dsn, *told, "--output", str(kept))
    assert done.returncode == 0, done.stderr
    held = pl.read_parquet(kept)
    assert held["frame"].is_unique().all()
    assert held["time_ns"].is_sorted()
    again = decided(hopsight.here("replay", str(kept), "--json").stdout)
    assert {each["sport"] for each in again} >= {35560, 35568}
    assert again == decided(hopsight.here("replay", str(TWO_FLOWS), "--json").stdout)
    unknown = ("--flow", "192.0.2.1:1 192.0.2.2:2", "--output", str(tmp_path / "none.parquet"))
    lacking = hopsight.here("archive", "--store", dsn, *told, *unknown)
    assert lacking.returncode == ExitCode.WRONG
    assert "no observations of 192.0.2.1:1 192.0.2.2:2" in lacking.stderr
    assert not (tmp_path / "none.parquet").exists()


def test_of_a_store_what_cannot_be_is_said(hopsight: Any, tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/store"
    told = hopsight.here("replay", "--store", dsn, "--closed-loop")
    assert told.returncode == ExitCode.USAGE
    assert "`hopsight archive`" in told.stderr
    told = hopsight.here("replay", "--store", dsn, "--flow", FLOW, "--from", "10", "--to", "5")
    assert told.returncode == ExitCode.USAGE
    assert "--from 10 is later than --to 5" in told.stderr
    told = hopsight.here("replay", "--store", "http://127.0.0.1:1/none", "--flow", FLOW)
    assert told.returncode == ExitCode.STORE
    assert told.stderr.startswith("hopsight: the store http://127.0.0.1:1/none"), told.stderr


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_of_observations_gives_the_rows_that_it_holds(tmp_path: Path, ending: str) -> None:
    with open_capture(str(CAPTURE)) as capture:
        [frames] = capture.chunks()
        rows = Decoder(CollectorSettings()).decode(frames, capture.points, capture.source)
    path = tmp_path / f"trace.{ending}"
    _ = rows.write_parquet(path) if ending == "parquet" else rows.write_ipc(path)
    assert is_trace(path)
    with TraceSource([path]).opened() as feeding:
        assert feeding.sources == (str(rows["source"][0]),)


def test_what_is_no_trace_says_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    pl.DataFrame({"time_ns": [1], "source": ["s"]}).write_parquet(path)
    with pytest.raises(Failure, match="observations lack point, frame, flow"), (
        TraceSource([path]).opened()
    ):  # fmt: skip
        pass
    path.write_bytes(b"no parquet")
    with pytest.raises(Failure, match="not a file of observations") as refused, (
        TraceSource([path]).opened()
    ):  # fmt: skip
        pass
    assert refused.value.code == ExitCode.INPUT


def test_tcp_without_its_numbers_is_refused(observed: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    observed.drop("seq", "flags").write_parquet(path)
    with pytest.raises(Failure, match="observations of TCP lack seq, flags"):
        check(path)
    observed.drop("seq").with_columns(protocol=pl.lit(17, pl.UInt8)).write_parquet(path)
    check(path)


def test_sources_are_not_mixed() -> None:
    for asked, sentence in (
        (Request([Path("a.pcap"), Path("b.parquet")]), "only one kind at a time"),
        (Request([Path("a.pcap")], from_="1"), "--from: of a store"),
    ):
        with pytest.raises(Failure, match=sentence):
            source_of(asked, CollectorSettings())


def test_what_cannot_be_decided_is_said_and_from_where_on() -> None:
    rows = pl.DataFrame(
        {
            "conversation": [1, 1, 2], "direction": [0, 1, 1], "flow": [8, 9, 7], "source": "s",
            "frame": [1, 2, 3], "payload_bytes": [5, 0, 5],
        }
    )  # fmt: skip
    states = pl.DataFrame(
        {
            "flow": [7, 7, 7, 8], "algorithm": "dctcp", "time_ns": [1, 2, 3, 4],
            "quality": ["exact", "estimated", "estimated", "exact"],
            "why": [None, "gap", "gap", None], "frame": [10, 11, 12, 13],
        }
    )  # fmt: skip
    keys = pl.DataFrame(
        {"flow": [7], "src": ["10.0.0.1"], "sport": [1], "dst": ["fd00::2"], "dport": [2]}
    )
    told = Decidable()
    told.see(rows)
    told.add(states.head(2))
    told.add(states.tail(2))
    assert list(told.notes(keys, {"late": 3, "gaps": 2})) == [
        (
            "1 of 2 conversations were seen in one direction only: what needs data and"
            " acknowledgments is not decided of them"
        ),
        "10.0.0.1:1 → [fd00::2]:2: no acknowledgments came back, from s frame 3 on",
        "frames of flows are missing in 2 places, by their sequence numbers",
        (
            "3 rows came later than pipeline.disorder_us allows: decisions of their flows are in"
            " doubt from there on"
        ),
        (
            "10.0.0.1:1 → [fd00::2]:2 dctcp: estimated from frame 11 on (2 decisions):"
            " frames of the flow are missing"
        ),
    ]
    assert list(Decidable().notes(keys, {})) == []


def test_windows_of_a_step_that_nobody_told_say_for_which_they_hold() -> None:
    told = Decidable()
    assert list(told.step_assumed({})) == []
    told.add(
        pl.DataFrame(
            {
                "flow": [7], "algorithm": "hpcc", "time_ns": [1], "quality": ["exact"],
                "why": ["none"], "frame": [10],
            }
        )
    )  # fmt: skip
    [said] = told.step_assumed({"hpcc": {"eta": 0.9}, "dctcp": {"g": 0.5}})
    assert said.startswith("W and R of HPCC++ hold for N = 100, which is only the default")
    for step in ({"N": 4}, {"W_ai": 4}, {"R_ai_bps": 4, "form": "rate"}):
        assert list(told.step_assumed({"hpcc": step})) == []


@pytest.mark.parametrize(
    ("base", "changed", "said"),
    [
        (({"hpcc"}, {}), ({"hpcc"}, {}), ["HPCC++ hold"]),
        (({"hpcc"}, {}), ({"hpcc"}, {"hpcc": {"N": 4}}), ["HPCC++ without the change hold"]),
        (({"hpcc"}, {"hpcc": {"N": 4}}), ({"hpcc"}, {"hpcc": {"N": 4, "eta": 0.9}}), []),
        (({"hpcc"}, {}), ({"swift"}, {}), ["HPCC++ hold"]),
        (({"dctcp"}, {}), ({"hpcc"}, {}), ["HPCC++ hold"]),
        (({"dctcp"}, {}), ({"hpcc"}, {"hpcc": {"W_ai": 80}}), []),
        (({"dctcp"}, {}), ({"dctcp"}, {}), []),
    ],
)
def test_of_two_runs_it_is_said_once_and_of_which(base: Run, changed: Run, said: list[str]) -> None:
    told = list(steps_assumed(base, changed))
    assert [each.partition(" for ")[0] for each in told] == [f"W and R of {each}" for each in said]


@pytest.fixture(scope="module")
def observed() -> pl.DataFrame:
    """Observations of a capture."""
    with open_capture(str(CAPTURE)) as capture:
        frames = next(iter(capture.chunks(500)))
        return Decoder(CollectorSettings()).decode(frames, capture.points, capture.source)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.col("time_ns").cast(pl.String), "column time_ns is String, not Int64"),
        (pl.col("point").str.len_chars().alias("point"), "column point is UInt32, not String"),
        (pl.col("hop_count").cast(pl.Float64), "column hop_count is Float64, not UInt8"),
        (-pl.col("sport").cast(pl.Int64), "column sport holds values that are no UInt16"),
        (pl.lit(7, pl.UInt8).alias("direction"), "direction is 7, and at most 1"),
        (pl.lit(None, pl.UInt64).alias("flow"), "column flow has rows without a value"),
    ],
)
def test_a_column_of_another_type_is_named(
    observed: pl.DataFrame, tmp_path: Path, change: pl.Expr, said: str
) -> None:
    path = tmp_path / "trace.parquet"
    observed.with_columns(change).write_parquet(path)
    with pytest.raises(Failure, match=said) as refused, TraceSource([path]).opened():
        list(slices(path))
    assert refused.value.code == ExitCode.INPUT


def test_whole_numbers_of_another_width_are_read(observed: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    observed.with_columns(pl.col("sport", "frame").cast(pl.Int64)).write_parquet(path)
    check(path)
    assert pl.concat(slices(path))["sport"].equals(observed["sport"])
