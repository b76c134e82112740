"""What is done to a whole store: bounded in bytes, an address erased, backed up and restored."""

import json
import subprocess
import sys
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import backup, erase, restore
from pipeline.erasure import STATE
from pipeline.question import address_words
from pipeline.room import Day, days_of, surplus
from pipeline.store import Store
from pipeline.store_backup import MANIFEST, PLAIN
from pipeline.store_error import StoreError
from pipeline.store_limits import StoreLimits
from pipeline.tables import TABLES

DAY = 86_400 * 10**9
Address = IPv4Address | IPv6Address
OURS, OTHER, THIRD = (ip_address(each) for each in ("10.0.0.1", "10.0.0.11", "2001:db8::1"))


def verdicts(
    src: Address, dst: Address, flow: int, time_ns: int = 0, count: int = 1
) -> pl.DataFrame:
    ends = dict(
        zip(
            ("src_hi", "src_lo", "dst_hi", "dst_lo"),
            (*address_words(src), *address_words(dst)),
            strict=True,
        )
    )
    return pl.DataFrame(
        {"time_ns": range(time_ns, time_ns + count), "flow": [flow] * count,
         **{name: [word] * count for name, word in ends.items()}},
        schema_overrides=dict.fromkeys(ends, pl.UInt64),
    )  # fmt: skip


def intervals(flow: int, count: int = 3, time_ns: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {"time_ns": range(time_ns, time_ns + count), "interval_ns": [10**8] * count,
         "flow": [flow] * count, "frames": [2] * count}
    )  # fmt: skip


def counted(store: Store, *tables: str, final: bool = False) -> list[int]:
    """Rows of tables; `final`: those of one key are joined."""
    joined = {table: " FINAL" * (final and TABLES[table].engine != PLAIN) for table in tables}
    with store.alone() as connection:
        return [
            int(connection.rows(f"SELECT count() FROM {table}{joined[table]}")[0][0])  # noqa: S608 - our own names
            for table in tables
        ]


def held(store: Store) -> list[Day]:
    with store.alone() as connection:
        return days_of(connection)


def filled(store: Store) -> None:
    """Three flows, of which two are of 10.0.0.1."""
    store.migrate()
    for flow, (src, dst) in enumerate(((OURS, OTHER), (OTHER, OURS), (OTHER, THIRD)), start=1):
        told = verdicts(src, dst, flow)
        store.insert("verdicts", told, f"v{flow}")
        store.insert("flows", told.drop("time_ns"), f"f{flow}")
        store.insert("flow_intervals", intervals(flow), f"i{flow}")
    for text in ("10.0.0.1 > 10.0.0.11", "10.0.0.11 > 10.0.0.111"):
        store.insert("telemetry_health", pl.DataFrame({"time_ns": [1], "subject": [text]}), text)


