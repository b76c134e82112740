"""`doctor` names the stage that is broken, and what to do; it is content with what is well."""

import json
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from pipeline import Store, StoreLimits, open_or_ask
from service import stored_checks
from service.settings import Settings


def states(told: Any) -> dict[str, str]:
    """State of each stage."""
    return {check["stage"]: check["state"] for check in json.loads(told.stdout)}


def test_a_service_that_is_well_is_found_to_be(hopsight: Any, served: Any, tmp_path: Path) -> None:
    settings = tmp_path / "hopsight.toml"
    settings.write_text(f'[store]\ndsn = "{served.dsn}"\n')
    told = hopsight.run("--settings", str(settings), "doctor", "--json")
    assert told.returncode == 0, told.stderr
    found = states(told)
    for stage in ("settings", "disk", "service", "store", "data"):
        assert found[stage] == "ok", told.stdout
    assert found["decoder"] in {"ok", "warning"}
    assert {found[stage] for stage in ("ring", "topology", "bus")} == {"not asked"}
    shown = hopsight.here("--settings", str(settings), "doctor").stdout
    assert served.url in shown


def test_what_a_command_was_given_can_be_looked_at(hopsight: Any, served: Any) -> None:
    told = hopsight.here("doctor", "--store", served.dsn, "--json")
    assert states(told)["data"] == "ok", told.stdout
    bare = hopsight.here(
        "doctor", "--bus", "kafka://127.0.0.1", "--topology", "away.yaml", "--json"
    )
    assert "away.yaml: " in bare.stdout
    assert {states(bare)[stage] for stage in ("bus", "topology")} == {"broken"}, bare.stdout


def test_addresses_are_read_as_by_other_commands(hopsight: Any, served: Any) -> None:
    plain = served.dsn.removeprefix("chdb://")
    for told in (plain, served.dsn.replace("/store", "/%73tore")):
        found = states(hopsight.here("doctor", "--store", told, "--json"))
        assert {found[stage] for stage in ("disk", "service", "store", "data")} == {"ok"}, told
    for flag, stage, told in (
        ("--store", "store", "chdb://[x"),
        ("--store", "store", "chdb:rel/none"),
        ("--bus", "bus", "kafka://[::1"),
        ("--bus", "bus", "xyz"),
    ):
        found = hopsight.here("doctor", flag, told, "--json")
        assert found.returncode == 1, found.stderr
        assert states(found)[stage] == "broken", found.stdout


