"""A store's life on disk: made, completed, reopened. One process opens one path at a time."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from pipeline.store import ROWS_PER_INSERT, Store, slices
from pipeline.store_error import StoreBusy, StoreError
from pipeline.store_limits import StoreLimits
from pipeline.tables import SCHEMA_VERSION
from pipeline.tables.ddl import DEDUPLICATION_WINDOW, MOST_AT_ONCE


def rows(store: Store, statement: str, **parameters: str) -> list[tuple[object, ...]]:
    return store._writer.rows(statement, **parameters)


def hop_rows(number: int, time_ns: int = 0) -> pl.DataFrame:
    times = pl.int_range(time_ns, time_ns + number, eager=True)
    return pl.DataFrame({"time_ns": times, "samples": [10] * number})


def test_migrate_may_be_repeated_and_adds_what_is_missing(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store._writer.command("ALTER TABLE flows DROP COLUMN dscp")
        store._writer.command(
            "ALTER TABLE hops MODIFY SETTING non_replicated_deduplication_window = 7"
        )
        store.migrate()
        store.migrate()
        assert ("dscp",) in rows(store, "SELECT name FROM system.columns WHERE table = 'flows'")
        [(created,)] = rows(
            store, "SELECT create_table_query FROM system.tables WHERE name = 'hops'"
        )
        assert f"window = {DEDUPLICATION_WINDOW}" in str(created)
        assert rows(store, "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]


def test_a_merge_of_many_columns_takes_a_few_parts(tmp_path: Path) -> None:
    # What a merge holds in memory grows with its parts, and with what lies in the store.
    merged = (
        "SELECT max_block_number - min_block_number + 1 FROM system.parts"
        " WHERE table = 'observations' AND level = 1"
    )
    row = "INSERT INTO observations (time_ns) SELECT {at:UInt64}"
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store._writer.command("SYSTEM STOP MERGES observations")
        for at in range(2 * MOST_AT_ONCE):
            store._writer.command(row, at=at)
        store._writer.command("SYSTEM START MERGES observations")
        until = time.monotonic() + 30
        while not (parts := rows(store, merged)) and time.monotonic() < until:
            time.sleep(0.05)
        assert parts
        assert all(0 < int(str(number)) <= MOST_AT_ONCE for (number,) in parts)


def test_retention_counts_from_storing_and_follows_the_settings(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'db'}"
    created = "SELECT create_table_query FROM system.tables WHERE name = {table:String}"
    with Store(dsn, StoreLimits(retention_days={"verdicts": 5})) as store:
        store.migrate()
        for table in ("verdicts", "flow_told"):  # what is told of a verdict goes with it
            [(text,)] = rows(store, created, table=table)
            assert "TTL stored_at + toIntervalDay(5)" in str(text)
        # A capture of 1970 is as fresh as the moment in which it was stored.
        store.insert("hop_intervals", hop_rows(3), "old")
        store._writer.command("OPTIMIZE TABLE hop_intervals FINAL")
        assert rows(store, "SELECT count() FROM hop_intervals") == [(3,)]
    with Store(dsn, StoreLimits(retention_days={"verdicts": 0, "hops": 9})) as store:
        store.migrate()
        [(text,)] = rows(store, created, table="verdicts")
        assert "TTL" not in str(text)
        [(text,)] = rows(store, created, table="hops")
        assert "toIntervalDay(9)" in str(text)


def test_rows_past_their_retention_are_dropped(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store._writer.command(
            "INSERT INTO verdicts (time_ns, flow, stored_at) SELECT 1, 1, now() - toIntervalDay(91)"
        )
        store._writer.command("OPTIMIZE TABLE verdicts FINAL")
        assert rows(store, "SELECT count() FROM verdicts") == [(0,)]


def test_a_newer_schema_and_a_foreign_type_are_refused(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store._writer.command("ALTER TABLE hops MODIFY COLUMN stage String")
        with pytest.raises(StoreError, match=r"hops\.stage as String and not LowCardinality"):
            store.migrate()
        store._writer.command("INSERT INTO schema_version (version) SELECT 99")
        with pytest.raises(
            StoreError, match=f"has schema 99 and this hopsight knows {SCHEMA_VERSION}"
        ):
            store.migrate()


def test_a_token_counts_once_even_after_reopening(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'db'}"
    frame = hop_rows(5)
    with Store(dsn) as store:
        store.migrate()
        assert store.insert("hop_intervals", frame, "capture/0/4") == 5
        store.insert("hop_intervals", frame, "capture/0/4")
        summed = "SELECT count(), sum(samples) FROM hop_intervals"
        assert rows(store, summed) == [(5, 50)]
    with Store(dsn) as store:
        store.migrate()
        store.insert("hop_intervals", frame, "capture/0/4")
        assert rows(store, summed) == [(5, 50)]
        store.insert("hop_intervals", frame, "capture/5/9")
        assert rows(store, summed)[0][1] == 100


def test_a_large_frame_is_cut_at_the_same_rows_and_kept_once(tmp_path: Path) -> None:
    number = 2 * ROWS_PER_INSERT + 1
    frame = pl.DataFrame(
        {"time_ns": range(number), "flow": pl.Series(range(number), dtype=pl.UInt64)}
    )
    shuffled_chunks = pl.concat([frame[:7], frame[7:]], rechunk=False)
    assert [(p.height, t) for p, t in slices(frame, "a")] == [
        (ROWS_PER_INSERT, "a/0"),
        (ROWS_PER_INSERT, "a/1"),
        (1, "a/2"),
    ]
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store.insert("verdicts", frame, "a")
        store.insert("verdicts", shuffled_chunks, "a")
        assert rows(store, "SELECT count(), uniqExact(flow) FROM verdicts") == [(number, number)]


def test_a_query_waits_for_its_turn_and_then_says_so(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}", StoreLimits(readers=1, wait_s=0.05)) as store:
        store.migrate()
        said = r"no reader came free in 0\.05 s"
        with store._readers.one(), pytest.raises(StoreBusy, match=said):
            store.query("extent")
        assert store.query("extent")["verdicts"][0] == 0


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StoreError, match=r"cannot be opened: (File exists|Not a directory)"):
        Store(f"chdb://{tmp_path / 'file' / 'db'}")


def test_a_store_survives_the_death_of_its_process(tmp_path: Path) -> None:
    """Rows that were acknowledged are there after a kill, and the store opens again."""
    script = (
        "import os, sys, polars as pl; from pipeline.store import Store;"
        "s = Store(sys.argv[1]); s.migrate();"
        "s.insert('hops', pl.DataFrame({'node': [1], 'device': ['leaf1']}), 't');"
        "os.kill(os.getpid(), 9)"
    )
    dsn = f"chdb://{tmp_path / 'db'}"
    ended = subprocess.run([sys.executable, "-c", script, dsn], check=False)
    assert ended.returncode == -9
    assert json.loads((tmp_path / "db.owner.json").read_text())["socket"] is None
    with Store(dsn) as store:
        store.migrate()
        assert store.query("hops", at_ns=0)["device"].to_list() == ["leaf1"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_a_fault_of_native_code_ends_the_process(tmp_path: Path, options: list[str]) -> None:
    """An engine that takes its signal for itself would let it stand on, and keep the store."""
    script = "import os, sys; from pipeline.store import Store; s = Store(sys.argv[1]); os.abort()"
    command = [sys.executable, *options, "-c", script, f"chdb://{tmp_path / 'db'}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGABRT
    assert ("Fatal Python error: Aborted" in ended.stderr) is bool(options)
    with Store(f"chdb://{tmp_path / 'db'}"):
        pass


def test_a_process_opens_one_embedded_store_at_a_time(tmp_path: Path) -> None:
    with (
        Store(f"chdb://{tmp_path / 'one'}"),
        pytest.raises(
            StoreError,
            match=r"another embedded store, .*/one, is open in this process; close it first",
        ),
    ):
        Store(f"chdb://{tmp_path / 'two'}")
    with Store(f"chdb://{tmp_path / 'two'}") as store:
        store.migrate()
