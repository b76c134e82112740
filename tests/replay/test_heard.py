"""Stream and replay decide the same bits, and every decision is shown with what it heard."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder
from pipeline import COMPANIONS, Decider, PipelineSettings, Rerun, Topology, Tracked, Worker
from replay import HOPS, Heard, Run, frames_of, points, topology
from tests.pipeline.test_companion_probe import DSCP, traffic
from tests.pipeline.test_companion_receiver import on_path

ROWS, BATCH = 12_000, 1_700
INT_DSCP = 23
SHOWN = ("hpcc", "dctcp")
PROBED, ENOUGH = "hpcc_probe", 4


@pytest.fixture(scope="module")
def rows(demo: Run, settings: CollectorSettings) -> pl.DataFrame:
    """What the fabric's taps saw first, as a decoder hands it on."""
    frames = frames_of(demo, settings).part(0, ROWS)
    return Decoder(settings).decode(frames, points(demo.world), "fabric")


def by_algorithm(made: list[Tracked]) -> dict[str, pl.DataFrame]:
    found = pl.concat([each.decisions for each in made])
    names = {name for each in made for name in each.companions}
    return {name: found.filter(pl.col("algorithm") == name) for name in SHOWN} | {
        name: pl.concat([each.companions[name] for each in made]) for name in names
    }


def told_by(probe_dscp: int | None) -> PipelineSettings:
    return PipelineSettings(companions=tuple(COMPANIONS), probe_dscp=probe_dscp, base_rtt_us=12)


Both = tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]


def streamed_and_replayed(rows: pl.DataFrame, probe_dscp: int | None, fabric: Topology) -> Both:
    """Decisions of the stream, which comes in batches, and of a replay of all at once."""
    settings, sources = told_by(probe_dscp), tuple(rows["source"].unique())
    worker = Worker(settings, fabric, sources)
    outputs = [worker.advance(part) for part in rows.iter_slices(BATCH)]
    outputs += [*map(worker.end, sources), worker.finish()]
    rerun = Rerun(settings, [Decider(settings, fabric)], sources)
    again = [rerun.advance(rows), *map(rerun.end, sources), rerun.finish()]
    return (
        by_algorithm([each.tracked for each in outputs if each.tracked]),
        by_algorithm([each for one in again for each in one.tracked]),
    )


@pytest.fixture(scope="module", params=[None, INT_DSCP], ids=["data", "probes"])
def both(rows: pl.DataFrame, demo: Run, request: pytest.FixtureRequest) -> Both:
    """Of the fabric, whose hosts send no probes; once as if all with INT were probes."""
    return streamed_and_replayed(rows, request.param, topology(demo.world))


@pytest.mark.parametrize("algorithm", [*SHOWN, *COMPANIONS])
def test_stream_and_replay_decide_the_same_bits(
    both: Both, algorithm: str, request: pytest.FixtureRequest
) -> None:
    stream, replay = (each[algorithm] for each in both)
    assert_frame_equal(stream, replay, check_exact=True)
    probes = "probes" in request.node.name
    assert stream.height > 0 or algorithm == PROBED or (probes and algorithm == "hpcc")


def test_probes_decide_the_same_bits_in_stream_and_replay(demo: Run) -> None:
    """Of hosts that probe: responses that come late, of another path, of no probe, or never."""
    told = on_path(traffic(7, count=4 * BATCH)).with_columns(source=pl.lit("hosts"))
    stream, replay = (
        each[PROBED] for each in streamed_and_replayed(told, DSCP, topology(demo.world))
    )
    assert_frame_equal(stream, replay, check_exact=True)
    assert stream.height > BATCH
    assert stream["branch"].cast(pl.String).n_unique() > ENOUGH


def test_each_decision_is_shown_with_the_loads_that_it_heard(rows: pl.DataFrame) -> None:
    decider = Decider(told_by(None))
    heard, decided = Heard(), []
    for part in rows.iter_slices(BATCH):
        made = decider.decide(part)
        decided.append(heard.advance(made))
    whole = Decider(told_by(None)).decide(rows)
    at_once = Heard().advance(whole)
    assert_frame_equal(pl.concat(decided), at_once, check_exact=True)
    measured = at_once.filter(pl.col("u_max").is_not_null() & (pl.col("u_hop") >= 0))
    assert measured.height > 500
    assert measured[HOPS].list.max().equals(measured["u_max"], null_equal=True)
    assert measured[HOPS].list.arg_max().cast(pl.Int8).equals(measured["u_hop"])
    marks = at_once.filter(pl.col("algorithm") == "dctcp")
    assert marks[HOPS].null_count() == marks.height > 0


def test_u_is_told_as_an_acknowledgment_finds_it(rows: pl.DataFrame) -> None:
    made = Decider(told_by(None)).decide(rows).decisions
    for algorithm, name in (("hpcc", "U"), ("dctcp", "alpha")):
        own = made.filter((pl.col("algorithm") == algorithm) & pl.col(name).is_not_null())
        last = own.select(pl.col(name).shift(1).over("point", "flow")).to_series()
        follows = last.is_not_null()
        assert follows.sum() > 500
        assert own[f"{name}_before"].filter(follows).equals(last.filter(follows))
        assert (own[name] != own[f"{name}_before"]).any()


def test_what_an_acknowledgment_reflects_is_its_own() -> None:
    ack = {"point": "p", "flow": 7, "time_ns": 5}
    kinds = {"flow": pl.UInt64, "u1": pl.Float64, "u_max": pl.Float64}
    load = {**ack, "reflected": True, "hop_count": 2, "u0": 0.25, "u1": None, "u2": 9.0}
    loads = pl.DataFrame([load], schema_overrides=kinds)
    asked = pl.DataFrame([{**ack, "u_max": None}, {**ack, "u_max": 0.25}], schema_overrides=kinds)
    tracked = Tracked(asked, loads, heard=np.array([-1, 0], np.int32))
    assert Heard().advance(tracked)[HOPS].to_list() == [None, [0.25, None]]