def test_each_broken_stage_is_named_with_what_to_do(hopsight: Any, tmp_path: Path) -> None:
    topology = tmp_path / "fabric.yaml"
    topology.write_text("devices: 7\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, and nobody listens
        settings = tmp_path / "hopsight.toml"
        settings.write_text(
            f'[pipeline]\ntopology = "{topology}"\n'
            f'[bus]\nurl = "kafka://127.0.0.1:{port}/observations"\n'
            f'[store]\ndsn = "chdb://{tmp_path}/none"\n'
        )
        told = hopsight.here("--settings", str(settings), "doctor", "--json")
    assert told.returncode == 1
    assert "broken: topology, bus; begin with the first" in told.stderr
    found = states(told)
    assert found["store"] == "not asked"
    advice = {check["stage"]: check["advice"] for check in json.loads(told.stdout)}
    assert advice["topology"] == f"`hopsight topology check {topology}` lists them by line"


def test_a_ring_that_others_could_change_is_broken_before_anything_is_captured(
    hopsight: Any, tmp_path: Path
) -> None:
    rings, settings = tmp_path / "rings", tmp_path / "hopsight.toml"
    settings.write_text(
        f'[collector]\nring_directory = "{rings}"\nring_mib = 8\n'
        f'[store]\ndsn = "chdb://{tmp_path}/none"\n'
    )
    well = hopsight.here("--settings", str(settings), "doctor", "--json")
    assert states(well)["ring"] == "ok", well.stdout
    assert not rings.exists()
    rings.mkdir()
    rings.chmod(0o777)
    told = hopsight.here("--settings", str(settings), "doctor", "--json")
    assert told.returncode == 1
    assert states(told)["ring"] == "broken"
    assert f"{rings} is one that other people can change" in told.stdout


def test_what_would_keep_a_service_from_starting_is_broken(hopsight: Any, tmp_path: Path) -> None:
    tokens, settings = tmp_path / "tokens", tmp_path / "hopsight.toml"
    tokens.write_text("")
    tokens.chmod(0o644)
    settings.write_text(
        f'[service]\nhost = "0.0.0.0"\ntokens_file = "{tokens}"\n'
        f'[store]\ndsn = "chdb://{tmp_path}/none"\n'
    )
    told = hopsight.here("--settings", str(settings), "doctor", "--json")
    assert states(told)["settings"] == "broken"
    assert "can be read by others" in told.stdout


def test_what_is_no_directory_holds_no_ring_no_spill_and_no_topology(
    hopsight: Any, tmp_path: Path
) -> None:
    file, empty, settings = tmp_path / "file", tmp_path / "empty", tmp_path / "hopsight.toml"
    file.write_text("")
    empty.mkdir()
    settings.write_text(
        f'[collector]\nring_directory = "{file}"\n[pipeline]\ntopology = "{empty}"\n'
        f'[store]\ndsn = "chdb://{tmp_path}/none"\n'
    )
    told = hopsight.here("--settings", str(settings), "doctor", "--json")
    found = {check["stage"]: check for check in json.loads(told.stdout)}
    assert found["ring"]["state"] == "broken"
    assert found["ring"]["seen"] == f"{file}: not a directory"
    assert found["topology"]["seen"] == f"{empty}: holds no file *.yaml or *.yml"
    settings.write_text(f'[bus]\nspill_directory = "{file}/spill"\n')
    for words in (("doctor", "--json"), ("settings", "--check")):
        told = hopsight.here("--settings", str(settings), *words)
        assert told.returncode != 0
        said = " ".join((told.stdout + told.stderr).split())
        assert f"bus.spill_directory: {file}: not a directory" in said


def test_a_store_that_a_worker_has_is_not_broken(hopsight: Any, tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/store"
    with Store(dsn) as store:
        store.migrate()
        settings = tmp_path / "hopsight.toml"
        settings.write_text(f'[store]\ndsn = "{dsn}"\n')
        told = hopsight.here("--settings", str(settings), "doctor", "--json")
    found = {check["stage"]: check for check in json.loads(told.stdout)}
    assert found["store"]["state"] == "not asked"
    assert "answers no questions" in found["store"]["seen"]


def test_settings_that_cannot_be_read_are_the_first_stage(hopsight: Any, tmp_path: Path) -> None:
    settings = tmp_path / "hopsight.toml"
    settings.write_text("[store]\nnosuch = 1\n")
    told = hopsight.here("--settings", str(settings), "doctor", "--json")
    assert told.returncode == 1
    assert states(told) == {"settings": "broken"}


@pytest.mark.parametrize(
    ("free", "state"), [(0, "broken"), (8 << 20, "broken"), (1 << 30, "warning"), (1 << 40, "ok")]
)
def test_a_disk_is_as_broken_as_it_is_full(
    free: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_checks.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    settings = Settings.model_validate({"store": {"dsn": f"chdb://{tmp_path}/none"}})
    found = {check.stage: check for check in stored_checks.stored(settings)}
    assert found["disk"].state == state
    assert ("hopsight up" in found["store"].advice) == (state != "broken")


def test_a_store_is_not_asked_through_a_service_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = SimpleNamespace(pid=7, url="http://127.0.0.1:1", socket=str(tmp_path / "db.sock"))
    monkeypatch.setattr(stored_checks, "read_owner", lambda _: owner)
    monkeypatch.setattr(stored_checks, "answered", lambda _: httpx.ReadTimeout("timed out"))
    settings = Settings.model_validate({"store": {"dsn": f"chdb://{tmp_path}"}})
    found = [(check.stage, check.state) for check in stored_checks.stored(settings)]
    assert found[1:] == [("service", "broken"), ("store", "not asked")]


def test_data_ahead_of_the_clock_is_warned_of(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_or_ask(served.dsn, StoreLimits()) as store:
        extent = store.query("extent").row(0, named=True)
        found = {check.stage: check for check in stored_checks.data(store, extent)}
        assert found["data"].state == "ok"
        assert "ago" in found["data"].seen
        [gone] = stored_checks.data(store, {"verdicts": 0})
        assert (gone.state, "verdicts were kept no longer" in gone.advice) == ("warning", True)
        monkeypatch.setattr(stored_checks.time, "time_ns", lambda: 1_600_000_000 * 10**9)
        found = {check.stage: check for check in stored_checks.data(store, extent)}
    assert found["data"].state == "warning"
    assert "ahead of the clock here" in found["data"].seen
    assert "clocks" in found["data"].advice
