"""What is wrong with the telemetry, asked of the API, the command and `analyze`."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from collector import Batch, CollectorSettings, write_pcapng
from collector.loss import Loss
from pipeline import FINDINGS, TABLES, never
from pipeline.capture_gaps import gap_rows
from replay import frames_of, points, simulate, topology
from replay.parade import LEAF, parade
from service.commands import health
from service.coverage import NOTHING
from service.health_text import wrong

ROUTE = "/api/v1/health/telemetry"
MS, S = 1_000_000, 10**9
START_NS = 1_760_000_000 * S


def whole(world: ModuleType) -> dict[str, int]:
    """The time of the stored world; others may have stored captures of later times."""
    return {"from": world.START_NS, "to": world.START_NS + world.INTERVALS * world.INTERVAL_NS}


def test_a_finding_is_told_as_known_last(served: Any, world: ModuleType) -> None:
    answer = served.get(ROUTE, **whole(world)).json()
    [found] = answer["findings"]
    assert (found["finding"], found["verdict"]) == ("locator_without_signal", "yes")
    assert found["subject"] == {"kind": "device", "name": "leaf2"}
    assert found["count"] == 5 * world.INTERVALS
    assert found["evidence"]["first"]["frame"] == 7
    assert found["from_ns"] == world.START_NS
    known = {each.name: each for each in FINDINGS}[found["finding"]]
    assert (found["meaning"], found["rule"], found["tells"]) == (
        known.meaning, known.rule, known.tells,
    )  # fmt: skip


def test_findings_are_chosen_by_time_class_and_verdict(served: Any, world: ModuleType) -> None:
    first = {"from": world.START_NS, "to": world.START_NS + world.INTERVAL_NS}
    assert [row["verdict"] for row in served.get(ROUTE, **first).json()["findings"]] == [
        "cannot_tell"
    ]
    assert served.get(ROUTE, verdict="yes", **first).json()["findings"] == []
    assert served.get(ROUTE, **{"class": "clock"}).json()["findings"] == []
    assert served.get(ROUTE, **{"class": "nothing"}).status_code == 422
    assert served.when_empty[ROUTE] == NOTHING | {"findings": [], "more": False}


def test_the_interval_is_widened_to_what_findings_cover(
    served: Any, hopsight: Any, world: ModuleType
) -> None:
    begun = world.START_NS + 3 * world.INTERVAL_NS
    told = {"from": begun + 1, "to": begun + world.INTERVAL_NS + 1}
    answer = served.get(ROUTE, **told).json()
    wide = {"from_ns": begun, "to_ns": begun + 2 * world.INTERVAL_NS}
    assert {name: answer["interval"][name] for name in wide} == wide
    assert {name: answer["findings"][0][name] for name in wide} == wide
    none = served.get(ROUTE, **told, **{"class": "clock"}).json()
    assert (none["interval"]["from_ns"], none["findings"]) == (told["from"], [])
    given = ("--at", str(told["to"]), "--window", "10ms", "--json")
    found = json.loads(hopsight.here("health", "--store", served.dsn, *given).stdout)
    assert (found["from_ns"], found["to_ns"]) == (wide["from_ns"], wide["to_ns"])


def test_the_command_says_the_same_as_the_api(
    served: Any, hopsight: Any, world: ModuleType
) -> None:
    at = ("--at", str(whole(world)["to"]))
    told = hopsight.here("health", "--store", served.dsn, *at, "--json")
    said = "wrong with the telemetry: locator without signal; begin with the first"
    assert (told.returncode, said in told.stderr) == (1, True), told.stderr
    answer = served.get(ROUTE, **whole(world)).json()
    bounds = {name: answer["interval"][name] for name in ("from_ns", "to_ns")}
    assert json.loads(told.stdout) == bounds | answer
    done = hopsight.here("health", "--store", served.dsn, *at)
    assert done.returncode == 1
    for shown in ("locator without signal", "device leaf2", "judged: "):
        assert shown in done.stdout
    unsure = ("--at", str(world.START_NS + world.INTERVAL_NS), "--window", "1ms")
    assert hopsight.here("health", "--store", served.dsn, *unsure).returncode == 0
    refused = hopsight.here("health", "--store", served.dsn, "--window", "long")
    assert (refused.returncode, "--window" in refused.stderr) == (2, True)


def test_of_a_time_in_which_nothing_was_judged_nothing_is_said_to_be_well(
    served: Any, hopsight: Any
) -> None:
    asked = ("health", "--store", served.dsn, "--at", "1990-01-01")
    done = hopsight.here(*asked)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no telemetry was judged in that time" in done.stderr
    done = hopsight.here(*asked, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["interval"]["covered"], told["findings"]) == (1, 0.0, [])


def test_gaps_are_told_of_frames_that_nobody_judged(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        told = health.look(store, None, 600 * S)
        assert told == NOTHING | {"from_ns": None, "to_ns": None, "findings": [], "more": False}
        assert health.nothing(told) == "the store holds nothing yet"
        columns = {"time_ns": START_NS + S, "flow": 1, "source": "mirror0", "frame": 1}
        schema = {name: TABLES["observations"].schema[name] for name in columns}
        store.insert("observations", pl.DataFrame([columns], schema=schema), "raw")
        told = health.look(store, None, 600 * S)
        assert (told["to_ns"], told["interval"]["covered"]) == (START_NS + S + 1, 0.0)
        assert health.nothing(told) == "no telemetry was judged in that time"
        lost = Loss(START_NS, START_NS + 2 * S)
        batch = Batch(pl.DataFrame(), "mirror0", START_NS, 1, 1, losses=(lost,))
        for table, rows in gap_rows(batch, never).items():
            store.insert(table, rows, table)
        told = health.look(store, None, 600 * S)
        assert [each["finding"] for each in told["findings"]] == ["not_captured"]
        assert (health.nothing(told), told["captured"]) == ("", pytest.approx(1 - 2 / 600))
        assert wrong(told["findings"]).startswith("wrong with the telemetry: not captured")


@pytest.fixture(scope="module")
def misled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A capture of a fabric with a leaf that puts tags on, and its topology."""
    told = CollectorSettings(int_dscp=23)
    world = parade("tag_insertion", duration_ns=2 * MS)
    folder = tmp_path_factory.mktemp("misled")
    write_pcapng(folder / "misled.pcapng", points(world), [frames_of(simulate(world, told), told)])
    (folder / "fabric.yaml").write_text(topology(world).to_yaml())
    return folder / "misled.pcapng", folder / "fabric.yaml"


def test_analyze_tells_of_devices_that_mislead(hopsight: Any, misled: tuple[Path, Path]) -> None:
    capture, fabric = misled
    given = ("analyze", str(capture), "--topology", str(fabric))
    report = json.loads(hopsight.here(*given, "--json").stdout)
    accused = [row for row in report["telemetry_health"] if row["class"] == "device"]
    assert [(row["finding"], row["subject"]["name"]) for row in accused] == [("tag_inserted", LEAF)]
    first = accused[0]["evidence"]["first"]
    assert first["source"] == "misled.pcapng"
    assert "tag inserted" in hopsight.here(*given).stdout
