"""Partitions that are judged together: the verdicts of one worker, however they come to speak."""

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder
from pipeline import Meeting, PipelineSettings, Topology, Worker
from pipeline.handed import Handed
from pipeline.order import ALL_NS
from replay import frames_of, points, scenario, simulate, topology

MS = 1_000_000
SETTINGS = PipelineSettings(interval_ms=(1.0, 4.0), health_ms=2.0)
BATCHES = 12


@cache
def played() -> tuple[pl.DataFrame, Topology]:
    """Eight milliseconds of the demo: an incast, elephants, all kinds of telemetry."""
    told = CollectorSettings(int_dscp=23)
    world = scenario.demo(duration_ns=8 * MS)
    run = simulate(world, told)
    return Decoder(told).decode(frames_of(run, told), points(world), "fabric"), topology(world)


def batches(rows: pl.DataFrame) -> list[pl.DataFrame]:
    cuts = [len(rows) * part // BATCHES for part in range(BATCHES + 1)]
    return [rows[a:b] for a, b in pairwise(cuts)]


def verdicts(made: Iterable[Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    told = [tables["verdicts"] for tables in made if "verdicts" in tables]
    return pl.concat(told).sort("interval_ns", "time_ns", "flow")


Tables = list[Mapping[str, pl.DataFrame]]


def through(worker: Worker, rows: list[pl.DataFrame]) -> Tables:
    return [out.tables for out in [*map(worker.advance, rows), worker.finish()]]


@cache
def alone() -> pl.DataFrame:
    """What one worker of all flows says."""
    rows, known = played()
    return verdicts(through(Worker(SETTINGS, known, ("fabric",)), batches(rows)))


Handing = list[tuple[Mapping[str, pl.DataFrame], Handed | None]]


def handed(
    number: int, partitions: int, given: tuple[pl.DataFrame, Topology] | None = None
) -> Handing:
    """What one of so many partitions stores, and what it hands on."""
    rows, known = given or played()
    worker = Worker(SETTINGS, known, ("fabric",))
    worker.hands_on = True
    made = []
    for part in batches(rows):
        own = part.filter(pl.col("conversation") % partitions == number)
        made.append(worker.advance(own) if own.height else None)
        reached = int(part["time_ns"].to_numpy().max()) - MS // 2
        made.append(worker.reach("fabric", reached))
    made += [worker.end("fabric"), worker.finish()]
    return [(out.tables, out.handed) for out in made if out is not None]


def met(meeting: Meeting, told: Sequence[Handing], seed: int) -> Tables:
    """What partitions and a meeting make, which hears them in random order."""
    chance, partitions = random.Random(seed), len(told)
    left = {number: list(each) for number, each in enumerate(told)}
    made: Tables = []
    while left:
        number = chance.choice(sorted(left))
        for _ in range(chance.randint(1, 4)):
            if left[number]:
                tables, given = left[number].pop(0)
                made.append(tables)
                if given is not None:
                    meeting.add(number, partitions, given)
        left = {each: rest for each, rest in left.items() if rest}
        if chance.random() < 0.7:
            made.append(meeting.close().tables)
    made.append(meeting.close().tables)
    assert all(reached == ALL_NS for reached in meeting.reached.values())
    return made


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("partitions", "seed"), [(2, 1), (8, 2)])
def test_verdicts_of_partitions_are_those_of_one_worker(partitions: int, seed: int) -> None:
    meeting = Meeting(SETTINGS, played()[1])
    made = met(meeting, [handed(number, partitions) for number in range(partitions)], seed)
    assert meeting.counters == {"too_late": 0, "revised": 0, "impatient": 0}
    assert_frame_equal(verdicts(made), alone(), check_exact=True)


def test_workers_that_judged_apart_would_say_something_else() -> None:
    rows, known = played()
    parts = [rows.filter(pl.col("conversation") % 8 == number) for number in range(8)]
    made = [through(Worker(SETTINGS, known, ("fabric",)), [part]) for part in parts]
    apart = pl.concat(map(verdicts, made))
    both = apart.join(alone(), on=["interval_ns", "time_ns", "flow"], suffix="_all")
    assert both.height == alone().height
    assert both.filter(pl.col("kind") != pl.col("kind_all")).height > both.height // 20


def test_an_interval_waits_until_every_partition_has_closed_it() -> None:
    meeting = Meeting(SETTINGS, played()[1])
    told = [[given for _, given in handed(number, 2) if given] for number in range(2)]
    for given in told[0]:
        meeting.add(0, 2, given)
    assert not meeting.close().tables
    assert meeting.judged_ns is None
    until = len(told[1]) // 2
    for given in told[1][:until]:
        meeting.add(1, 2, given)
    first, reached = verdicts([meeting.close().tables]), told[1][until - 1].closed_ns
    assert first.height
    assert meeting.judged_ns == reached
    assert (first["time_ns"] + first["interval_ns"]).to_numpy().max() <= reached


def test_of_too_many_rows_those_that_are_there_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(SETTINGS, played()[1])
    told = [[given for _, given in handed(number, 2) if given] for number in range(2)]
    monkeypatch.setattr("pipeline.meeting.MOST_WAITING", 10)
    for given in told[0]:
        meeting.add(0, 2, given)
    made = [meeting.close().tables]
    assert meeting.impatient == 1
    before = verdicts(made)
    assert 0 < before.height < alone().height
    for given in told[1]:
        meeting.add(1, 2, given)
    made.append(meeting.close().tables)
    assert meeting.counters["revised"]
    newest = verdicts(made).sort("revision").unique(
        ["interval_ns", "time_ns", "flow"], keep="last"
    )  # fmt: skip
    told_of = ("kind", "node", "port", "contributors")
    same = newest.join(alone(), on=["interval_ns", "time_ns", "flow"], suffix="_all")
    assert newest.height == same.height == alone().height
    for name in told_of:
        assert same.filter(pl.col(name).ne_missing(pl.col(f"{name}_all"))).is_empty()


def test_many_rows_that_have_ended_everywhere_make_nobody_impatient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meeting = Meeting(SETTINGS, played()[1])
    monkeypatch.setattr("pipeline.meeting.MOST_WAITING", 10)
    for number in range(2):
        for _, given in handed(number, 2):
            if given:
                meeting.add(number, 2, given)
    assert_frame_equal(verdicts([meeting.close().tables]), alone(), check_exact=True)
    assert meeting.impatient == 0
