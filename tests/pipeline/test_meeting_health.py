"""Findings about telemetry that partitions make together: those of one worker of all flows."""

from collections.abc import Iterable, Mapping
from functools import cache

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder
from pipeline import Meeting, Topology, Worker
from pipeline.tables import TABLES
from replay import frames_of, points, simulate, topology
from replay.parade import FINDINGS, LEAF, parade
from tests.pipeline.test_meeting import SETTINGS, batches, handed, met, through

PARTITIONS = 4
KEY = ["time_ns", "finding", "kind", "subject"]
COMPARED = ("pass_through", "under_reporting")
"""Classes that are told by comparing flows."""


@cache
def rogue(name: str) -> tuple[pl.DataFrame, Topology]:
    """Traffic through a leaf that breaks a rule."""
    settings, world = CollectorSettings(int_dscp=23), parade(name, 1 + list(FINDINGS).index(name))
    run = simulate(world, settings)
    rows = Decoder(settings).decode(frames_of(run, settings), points(world), "fabric")
    return rows, topology(world)


def findings(made: Iterable[Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    told = [tables["telemetry_health"] for tables in made if "telemetry_health" in tables]
    return pl.concat([TABLES["telemetry_health"].blank, *told]).sort(KEY)


def alone(name: str) -> pl.DataFrame:
    rows, known = rogue(name)
    return findings(through(Worker(SETTINGS, known, ("fabric",)), batches(rows)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("seed", "name"), [*enumerate(FINDINGS)])
def test_findings_of_partitions_are_those_of_one_worker(seed: int, name: str) -> None:
    given = rogue(name)
    told = [handed(number, PARTITIONS, given) for number in range(PARTITIONS)]
    assert all("telemetry_health" not in tables for each in told for tables, _ in each)
    made = met(Meeting(SETTINGS, given[1]), told, seed)
    found, expected = findings(made), alone(name)
    named = expected.filter(finding=FINDINGS[name], verdict="yes")
    assert named.filter(pl.col("subject").str.starts_with(LEAF)).height
    assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", COMPARED)
def test_partitions_that_judged_apart_would_say_something_else(name: str) -> None:
    rows, known = rogue(name)
    parts = [rows.filter(pl.col("conversation") % PARTITIONS == n) for n in range(PARTITIONS)]
    made = [through(Worker(SETTINGS, known, ("fabric",)), [part]) for part in parts]
    apart, whole = pl.concat(map(findings, made)), alone(name)
    same = whole.join(apart, on=[*KEY, "verdict", "count"], how="semi")
    assert same.height < whole.height
