"""A store that is put back knows which inserts it has, or nobody repeats them there."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from collector import Batch
from pipeline import Store, backup, restore
from pipeline.backup_manifest import MANIFEST
from pipeline.backup_tokens import FILE, LOG, LOGS, remember, tokens_of
from pipeline.store_error import StoreError
from pipeline.unsettled import unsettled
from tests.pipeline.test_group import CUTS, PLACE, batches, go, part_of, stored
from tests.pipeline.test_store_care import intervals

__all__ = ["batches"]
Cuts = list[list[Batch]]


def broken_off(store: Store, cuts: Cuts) -> None:
    """A worker whose last cuts are behind its snapshot; of the last one nothing is stored."""
    part = part_of(store)
    go(part, cuts, 0, 2)
    part.snapshot()
    go(part, cuts, 2, 4)
    part.cut(40, 49)


def gone_on(store: Store, cuts: Cuts) -> dict[str, pl.DataFrame]:
    """All rows behind the next worker, which repeats what was decided."""
    after = part_of(store)
    assert [step.first for step in after.promised if step.last >= step.first] == [20, 30, 40]
    while after.promised:
        step = after.promised[0]
        after.work(step.first, step.last, cuts[step.first // 10] if step.last > step.first else ())
    go(after, cuts, 5, CUTS + 1)
    return stored(store)


def untold(folder: Path) -> None:
    """Make of a backup one that an older hopsight made."""
    told = json.loads((folder / MANIFEST).read_text())
    del told["tokens"], told["unsettled"]
    (folder / MANIFEST).write_text(json.dumps(told))
    (folder / FILE).unlink()


def test_what_a_worker_repeats_over_a_restored_store_is_there_once(
    tmp_path: Path, batches: Cuts
) -> None:
    said: list[str] = []
    with empty_store(tmp_path / "db") as store:
        broken_off(store, batches)
        backup(store, tmp_path / "kept", say=said.append)
        control = gone_on(store, batches)
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept", say=said.append)
        found = gone_on(store, batches)
    assert said == [], "it is exact"
    assert control["observations"].height > 0
    for name, rows in control.items():
        assert found[name].equals(rows), name


def test_what_nobody_can_tell_is_said_and_not_repeated(tmp_path: Path, batches: Cuts) -> None:
    said: list[str] = []
    with empty_store(tmp_path / "db") as store:
        broken_off(store, batches)
        settled = part_of(store, "observations.v1.p2/7")
        settled.cut(0, 9)
        settled.work(0, 9, batches[0])
        settled.snapshot()
        backup(store, tmp_path / "kept")
    untold(tmp_path / "kept")
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept", say=said.append)
        assert [told.partition(":")[0] for told in said] == [PLACE]
        with store.alone() as connection:
            claims = connection.rows("SELECT max(epoch) FROM group_log")
        for _ in range(2):
            with pytest.raises(StoreError, match=f"{PLACE}: the store was put back from a backup"):
                part_of(store)
        with store.alone() as connection:
            assert connection.rows("SELECT max(epoch) FROM group_log") == claims
        assert part_of(store, "observations.v1.p2/7").position == 10
    with Store(f"chdb://{tmp_path / 'again'}") as store:
        restore(store, tmp_path / "kept", say=said.append, repeat=True)
        gone_on(store, batches)
    assert len(said) == 1


def test_a_backup_without_tokens_says_whose_workers_have_to_end(
    tmp_path: Path, batches: Cuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with empty_store(tmp_path / "db") as store:
        broken_off(store, batches)
        monkeypatch.setattr("pipeline.store_backup.tokens_of", lambda _: None)  # as of a server
        backup(store, tmp_path / "kept", say=said.append)
        assert said[0].startswith(f"{PLACE}: workers ran, or did not end by SIGTERM")
        after = part_of(store)
        while after.promised:
            step = after.promised[0]
            after.work(step.first, step.last, ())
        after.snapshot()
        backup(store, tmp_path / "exact", say=said.append)
    assert len(said) == 1
    told = json.loads((tmp_path / "kept" / MANIFEST).read_text())
    assert (told["tokens"], told["unsettled"]) == (None, [PLACE])


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ({}, {}, []),
        ({"a/0": (4, False)}, {"a/0": (4, False)}, []),
        ({"a/0": (4, True)}, {"a/0": (4, True)}, ["a/0"]),
        ({"a/0": (4, False)}, {"a/0": (6, False)}, ["a/0"]),
        ({}, {"a/0": (1, True)}, ["a/0"]),
    ],
)
def test_a_place_whose_worker_went_on_meanwhile_is_unsettled(
    before: Any, after: Any, places: list[str]
) -> None:
    assert unsettled(before, after) == places


def test_an_insert_that_was_broken_off_is_completed(tmp_path: Path) -> None:
    """The rows of a table are stored and those that it fills are not: each has its own token."""
    sums = "SELECT (SELECT sum(frames) FROM flow_seconds), (SELECT sum(frames) FROM flow_minutes)"
    with empty_store(tmp_path / "db") as store:
        with store.alone() as connection:
            connection.command("DROP VIEW flow_minutes_feed SYNC")
        store.insert("flow_seconds", intervals(9), "one")
        store.migrate()
        backup(store, tmp_path / "kept")
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept")
        for _ in range(2):
            store.insert("flow_seconds", intervals(9), "one")
        with store.alone() as connection:
            assert connection.rows(sums) == [(6, 6)]


def test_tokens_of_another_engine_are_not_taken(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        store.insert("flow_intervals", intervals(9), "one")
        backup(store, tmp_path / "kept")
    told = json.loads((tmp_path / "kept" / MANIFEST).read_text())
    told["tokens"]["engine"] = "1.0"
    (tmp_path / "kept" / MANIFEST).write_text(json.dumps(told))
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept")
        store.insert("flow_intervals", intervals(9), "one")
        with store.alone() as connection:
            assert connection.rows("SELECT count() FROM flow_intervals") == [(6,)]
    (tmp_path / "kept" / FILE).write_bytes(b"damaged")
    told["tokens"]["engine"] = "26"
    with Store(f"chdb://{tmp_path / 'new'}") as store, store.alone() as connection:
        told["tokens"]["engine"] = str(connection.rows("SELECT version()")[0][0])
    (tmp_path / "kept" / MANIFEST).write_text(json.dumps(told))
    with (
        empty_store(tmp_path / "third") as store,
        pytest.raises(StoreError, match=f"{FILE} is damaged"),
    ):
        restore(store, tmp_path / "kept")


def test_tokens_that_went_with_their_day_are_not_told(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        store.insert("flow_intervals", intervals(9), "one")
        store.insert("flow_intervals", intervals(9, time_ns=86_400 * 10**9), "one")
        with store.alone() as connection:
            connection.command("ALTER TABLE flow_intervals DROP PARTITION 0")
            rows = pl.read_ipc(io.BytesIO(tokens_of(connection) or b""))
            own = rows.filter(table="flow_intervals")
            assert [part.partition("_")[0] for part in own["part"]] == ["1"]
            remember(connection, tokens_of(connection) or b"")
            asked = "SELECT data_paths[1] FROM system.tables WHERE name = 'flow_intervals'"
            [(path,)] = connection.rows(asked)
            (Path(path) / LOGS / LOG.format(99)).write_text("of another form\n")
            assert tokens_of(connection) is None, "nobody knows what it says"
