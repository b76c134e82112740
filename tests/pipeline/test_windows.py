"""Advertised windows: receivers that close them are named, where packets tell what they are."""

import json
from typing import Any

import polars as pl
import pytest

from pipeline.settings import PipelineSettings
from pipeline.windows import Windows
from pipeline.worker import Worker
from tests.pipeline.conftest import observations

SYN, ACK, T0 = 2, 16, 1_760_000_000_000_000_000
BACK = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000, "payload_bytes": 0}
PAYLOAD, SCALE, TURNS = 1_000, 2, 40

Row = dict[str, Any]


def shaken(first: int | None = 3, second: int | None = SCALE) -> list[Row]:
    """The handshake with both ends' scales; windows of SYNs have none."""
    return [
        {"flags": SYN, "seq": 0, "payload_bytes": 0, "window": 4, "wscale": first},
        {**BACK, "flags": SYN | ACK, "seq": 0, "ack": 1, "window": 4, "wscale": second},
        {"flags": ACK, "seq": 1, "ack": 1, "payload_bytes": 0, "window": 9_000},
    ]


def streamed(window: int, ahead: int) -> list[Row]:
    """Data that is `ahead` segments before its ACKs, which give this window."""
    made: list[Row] = [
        {"flags": ACK, "seq": 1 + at * PAYLOAD, "ack": 1, "window": 9_000} for at in range(ahead)
    ]
    for at in range(TURNS):
        made += [
            {**BACK, "flags": ACK, "seq": 1, "ack": 1 + (at + 1) * PAYLOAD, "window": window},
            {"flags": ACK, "seq": 1 + (at + ahead) * PAYLOAD, "ack": 1, "window": 9_000},
        ]
    return made


def judged(rows: list[Row], cut: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The verdict on the data's flow, and its row of flow_intervals; rows are 1 us apart."""
    told = observations({"time_ns": T0 + at * 1_000, **row} for at, row in enumerate(rows))
    worker = Worker(PipelineSettings(interval_ms=1.0, disorder_us=1.0), None, ("a",))
    made = [worker.advance(part).tables for part in ((told[:cut], told[cut:]) if cut else (told,))]
    made.append(worker.finish().tables)
    flow = pl.col("flow") == told["flow"][0]
    verdicts, sums = (
        pl.concat([each[name] for each in made if name in each]).filter(flow)
        for name in ("verdicts", "flow_intervals")
    )
    return verdicts, sums


def windows(verdict: pl.DataFrame) -> dict[str, tuple[float, str]]:
    """What its evidence says of windows."""
    [text] = verdict["evidence"]
    pieces = [each for each in json.loads(text) if each["signal"] == "window"]
    return {each["name"]: (each["value"], each["unit"]) for each in pieces}


def test_a_window_that_is_full_names_the_receiver() -> None:
    verdict, sums = judged([*shaken(), *streamed(1_000, 4)])
    assert verdict.select("kind", "reroute_helps", "node", "device").row(0) == (
        "receiver_host", "no", None, "",
    )  # fmt: skip
    assert windows(verdict) == {"advertised window": (4_000.0, "bytes")}
    [acks, full, mean] = sums.select("rwnd_acks", "rwnd_full", "rwnd_sum_bytes").row(0)
    assert (acks, full, mean) == (TURNS, TURNS - 2, TURNS * 4_000)


@pytest.mark.parametrize("window", [2_000, 65_535])
def test_a_window_with_room_names_nobody(window: int) -> None:
    verdict, sums = judged([*shaken(), *streamed(window, 4)])
    assert verdict["kind"].to_list() != ["receiver_host"]
    assert windows(verdict) == {}
    assert sums["rwnd_full"].sum() == 0


def test_without_the_handshake_the_scale_is_not_known_and_nothing_is_judged() -> None:
    verdict, sums = judged(streamed(1_000, 4))
    assert verdict["kind"].to_list() != ["receiver_host"]
    assert windows(verdict) == {
        "advertised window, scale unknown": (float(TURNS), "acknowledgments")
    }
    assert sums["rwnd_acks"].sum() == 0


def test_a_sender_that_a_window_of_unknown_scale_may_hold_back_is_not_surely_limited() -> None:
    """It pauses: by itself, or since the receiver lets nothing in."""
    begun, joined = (judged([*first, *streamed(60_000, 4)])[0] for first in (shaken(), []))
    for verdict, flags in ((begun, []), (joined, ["window_scale_unknown"])):
        assert verdict["kind"].to_list() == ["sender_limited"]
        assert verdict["plausibility"].to_list() == [flags]
    assert joined["confidence"].to_list() == [begun["confidence"].item() / 2]


def test_a_window_of_nothing_needs_no_scale() -> None:
    rows = streamed(1_000, 4)
    rows[20]["window"] = 0
    verdict, _ = judged(rows)
    assert verdict["kind"].to_list() == ["receiver_host"]
    assert windows(verdict)["advertised window of 0"] == (1.0, "acknowledgments")


@pytest.mark.parametrize("asked", [3, None])
def test_both_ends_scale_or_neither(asked: int | None) -> None:
    verdict, _ = judged([*shaken(asked, None), *streamed(4_000, 4)])
    assert verdict["kind"].to_list() == ["receiver_host"]
    assert windows(verdict) == {"advertised window": (4_000.0, "bytes")}


@pytest.mark.parametrize("scale", [15, 127, 128, 255])
def test_a_scale_beyond_the_largest_is_the_largest(scale: int) -> None:
    told, largest = (judged([*shaken(3, each), *streamed(1_000, 4)])[1] for each in (scale, 14))
    assert told["rwnd_sum_bytes"].sum() == largest["rwnd_sum_bytes"].sum() > 0


def test_numbers_and_windows_run_over() -> None:
    rows = [*shaken(), *streamed(1_000, 4)]
    for row in rows:
        back = "src" in row
        for name in ("seq", "ack"):
            if name in row and (name == "ack") == back:
                row[name] = (row[name] + (1 << 32) - 20_000) % (1 << 32)
    verdict, _ = judged(rows)
    assert verdict["kind"].to_list() == ["receiver_host"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cut", [1, 2, 5, 6, 40])
def test_cuts_change_nothing(cut: int) -> None:
    rows = [*shaken(), *streamed(1_000, 4)]
    for whole, parts in zip(judged(rows), judged(rows, cut), strict=True):
        assert whole.equals(parts)


def test_connections_do_not_take_one_another_out_of_mind() -> None:
    """All of 8,000 that were seen to begin have their scale, not those alone of a free place."""
    several = pl.DataFrame({"conversation": range(8_000)}).select(pl.col("conversation").hash())
    shakes = observations({"time_ns": T0, **row} for row in shaken()).drop("conversation")
    told = Windows().told(
        pl.concat(shakes[at : at + 1].join(several, how="cross") for at in range(shakes.height))
    )
    scaled = told.filter(pl.col("flags") == ACK)
    assert scaled.height == several.height
    assert scaled["rwnd"].unique().to_list() == [9_000 << 3]
