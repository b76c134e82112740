"""A file that is stored is stored once, however often it is read and in whatever way."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline import Output, Sink, Store
from service.failure import ExitCode, Failure
from service.keeping import store_sink
from service.readings import File, Readings, named
from tests.service.test_collect import followed, written
from tests.service.test_stages import free

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
TOPOLOGY = Path(__file__).resolve().parents[2] / "docs" / "examples" / "topology.yaml"
AGAIN = "is stored already, read in another way"


def frames_of(dsn: str) -> tuple[int, int]:
    """Frames that are stored, and those that intervals count."""
    asked = "SELECT (SELECT count() FROM observations), (SELECT sum(frames) FROM flow_intervals)"
    with Store(dsn) as store, store.alone() as connection:
        return tuple(connection.rows(asked)[0])


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    """A store that nobody has made."""
    return f"chdb://{tmp_path}/store"


def test_other_settings_and_commands_do_not_store_a_file_again(hopsight: Any, dsn: str) -> None:
    def ran(*words: str) -> tuple[int, str]:
        told = hopsight.here(*words, "--store", dsn)
        return told.returncode, told.stderr

    assert ran("analyze", str(CAPTURE)) == (0, "")
    count = frames_of(dsn)
    assert count[0] == count[1] > 0
    assert ran("analyze", str(CAPTURE)) == (0, ""), "what is unchanged is repeated in silence"
    for words, told in (
        (("analyze", "--base-rtt", "33us"), "(pipeline.base_rtt_us: not told then, 33.0 now)"),
        (("analyze", "--set", "dctcp.g=0.5"), "(dctcp.g: not told then, 0.5 now)"),
        (("analyze", "--point", "tap"), "(point: not told then, tap now)"),
        (("analyze", "--topology", str(TOPOLOGY)), "(topology: not told then, "),
        (("collect", "--set", "collector.int_dscp=3"),
         "(collector.int_dscp: not told then, 3 now; rows: not told then, raw now)"),
        (("up", "--port", "0", "--set", "pipeline.sampling=5"),
         "(pipeline.sampling: not told then, 5.0 now)"),
    ):  # fmt: skip
        code, said = ran(words[0], str(CAPTURE), *words[1:])
        assert code == ExitCode.USAGE
        assert f"{CAPTURE.name} {AGAIN} {told}" in said
    assert frames_of(dsn) == count
    assert ran("analyze", str(CAPTURE)) == (0, ""), "what was refused has changed nothing"


def test_what_is_read_with_other_files_is_another_reading(
    hopsight: Any, dsn: str, tmp_path: Path
) -> None:
    ring = tmp_path / "ring"
    first = written(ring / "a.pcapng", 40)
    assert hopsight.here("analyze", str(ring), "--store", dsn).returncode == 0
    count = frames_of(dsn)
    written(ring / "b.pcapng", 40, later_us=1_000_000)
    grown = hopsight.here("analyze", str(ring), "--store", dsn)
    assert grown.returncode == ExitCode.USAGE
    assert f"ring/a.pcapng {AGAIN} (files: ring/a.pcapng then, ring/a.pcapng, " in grown.stderr
    assert frames_of(dsn) == count
    first.unlink()
    assert hopsight.here("analyze", str(ring), "--store", dsn).returncode == 0
    assert frames_of(dsn) == (2 * count[0], 2 * count[1]), "what is new is read"


def test_a_file_that_has_grown_is_told_by_its_size(hopsight: Any, dsn: str, tmp_path: Path) -> None:
    capture = written(tmp_path / "one.pcapng", 40)
    size = capture.stat().st_size
    assert hopsight.here("collect", str(capture), "--store", dsn).returncode == 0
    more = written(capture, 60).stat().st_size
    said = hopsight.here("collect", str(capture), "--store", dsn).stderr
    assert f"one.pcapng {AGAIN} (bytes: {size} then, {more} now)" in said
    told = followed(hopsight, capture, dsn, free(), 20, signal.SIGTERM)
    assert told == 20, "who follows it reads what is new"


def test_captures_that_share_a_second_are_summed(hopsight: Any, dsn: str, tmp_path: Path) -> None:
    """What is left of each when it ends are the same rows of that second."""
    sums = []
    for number in range(3):
        part = written(tmp_path / f"part{number}.pcapng", 40, later_us=200_000 * number)
        assert hopsight.here("analyze", str(part), "--store", dsn).returncode == 0
        with Store(dsn) as store, store.alone() as connection:
            [(frames,)] = connection.rows("SELECT sum(data_frames) FROM path_seconds")
            sums.append(frames)
    assert sums == [sums[0], 2 * sums[0], 3 * sums[0]] != [0, 0, 0]


def forgotten(hopsight: Any, dsn: str, folder: Path, unfinished: str = "") -> str:
    """The same store without its tokens, as a server or an older hopsight gives a backup."""
    if unfinished:
        with Store(dsn) as store, store.alone() as connection:
            where = f"WHERE source = '{unfinished}' SETTINGS mutations_sync = 2"
            connection.command(f"ALTER TABLE readings UPDATE frame = 0 {where}")
    assert hopsight.here("backup", str(folder), "--store", dsn).returncode == 0
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "tokens": None}))
    new = f"{dsn}-{folder.name}"
    told = hopsight.here("restore", str(folder), "--store", new)
    assert told.returncode == 0
    said = f"{unfinished}: which of its rows are stored is not known here"
    assert (said in told.stderr) == bool(unfinished)
    return new


@pytest.mark.parametrize("command", ["analyze", "collect"])
def test_what_was_stored_whole_is_known_without_tokens(
    hopsight: Any, dsn: str, tmp_path: Path, command: str
) -> None:
    ring = tmp_path / "ring"
    written(ring / "a.pcapng", 40)
    written(ring / "b.pcapng", 30, later_us=1_000_000)
    words = (command, str(ring), "--json", "--store")
    first = hopsight.here(*words, dsn)
    count = frames_of(dsn)
    assert first.returncode == 0
    assert count[0] > 0
    new = forgotten(hopsight, dsn, tmp_path / "kept")
    again = hopsight.here(*words, new)
    assert (again.returncode, again.stdout) == (0, first.stdout), "all of it is told again"
    assert frames_of(new) == count
    written(ring / "c.pcapng", 20, later_us=2_000_000)
    (ring / "a.pcapng").unlink()
    (ring / "b.pcapng").unlink()
    assert hopsight.here(*words, new).returncode == 0
    assert frames_of(new)[0] > count[0], "what is new is stored"


def test_what_is_not_known_to_be_whole_is_refused_without_tokens(
    hopsight: Any, dsn: str, tmp_path: Path
) -> None:
    capture = written(tmp_path / "one.pcapng", 40)
    words = ("collect", str(capture), "--store")
    assert hopsight.here(*words, dsn).returncode == 0
    new = forgotten(hopsight, dsn, tmp_path / "kept", unfinished="one.pcapng")
    told = hopsight.here(*words, new)
    assert told.returncode == ExitCode.USAGE
    assert "(restored: not known to be stored whole then, not told now)" in told.stderr
    assert frames_of(new)[0] == 40


def test_the_rest_of_what_was_broken_off_is_stored_once(dsn: str, tmp_path: Path) -> None:
    capture, told = written(tmp_path / "one.pcapng", 40), {"rows": "raw"}
    rows = pl.DataFrame(
        {"time_ns": [10**18 + at * 1000 for at in range(40)], "source": ["one.pcapng"] * 40,
         "frame": range(1, 41), "flow": [7] * 40}
    )  # fmt: skip

    def kept(readings: Readings, counts: Counter[str], first: int = 0, count: int = 20) -> None:
        readings.begin(["one.pcapng"])
        keep: Sink = readings.keeping(store_sink(readings.store, counts), counts)
        keep(Output({"observations": rows.slice(first, count)}), f"one:{first}")

    with Store(dsn) as store:
        store.migrate()

        def ran(*, ends: bool, alone: bool = True) -> tuple[bool, int, int]:
            readings, counts = Readings(store, [capture], told, alone=alone), Counter[str]()
            kept(readings, counts)
            if ends:
                kept(readings, counts, 20)
                readings.end()
            with store.alone() as connection:
                [(there,)] = connection.rows("SELECT count() FROM observations")
            return readings.whole, counts["rows_observations"], there

        assert ran(ends=False) == (False, 20, 20), "it was broken off"
        assert ran(ends=True, alone=False) == (False, 40, 40), "beside it something goes on"
        assert ran(ends=True) == (False, 40, 40)
        assert ran(ends=True) == (True, 40, 40)
        with store.alone() as connection:
            connection.command("TRUNCATE TABLE observations")
        assert ran(ends=True) == (True, 40, 0), "nothing is sent"
        assert ran(ends=True, alone=False)[0] is False, "what goes on is to be stored"
        readings = Readings(store, [capture], told)
        late = rows.with_columns(source=pl.lit("two.pcapng"))
        with pytest.raises(Failure, match=r"two\.pcapng came meanwhile and is not stored"):
            readings.keeping(lambda *_: None)(Output({"observations": late}), "two")


def test_many_files_are_told_by_what_stands_for_them() -> None:
    files = [File(f"{number}.pcap", number, 100) for number in range(9)]
    assert named(files[:2]) == "0.pcap, 1.pcap"
    told = named(files)
    assert told.startswith("9 files (")
    assert len(told) < 30
    assert told != named([*files[:8], File("9.pcap", 8, 100)])