def test_an_address_is_erased_from_every_table_and_no_other(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        gone = erase(store, OURS)
        assert {name: rows for name, rows in gone.items() if rows} == {
            "verdicts": 2, "flows": 2, "flow_intervals": 6, "flow_seconds": 6, "flow_minutes": 6,
            "flow_hours": 6, "flow_told": 2, "flow_by_ends": 2, "telemetry_health": 1,
        }  # fmt: skip
        assert gone[STATE] == 0
        tables = ("verdicts", "flows", "flow_intervals", "flow_hours", "telemetry_health")
        assert counted(store, *tables)[:3] == [1, 1, 3]
        assert sum(erase(store, OURS).values()) == 0
        with store.alone() as connection:
            left = connection.rows("SELECT DISTINCT flow FROM flow_intervals")
            assert left == [(3,)]
            [(subject,)] = connection.rows("SELECT subject FROM telemetry_health")
            assert subject == "10.0.0.11 > 10.0.0.111"
        assert erase(store, THIRD)["verdicts"] == 1


def test_an_address_is_erased_however_it_is_spelt_and_wherever_people_wrote_it(
    tmp_path: Path,
) -> None:
    with empty_store(tmp_path / "db") as store:
        comments = ("ask 10.0.0.1.", "see 10.0.0.1.7", "FD00:0:0:1::4 is gone",
                    "fd00:0000:0000:0001:0000:0000:0000:0004", "fd00:0:0:1::45",
                    "::ffff:10.0.0.1", "by ::FFFF:a00:1.", "::ffff:10.0.0.11",
                    "0000:0000:0000:0000:0000:ffff:0a00:0001", "/captures?name=tap%2010.0.0.1.pcap",
                    r"\u4e3b10.0.0.1", "src=FD00%3a0%3A0%3A1%3A%3A4", "%2010.0.0.12",
                    "a=10.0.0.1%3A5001&b=%2F10.0.0.1%2f32", "64%3Aff9b%3A%3A10.0.0.1",
                    "2001%3Afd00%3A0%3A0%3A1%3A%3A4", "fd00%3A0%3A0%3A1%3A%3A4%3Aabcd",
                    "fd00%3A0%3A0%3A1%3A%3A4%2F64", "fd00:0:0:1::4%eth0")  # fmt: skip
        for number, comment in enumerate(comments):
            told = {"id": [str(number)], "written_ns": [number], "comment": [comment]}
            store.insert("silences", pl.DataFrame(told), comment)
        assert erase(store, ip_address(f"::ffff:{OURS}"))["silences"] == 7
        assert erase(store, ip_address("fd00:0:0:1::4"))["silences"] == 4
        with store.alone() as connection:
            left = connection.rows("SELECT comment FROM silences ORDER BY comment")
        others = ["%2010.0.0.12", "2001%3Afd00%3A0%3A0%3A1%3A%3A4", "64%3Aff9b%3A%3A10.0.0.1",
                  "::ffff:10.0.0.11", "fd00%3A0%3A0%3A1%3A%3A4%2F64",
                  "fd00%3A0%3A0%3A1%3A%3A4%3Aabcd", "fd00:0:0:1::45", "see 10.0.0.1.7"]  # fmt: skip
        assert [comment for (comment,) in left] == others


def large(day: int) -> pl.DataFrame:
    """Verdicts of a day that hardly get smaller."""
    told = pl.int_range(60_000, dtype=pl.Int64).hash(day).cast(pl.String).alias("evidence")
    return verdicts(OURS, OTHER, day, day * DAY, 60_000).with_columns(told)


def test_of_too_many_bytes_the_oldest_days_go_and_the_newest_stay(tmp_path: Path) -> None:
    limits = StoreLimits(retention_bytes=1 << 20)
    with Store(f"chdb://{tmp_path / 'db'}", limits) as store:
        store.migrate()
        for day in range(4):
            store.insert("verdicts", large(day), str(day))
        before = held(store)
        gone = store.trim()
        assert gone
        assert [day.day for day in gone] == sorted(day.day for day in gone)
        total = sum(day.bytes for day in before)
        left = held(store)
        assert sum(day.bytes for day in left) == total - sum(day.bytes for day in gone)
        assert max(day.day for day in left) == 3
        for table in ("verdicts", "flow_told"):
            days = sum(day.table == table for day in gone)
            assert counted(store, table) == [(4 - days) * 60_000]
        assert store.trim() == []


def test_the_day_that_takes_most_goes_first_and_the_last_of_a_table_never() -> None:
    days = [Day("verdicts", "1", 1, 10), Day("observations", "1", 1, 90),
            Day("verdicts", "2", 2, 10), Day("observations", "2", 2, 90),
            Day("group_log", "all", 0, 500)]  # fmt: skip
    assert [(day.table, day.day) for day in surplus(days, 650)] == [("observations", 1)]
    assert [(day.table, day.day) for day in surplus(days, 0)] == [
        ("observations", 1), ("verdicts", 1),
    ]  # fmt: skip


def test_what_is_kept_as_long_as_another_table_goes_with_it() -> None:
    """Or `where`, which reads the one, would tell of days of which no other answer knows."""
    days = [Day(f"{table}{end}", str(day), day, size) for day in (1, 2)
            for table, size in (("verdicts", 50), ("flow_told", 40), ("observations", 60))
            for end in ("", "_local")]  # fmt: skip
    assert {"verdicts", "verdicts_local"} <= {day.table for day in days}
    gone = surplus(days, 500)
    assert [(day.table, day.day) for day in gone] == [
        ("verdicts", 1), ("verdicts_local", 1), ("flow_told", 1), ("flow_told_local", 1)
    ]  # fmt: skip
    assert len(surplus(days, 0)) == 6


def test_who_stores_nothing_trims_too(tmp_path: Path) -> None:
    """A bound that was lowered holds at once."""
    dsn = f"chdb://{tmp_path / 'db'}"
    with Store(dsn) as store:
        store.migrate()
        for day in range(3):
            store.insert("verdicts", large(day), str(day))
    with Store(dsn, StoreLimits(retention_bytes=1 << 20)) as store:
        assert counted(store, "verdicts") == [180_000]
        store.trim_when_due()
        assert counted(store, "verdicts") == counted(store, "flow_told") == [60_000]


def test_a_backup_comes_back_as_it_was_and_rollups_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.store_backup.ROWS", 4)
    tables = ("verdicts", "flows", "flow_intervals", "flow_told")
    sums = "SELECT sum(frames), min(stored_at) FROM flow_hours"
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        store.insert("flow_intervals", intervals(9, 30), "many")
        before = counted(store, *tables, final=True)
        with store.alone() as connection:
            told = connection.rows(sums)
        pieces = backup(store, tmp_path / "kept")
        assert sum(piece.rows for piece in pieces if piece.table == "flow_intervals") == before[2]
        assert sum(piece.table == "flow_intervals" for piece in pieces) > 3, "cut by time"
        with pytest.raises(StoreError, match="is not empty; a backup takes a folder of its own"):
            backup(store, tmp_path / "kept")
        with pytest.raises(StoreError, match=r"the store has rows in \w+ already"):
            restore(store, tmp_path / "kept")
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept")
        assert counted(store, *tables, final=True) == before
        with store.alone() as connection:
            assert connection.rows(sums) == told
        store.insert("flow_intervals", intervals(4), "after")
        with store.alone() as connection:
            [(frames, _)] = connection.rows(sums)
            assert frames == told[0][0] + 6, "what fills rollups is back"


def test_of_rows_that_are_not_merged_yet_the_last_one_comes_back(tmp_path: Path) -> None:
    """State at the end of a second: that of its last interval, whichever part is read first."""
    told = "SELECT flow, U, alpha FROM flow_seconds FINAL ORDER BY flow"
    with empty_store(tmp_path / "db") as store:
        with store.alone() as connection:
            connection.command("SYSTEM STOP MERGES")
        for number in range(8):
            rows = pl.concat([intervals(flow, 1, number * 10**8) for flow in range(40)])
            state = {"U": float(number), "alpha": number / 10}
            store.insert("flow_intervals", rows.with_columns(**state), f"part {number}")
        with store.alone() as connection:
            before = connection.rows(told)
        assert {row[1:] for row in before} == {(7.0, 0.7)}
        backup(store, tmp_path / "kept")
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        restore(store, tmp_path / "kept")
        with store.alone() as connection:
            assert connection.rows(told) == before


def test_a_store_of_a_newer_hopsight_is_not_backed_up(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        with store.alone() as connection:
            connection.command("INSERT INTO schema_version (version) VALUES (99)")
        with pytest.raises(StoreError, match="has schema 99 and this hopsight knows"):
            backup(store, tmp_path / "kept")
        assert not (tmp_path / "kept").exists()


def test_what_is_no_backup_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        pieces = backup(store, tmp_path / "kept")
    last = tmp_path / "kept" / pieces[-1].file
    whole = last.read_bytes()
    last.write_bytes(whole[:-1] + b"?")
    with Store(f"chdb://{tmp_path / 'new'}") as store:
        with pytest.raises(StoreError, match="is damaged: it has another digest"):
            restore(store, tmp_path / "kept")
        last.unlink()
        with pytest.raises(StoreError, match="cannot be read: No such file"):
            restore(store, tmp_path / "kept")
        last.write_bytes(whole)
        restore(store, tmp_path / "kept")  # nothing was begun
        assert counted(store, "flows")
        (tmp_path / "kept" / MANIFEST).unlink()
        with pytest.raises(StoreError, match="is no backup"):
            restore(store, tmp_path / "kept")


def test_a_piece_that_is_none_is_refused(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        piece = backup(store, tmp_path / "kept")[-1]
    foreign = b"PAR1junkPAR1"
    (tmp_path / "kept" / piece.file).write_bytes(foreign)
    manifest = tmp_path / "kept" / MANIFEST
    digest = blake2b(foreign, digest_size=16).hexdigest()
    manifest.write_text(manifest.read_text().replace(piece.digest, digest))
    refused = pytest.raises(StoreError, match="is no piece of a backup")
    with Store(f"chdb://{tmp_path / 'new'}") as store, refused:
        restore(store, tmp_path / "kept")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("tables", "is not of"),
        ("rows", "the manifest says 7000000"),
        ("lacking", f"{MANIFEST} there does not name it"),
    ],
)
def test_a_manifest_that_does_not_fit_its_pieces_is_refused(
    tmp_path: Path, wrong: str, said: str
) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        first, *_, last = backup(store, tmp_path / "kept")
    assert first.table != last.table
    manifest = tmp_path / "kept" / MANIFEST
    told = json.loads(manifest.read_text())
    if wrong == "tables":
        told["pieces"][0]["table"], told["pieces"][-1]["table"] = last.table, first.table
    elif wrong == "rows":
        told["pieces"][0]["rows"] = 7_000_000
    else:
        told["pieces"].pop()
    manifest.write_text(json.dumps(told))
    refused = pytest.raises(StoreError, match=said)
    with Store(f"chdb://{tmp_path / 'new'}") as store, refused:
        restore(store, tmp_path / "kept")


def test_a_backup_is_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o755)  # one that was there too
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        filled(store)
        for folder in (tmp_path / "kept", tmp_path / "new"):
            assert backup(store, folder)
            assert folder.stat().st_mode & 0o777 == 0o700
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


