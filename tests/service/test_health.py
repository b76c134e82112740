"""What is wrong with the telemetry, asked of the API, the command and `analyze`."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from collector import CollectorSettings, write_pcapng
from pipeline import FINDINGS
from replay import frames_of, points, simulate, topology
from replay.parade import LEAF, parade
from service.coverage import NOTHING

ROUTE = "/api/v1/health/telemetry"
MS = 1_000_000


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
    assert told.returncode == 0, told.stderr
    answer = served.get(ROUTE, **whole(world)).json()
    assert json.loads(told.stdout)["findings"] == answer["findings"]
    shown = hopsight.here("health", "--store", served.dsn, *at).stdout
    assert "locator without signal" in shown
    assert "device leaf2" in shown
    refused = hopsight.here("health", "--store", served.dsn, "--window", "long")
    assert (refused.returncode, "--window" in refused.stderr) == (2, True)


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
