"""`hopsight topology`, and topologies that change while something runs."""

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import polars as pl
import pytest
import typer
from asked import opened
from polars.testing import assert_frame_equal

from pipeline import Store, Topology, TopologyError, Versions, Worker
from service.app import create_app
from service.commands import topology as command
from service.commands import topology_import as imports
from service.failure import Failure
from service.routes.internal import unknown
from service.run import Job, collector_of, renewing
from service.settings import Settings, load
from service.topology_source import (
    Refreshed,
    TopologySource,
    read_topology,
    read_versions,
    store_topology,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "topology.yaml"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the topology's file; each time it looks newer than before."""
    times = iter(range(10**9, 10**9 + 100))
    place = tmp_path / "fabric.yaml"

    def written(text: str) -> Path:
        place.write_text(text)
        now = next(times)
        os.utime(place, (now, now))
        return place

    return written


def version(name: str, since_ns: int = 0) -> str:
    return Topology(name, since_ns, 0, ()).to_yaml()


def test_check_tells_by_line_and_ends_with_a_status(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    command.check(EXAMPLE, json=False)
    assert "0 inconsistent, 1 unknown" in capsys.readouterr().out
    text = EXAMPLE.read_text().replace("peer: web1}", 'peer: "web1:eth0"}')
    line = next(row for row, each in enumerate(text.splitlines(), 1) if "web1:eth0" in each)
    with pytest.raises(typer.Exit) as ended:
        command.check(write(text), json=True)
    assert ended.value.exit_code == 1
    told = json.loads(capsys.readouterr().out)
    wrong = [each for each in told["findings"] if each["level"] == "inconsistent"]
    assert told["inconsistent"] == len(wrong) == 2
    assert wrong[0]["line"] == line
    assert wrong[0]["sentence"] == "there is no device web1"


@pytest.mark.parametrize("text", ["", "null", "- 1"])
def test_a_file_that_is_no_mapping_is_told_in_words(
    write: Write, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    with pytest.raises(typer.Exit):
        command.check(write(text), json=True)
    [told] = json.loads(capsys.readouterr().out)["findings"]
    assert (told["line"], told["sentence"]) == (
        1, "a topology is a mapping with the keys version, devices and hosts"
    )  # fmt: skip


def test_of_too_many_findings_mistakes_are_shown_first(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    ports = "".join(f"      e{n}: {{port: {n}}}\n" for n in range(300))
    text = f"version: v\ndevices:\n  leaf1:\n    node: 1\n    interfaces:\n{ports}"
    with pytest.raises(typer.Exit):
        command.check(write(f"{text}hosts:\n  h: 7\n"), json=False)
    shown = capsys.readouterr().out
    [mistake] = [line for line in shown.splitlines() if " inconsistent " in line]
    assert mistake.split()[-5:] == ["hosts.h", "must", "be", "a", "mapping"]
    assert shown.endswith(" more; --json shows all\n")
    assert shown.count(".yaml") == command.MOST_FINDINGS


def test_show_prints_the_version_of_a_time(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    command.show(EXAMPLE, at=None, json=True)
    told = json.loads(capsys.readouterr().out)
    assert [device["name"] for device in told["devices"]] == ["leaf1", "leaf2", "spine1"]
    assert told["interfaces"][0]["capacity_bps"] == 25 * 10**9
    command.show(EXAMPLE, at=None, json=False)
    shown = capsys.readouterr().out
    assert "c66 e12930" in shown
    assert "10.0.1.1/32, fd00:1::/64" in shown
    place = write("versions: [{version: a}, {version: b, valid_from: 2026-01-31}]")
    for at, wanted in (("2026-01-30", "a"), ("2026-02-01", "b")):
        command.show(place, at=at, json=True)
        assert json.loads(capsys.readouterr().out)["version"] == wanted
    with pytest.raises(Failure, match="--at"):
        command.show(place, at="soon", json=True)
    with pytest.raises(Failure, match="no version is in force then"):
        command.show(EXAMPLE, at="2026-01-31T11:00:00Z", json=True)


def test_a_folder_holds_a_version_a_file(tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(version("new", 20))
    (tmp_path / "old.yml").write_text(version("old", 10))
    (tmp_path / "notes.txt").write_text("not a topology")
    held = read_versions(tmp_path)
    assert [topology.version for topology in held.topologies] == ["old", "new"]
    (tmp_path / "same.yaml").write_text(version("same", 20))
    with pytest.raises(TopologyError, match=r"same\.yaml: a version of new\.yaml begins"):
        read_versions(tmp_path)
    (tmp_path / "same.yaml").write_text("devices: 5")
    with pytest.raises(TopologyError, match=r"same\.yaml: line 1: topology\.devices"):
        read_versions(tmp_path)


@pytest.mark.parametrize(
    ("made", "said"),
    [(lambda path: path.mkdir(), "holds no file"), (lambda _: None, "No such file"),
     (os.mkfifo, "is no file and no folder"),
     (lambda path: path.write_bytes(b"\xff"), "not UTF-8")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_a_sentence(
    made: Callable[[Path], Any], said: str, tmp_path: Path
) -> None:
    made(tmp_path / "x")
    with pytest.raises(Failure, match=rf"--topology .*x: {said}"):
        read_topology(tmp_path / "x")


def test_a_changed_file_is_taken_and_a_wrong_one_refused_once(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    source = TopologySource(write(version("a")), told.append)
    assert not source.refresh()
    write(version("b"))
    assert source.refresh()
    assert not source.refresh()
    with caplog.at_level(logging.WARNING):
        write("devices: 5")
        assert not source.refresh()
        assert not source.refresh()
    [said] = [record.getMessage() for record in caplog.records]
    assert "refused: line 1: topology.devices: must be a mapping; the one before holds" in said
    assert source.versions.newest == Topology("b", 0, 0, ())
    write(version("c")).unlink()
    assert not source.refresh(), "a file that is gone leaves what was held"
    write(version("d"))
    assert source.refresh()
    assert told == ["taken", "refused", "refused", "taken"]


def test_a_read_that_takes_long_holds_up_nobody_else(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount that does not answer, say: whoever asks meanwhile is told what is held."""
    source = TopologySource(write(version("a")))
    reading, room, answered = threading.Event(), threading.Event(), []

    async def answer(*_: object) -> None:
        answered.append(True)

    def refresh(**_: object) -> bool:
        reading.set()
        return not room.wait(20)

    async def run() -> None:
        looked: Any = Refreshed(answer, source=source, renewed=lambda _: None)
        slow = asyncio.create_task(looked({"type": "http"}, None, None))
        assert await asyncio.to_thread(reading.wait, 20)
        looked._look_at_s = 0.0
        await asyncio.wait_for(looked({"type": "http"}, None, None), 20)
        assert len(answered) == 1
        room.set()
        await slow
        assert len(answered) == 2

    monkeypatch.setattr(source, "refresh", refresh)
    asyncio.run(run())


class Kept:
    """A store that remembers what was inserted."""

    revision = None

    def __init__(self) -> None:
        self.rows: list[tuple[str, pl.DataFrame]] = []

    def insert(self, table: str, frame: pl.DataFrame, token: str) -> int:
        assert token
        self.rows.append((table, frame))
        return frame.height

    def query(self, name: str) -> pl.DataFrame:
        assert name == "topology_told"
        told = [frame["told_ns"] for _, frame in self.rows]
        return pl.DataFrame({"told_ns": [pl.concat(told).max() if told else 0]})


def test_a_service_takes_a_changed_topology_before_it_answers(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.topology_source.LOOKED_S", 0.0)
    text = EXAMPLE.read_text()
    store, source = Kept(), TopologySource(write(text))
    app = create_app(Settings(), cast("Store", store), source)

    def asked(path: str) -> str:
        async def ask() -> str:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
                return (await one.get(path)).raise_for_status().text

        return asyncio.run(ask())

    asked("/healthz")
    assert store.rows == []
    write(text.replace("spine1", "core1"))
    asked("/healthz")
    kept = dict(store.rows)
    rows = kept.pop("hops")
    assert set(kept) == {"hosts"}
    assert set(rows["device"]) == {"leaf1", "leaf2", "core1"}
    assert set(rows["topology"]) == {"west-2026-01"}
    write("- no topology")
    counted = asked("/metrics")
    assert 'hopsight_topology_reads_total{outcome="taken"} 1.0' in counted
    assert 'hopsight_topology_reads_total{outcome="refused"} 1.0' in counted
    assert len(store.rows) == 2, "what was refused is not stored"


def test_a_service_reads_again_when_it_is_asked_to(write: Write) -> None:
    """As SIGHUP does: also where neither time nor size of the file have changed."""
    store, source = Kept(), TopologySource(write(version("a")))
    app = create_app(Settings(), cast("Store", store), source)
    assert not source.refresh()
    app.state.reload()
    assert [table for table, _ in store.rows] == ["hops"]
    assert 'hopsight_topology_reads_total{outcome="taken"} 1.0' in app.state.metrics.text().decode()
    create_app(Settings(), cast("Store", store)).state.reload()
    assert len(store.rows) == 1


def test_a_topology_that_is_told_again_holds_again(tmp_path: Path, write: Write) -> None:
    """Also where the one between had a name, a port, a host or a version more."""
    text = EXAMPLE.read_text()
    later = text.replace("west-2026-01", "west-2026-02").replace("spine1", "core1")
    [first] = read_versions(write(text)).topologies
    [second] = read_versions(write(later)).topologies
    second = replace(second, valid_from_ns=first.valid_from_ns + 1)
    with opened(tmp_path) as store:

        def told() -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
            frames = [store.query(name, at_ns=2**62) for name in ("hops", "te_hosts")]
            return *frames, frames[0]["topology"].unique().to_list()

        store_topology(store, first)
        before = told()
        store_topology(store, Versions.of([first, second]))
        assert told()[2] == ["west-2026-02"]
        store_topology(store, replace(second, valid_from_ns=first.valid_from_ns))
        assert "core1" in told()[0]["device"]
        store_topology(store, first)
        after = told()
        assert_frame_equal(before[0], after[0])
        assert_frame_equal(before[1], after[1])
        assert after[2] == ["west-2026-01"]


def test_who_tells_beside_others_leaves_what_begins_at_other_times(
    tmp_path: Path, write: Write
) -> None:
    """An analysis of what was captured before the last change takes nothing of that away."""
    text = EXAMPLE.read_text()
    [first] = read_versions(write(text)).topologies
    [second] = read_versions(write(text.replace("spine1", "core1").replace("h1", "h9"))).topologies
    second = replace(second, valid_from_ns=first.valid_from_ns + 1, version="later")
    with opened(tmp_path) as store:
        at = {"then": first.valid_from_ns, "now": 2**62}

        def told(when: str) -> list[pl.DataFrame]:
            return [store.query(name, at_ns=at[when]) for name in ("hops", "te_hosts")]

        store_topology(store, first, beside=True)
        then = told("then")
        store_topology(store, Versions.of([first, second]))
        now = told("now")
        store_topology(store, first, beside=True)
        for when, before in (("then", then), ("now", now)):
            for frame, expected in zip(told(when), before, strict=True):
                assert_frame_equal(frame, expected)
        store_topology(store, replace(first, version="mended"), beside=True)
        assert set(told("then")[0]["topology"]) == {"mended"}
        assert_frame_equal(told("now")[0], now[0])


def test_what_is_told_last_holds_whoever_has_the_clock_that_is_ahead(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = EXAMPLE.read_text()
    [first] = read_versions(write(text)).topologies
    [second] = read_versions(write(text.replace("spine1", "core1"))).topologies
    with opened(tmp_path) as store:
        for topology, now_ns in ((first, 2_000), (second, 1_000)):
            monkeypatch.setattr("service.topology_source.time.time_ns", lambda at=now_ns: at)
            store_topology(store, topology)
        for _ in range(2):  # also when the engine has put the rows of both together
            told = store.query("hops", at_ns=2**62)["device"]
            assert "core1" in told
            assert "spine1" not in told
            with store.alone() as connection:
                connection.command("OPTIMIZE TABLE hops FINAL")


def test_ids_that_the_topology_lacks_are_counted_as_rows_come_in(write: Write) -> None:
    source = TopologySource(write(EXAMPLE.read_text()))
    since = source.versions.topologies[0].valid_from_ns
    rows = pl.DataFrame(
        {"time_ns": [since, since, since, since - 10], "interval_ns": 5, "flow": 1,
         "node": [1, 1, 77, 77], "port": [1, 9, 1, 1], "samples": [3, 5, 7, 11]},
        schema_overrides={"node": pl.UInt32, "port": pl.UInt32},
    )  # fmt: skip
    assert unknown(rows, source) == 5 + 7, "before the first version nothing can be lacking"
    assert unknown(rows, None) == 0


def test_a_worker_that_runs_takes_a_changed_topology(write: Write) -> None:
    settings, source = Settings(), TopologySource(write(version("a")))
    stored: list[Any] = []
    job = Job((), settings.collector, settings.pipeline, source, renewed=stored.append)
    worker = Worker(settings.pipeline, source.versions)
    between = renewing(job, worker)
    between()
    assert worker.versions.topologies[0].version == "a"
    write(version("b"))
    between()
    assert worker.versions.topologies[0].version == "b"
    assert [versions.newest.version for versions in stored] == ["b"]


def test_the_collector_decodes_as_the_topology_tells_where_settings_do_not() -> None:
    source = TopologySource(EXAMPLE)
    told = collector_of(load(), source)
    assert told.csig_buckets[0][1] == 1e9
    assert told.csig_lm_fields["compact"][0] == (("stage", 2), ("port", 5))
    own = load({"collector": {"csig_buckets": {0: (0, 7)}}})
    kept = collector_of(own, source)
    assert kept.csig_buckets == {0: (0, 7)}
    assert kept.csig_bounded == (1,)
    assert collector_of(own, None) is own.collector
    bare = replace(source.versions.topologies[0], csig=None)
    source.versions = type(source.versions)((bare,))
    assert collector_of(own, source) is own.collector


LAB = """
topology:
  nodes: {leaf1: {kind: srl}, spine1: {kind: srl}}
  links: [{endpoints: ["leaf1:e1", "spine1:e1"]}]
"""


def test_an_import_writes_the_file_and_says_what_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab, out = tmp_path / "x.clab.yml", tmp_path / "out.yaml"
    lab.write_text(LAB)
    imports.containerlab_file(lab, out, json=False)
    said = capsys.readouterr()
    assert said.out == ""
    assert "hopsight: leaf1: capacities of its ports are unknown" in said.err.splitlines()
    assert [device.name for device in read_versions(out).topologies[0].devices] == [
        "leaf1", "spine1",
    ]  # fmt: skip
    imports.containerlab_file(lab, None, json=False)
    assert capsys.readouterr().out == out.read_text()
    with pytest.raises(Failure, match="cannot write"):
        imports.containerlab_file(lab, tmp_path / "no" / "out.yaml", json=False)


def test_an_import_says_to_a_program_what_it_made(hopsight: Any, tmp_path: Path) -> None:
    lab, out, again = (tmp_path / name for name in ("x.clab.yml", "out.yaml", "again.yaml"))
    lab.write_text(LAB)
    asked = ("topology", "import", "containerlab", str(lab), "--json")
    done = hopsight.here(*asked, "-o", str(out))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["path"], told["octets"]) == (str(out), out.stat().st_size)
    assert (told["devices"], told["ports"], told["hosts"]) == (2, 2, 0)
    assert [f"hopsight: {each}" for each in told["warnings"]] == done.stderr.splitlines()
    printed = json.loads(hopsight.here(*asked).stdout)
    again.write_text(json.dumps(printed.pop("topology")))
    assert printed == told | {"path": None}
    made = [read_versions(path).topologies[0] for path in (out, again)]
    assert made[0].frame.equals(made[1].frame)


def test_what_cannot_be_imported_is_one_sentence(tmp_path: Path) -> None:
    wrong = tmp_path / "x.json"
    wrong.write_text("{")
    with pytest.raises(Failure, match=r"x\.json: line 1: not JSON"):
        imports.sonic_files([wrong], None, json=False)
    wrong.write_text("{}")
    with pytest.raises(Failure, match="no API export of NetBox"):
        imports.netbox_files([wrong], None, json=False)
    with pytest.raises(Failure, match=r"x\.json: no containerlab topology: it has no nodes"):
        imports.containerlab_file(wrong, None, json=False)
    with pytest.raises(Failure, match=r"gone\.json: No such file"):
        imports.netbox_files([tmp_path / "gone.json"], None, json=True)