FULL = """
import resource, sys
import polars as pl
from pipeline.store import Store
from pipeline.store_error import StoreAway

store = Store(sys.argv[1])
store.migrate()
few = pl.DataFrame({"time_ns": [1], "flow": [1]}, schema_overrides={"flow": pl.UInt64})
store.insert("verdicts", few, "few")
numbers = pl.int_range(100_000)
flow, text = numbers.cast(pl.UInt64), numbers.hash().cast(pl.String)
many = pl.select(time_ns=numbers, flow=flow, evidence=text)
kept = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, kept[1]))
away = 0
for _ in range(3):
    try:
        store.insert("verdicts", many, "many")
    except StoreAway:
        away += 1
assert away == 3, away
assert store.query("extent")["verdicts"][0] == 1  # what is there can be read
resource.setrlimit(resource.RLIMIT_FSIZE, kept)
for _ in range(2):
    store.insert("verdicts", many, "many")
assert store.query("extent")["verdicts"][0] == 100_001, store.query("extent")
store.close()
"""


def test_a_disk_that_takes_nothing_passes_and_rows_are_there_once(tmp_path: Path) -> None:
    """A limit on the size of files: the system refuses the engine's writes, as a full disk does."""
    given = [sys.executable, "-c", FULL, f"chdb://{tmp_path / 'db'}"]
    ended = subprocess.run(given, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
