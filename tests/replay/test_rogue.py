"""Rogue ports are named within 1,000 frames, and nobody is accused where all keep the rules."""

import polars as pl
import pytest

from collector import CollectorSettings, Decoder
from pipeline import PipelineSettings, Worker
from pipeline.health import TABLE
from replay import World, frames_of, points, scenario, simulate, topology
from replay.cast import cast
from replay.parade import FINDINGS, FRAMES, LEAF, SPINE, parade, parade_above, until
from replay.rogue import ROGUES, code
from replay.scenario_core import two_in_a_row
from replay.scenario_hosts import last_hop_elephant, microbursts
from replay.taps import ALL, Taps

MS = 1_000_000
TAGS = ("csig_compact", "csig_expanded")


def found(
    world: World,
    settings: CollectorSettings,
    device: str | None = None,
    taps: Taps = ALL,
    verdict: str = "yes",
) -> pl.DataFrame:
    """What is said, for sure or not, of devices, by as many frames through one as a rogue has."""
    run = simulate(world, settings)
    rows = Decoder(settings).decode(frames_of(run, settings, taps=taps), points(world), "fabric")
    if device is not None:
        rows = rows.filter(pl.col("time_ns") <= world.start_ns + until(run, device, FRAMES))
    worker = Worker(PipelineSettings(), topology(world), ("fabric",))
    made = [worker.advance(rows), worker.finish()]
    told = pl.concat([each.tables[TABLE] for each in made if TABLE in each.tables])
    return told.filter((pl.col("class") == "device") & (pl.col("verdict") == verdict))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "name"), [*enumerate(FINDINGS, start=1)])
def test_a_rogue_is_named_and_nobody_else(
    seed: int, name: str, settings: CollectorSettings
) -> None:
    said = found(parade(name, seed), settings, LEAF)
    devices = {each.partition(":")[0] for each in said["subject"]}
    assert (set(said["finding"]), devices) == ({FINDINGS[name]}, {LEAF})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("seed", "name"),
    [
        *enumerate(
            ("impossible_locator", "pass_through", "tag_insertion", "under_reporting"), start=1
        )
    ],
)
def test_a_rogue_spine_is_named_where_taps_stand_above_leaves(
    seed: int, name: str, settings: CollectorSettings
) -> None:
    said = found(parade_above(name, seed), settings, SPINE, Taps(where="both"))
    devices = {each.partition(":")[0] for each in said["subject"]}
    assert (set(said["finding"]), devices) == ({FINDINGS[name]}, {SPINE})


def test_a_rogue_spine_is_told_by_its_paths_where_they_do_not(settings: CollectorSettings) -> None:
    said = found(parade_above("tag_insertion", 1), settings, SPINE)
    assert set(said["kind"]) == {"path"}
    assert said["tells"].str.contains("taps on both sides of each device").all()


def test_whether_a_full_port_passes_tags_through_cannot_be_told_without_taps_above(
    settings: CollectorSettings,
) -> None:
    world = parade_above("pass_through", 2)
    assert found(world, settings, SPINE).is_empty()
    said = found(world, settings, SPINE, verdict="cannot_tell")
    assert said.select("finding", "subject").rows() == [("pass_through", SPINE)]
    assert "a tap at the port above" in said["tells"].item()


def test_every_class_has_its_finding() -> None:
    assert {"honest", *FINDINGS} == set(ROGUES)
    with pytest.raises(ValueError, match="no class nobody; there are honest"):
        code("nobody")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "world",
    [
        parade("honest", 3),
        parade_above("honest", 4),
        scenario.demo(4, 8 * MS),
        cast(last_hop_elephant(TAGS, 5 * MS), 5),
        cast(two_in_a_row(TAGS, 5 * MS), 6),
        cast(microbursts(("int", *TAGS), 5 * MS), 7),
    ],
    ids=["parade", "parade above", "demo", "elephant", "two in a row", "microbursts"],
)
def test_honest_fabrics_are_not_accused(world: World, settings: CollectorSettings) -> None:
    assert found(world, settings, taps=Taps(where="both")).is_empty()
