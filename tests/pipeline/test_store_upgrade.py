"""Every schema that was ever shipped becomes today's, and statements for a cluster are SQL."""

from ipaddress import ip_address
from pathlib import Path

import polars as pl
import pytest

from pipeline.migration import pending, verify
from pipeline.question import Question
from pipeline.remote import open_or_ask
from pipeline.retained_rows import observed
from pipeline.store import Store
from pipeline.store_backup import backup
from pipeline.store_error import StoreError
from pipeline.store_limits import StoreLimits
from pipeline.stored_schema import stored_schema
from pipeline.tables import TABLES
from pipeline.tables.ddl import alterations, create_table, feeding
from pipeline.tables.layout import WHOLE, Layout
from pipeline.told_row import parted, verdict_row
from pipeline.where import flows_of

SCHEMAS = sorted((Path(__file__).resolve().parent.parent / "data" / "store").glob("*.sql"))
SHAPE = """
SELECT table, name, type, default_expression FROM system.columns
WHERE database = 'hopsight' ORDER BY table, name
"""
KEYS = """
SELECT name, engine, sorting_key, partition_key FROM system.tables
WHERE database = 'hopsight' ORDER BY name
"""
SINGLE = """
(time_ns, flow, hop_count, h0_node, h1_node, h1_qlen_bytes)
VALUES (5, 9, 2, 7, 3, 90), (6, 9, 0, NULL, NULL, NULL), (7, 9, 1, NULL, 5, NULL)
"""
"""Observations as they were stored when each column of each hop was one of the table."""
ARRAYS = """
(time_ns, flow, hop_count, hop_node, hop_port, hop_qlen_bytes)
VALUES (5, 9, 2, [7, 3], [], [NULL, 90]), (6, 9, 0, [], [], []), (7, 9, 1, [NULL, 5], [], [])
"""
"""The same as they are stored since hops are arrays."""
STACK = ("h0_node", "h1_node", "h1_qlen_bytes")
FRAME = pl.DataFrame(
    {"time_ns": [0, 100_000_000, 2_000_000_000], "interval_ns": [100_000_000] * 3,
     "flow": [7, 7, 7], "point": ["tap"] * 3, "frames": [1, 2, 4], "data_bytes": [10, 20, 40]}
)  # fmt: skip


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[object], list[object]]:
    """Columns and keys of a store that this hopsight made."""
    with Store(f"chdb://{tmp_path_factory.mktemp('fresh') / 'db'}") as store:
        store.migrate()
        return shape(store)


def shape(store: Store) -> tuple[list[object], list[object]]:
    with store.alone() as connection:
        return [*connection.rows(SHAPE)], [*connection.rows(KEYS)]


def test_every_schema_is_kept() -> None:
    assert len(SCHEMAS) >= 7


def of_before(store: Store, path: Path) -> None:
    """Make the tables of an older hopsight; for who is `_writing`."""
    store._writer.command("CREATE DATABASE hopsight")
    for statement in path.read_text().split(";\n\n"):
        if statement.strip():
            store._writer.command(statement)
    store._writer.command("INSERT INTO hopsight.schema_version (version) SELECT 1")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_a_schema_of_before_becomes_todays_and_keeps_its_rows(
    path: Path, fresh: tuple[list[object], list[object]], tmp_path: Path
) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        with store._writing:
            of_before(store, path)
            counted = "`feedback`" in path.read_text()
            more, values = (", feedback", ", 4") if counted else ("", "")
            store._writer.command(
                f"INSERT INTO hopsight.flow_intervals (time_ns, interval_ns, flow, frames{more})"
                f" SELECT 5, 1, 9, 3{values}"
            )
            seen = SINGLE if "`h0_node`" in path.read_text() else ARRAYS
            store._writer.command(f"INSERT INTO hopsight.observations {seen}")
            verdict = (
                "(time_ns, interval_ns, flow, kind, u_mean, revision) SELECT 5, 1, 9, 'core', 1, 2"
            )
            store._writer.command(f"INSERT INTO hopsight.verdicts {verdict}")
            ends = (
                "(flow, src_lo, dst_lo, sport, dport, protocol, last_ns) SELECT 9, 1, 2, 3, 4, 6, 5"
            )
            store._writer.command(f"INSERT INTO hopsight.flows {ends}")
            state = "INSERT INTO hopsight.flow_seconds (time_ns, flow, U, W) SELECT 5, 8, 0.7, NULL"
            if "TABLE hopsight.flow_seconds" in path.read_text():
                store._writer.command(state)
        told = store.pending()
        assert told, "something has changed since"
        assert store.pending() == told, "to be told changes nothing"
        done = store.migrate()
        assert [*done][: len(told)][:1] == told[:1]
        assert set(told) <= set(done)
        assert store.pending() == []
        assert shape(store) == fresh
        held = store.query("flow_observations", flows=[9], from_ns=0, to_ns=9, rows=9)
        seen = observed(held).sort("time_ns")
        assert seen["hop_count"].to_list() == [2, 0, 1]
        assert seen.select(STACK).rows() == [(7, 3, 90), (None,) * 3, (None, 5, None)]
        [known] = flows_of(store, Question(ip_address("::1"), 3, ip_address("::2"), 4))
        assert (known["flow"], known["last_ns"], known["protocol"]) == (9, 5, 6)
        window = {"flow": 9, "from_ns": 0, "to_ns": 9, "rows": 9, "slices": [0]}
        [unread], counts = parted(store.query("flow_told", **window))
        assert counts == [(1, "", [4, 0, 0, 0, 0, 0])] * counted
        told = verdict_row(unread)
        assert (told["kind"], told["u_mean"], told["node"], told["revision"]) == (
            "core",
            1,
            None,
            2,
        )
        for _ in range(2):
            store.insert("flow_intervals", FRAME, "a")
        with store.alone() as connection:
            kept = connection.rows("SELECT sum(frames), uniqExact(flow) FROM flow_intervals")
            assert kept == [(10, 2)]
            [(seconds,)] = connection.rows("SELECT sum(frames) FROM flow_seconds WHERE flow = 7")
            assert seconds == 7
            if "TABLE hopsight.flow_seconds" in path.read_text():
                states = connection.rows("SELECT U, W FROM flow_seconds WHERE flow = 8")
                assert states == [(pytest.approx(0.7, rel=1e-7), None)]


def test_a_store_that_is_not_there_yet_is_told_whole(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        told = store.pending()
        assert told[0].startswith("CREATE DATABASE")
        assert {name for name in TABLES if any(f"EXISTS {name} " in each for each in told)} == set(
            TABLES
        )
        done = store.migrate()
        assert [each for each in done if "CREATE" in each] == [
            each for each in told if "CREATE" in each
        ]


def test_a_table_that_forgets_tokens_is_not_served(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        with store.alone() as connection:
            verify(connection, stored_schema(connection))
            connection.command(
                "ALTER TABLE hops MODIFY SETTING non_replicated_deduplication_window = 7"
            )
            with pytest.raises(StoreError, match=r"hops remembers too few inserts \(7 of 10000\)"):
                verify(connection, stored_schema(connection))
            connection.command(
                "ALTER TABLE hops MODIFY SETTING non_replicated_deduplication_window = 10000"
            )


def test_rollups_of_flows_follow_late_rows_and_repeats_count_once(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        late = FRAME.head(1).with_columns(pl.lit(100, pl.UInt64).alias("frames"))
        for frame, token in ((FRAME, "a"), (late, "late"), (FRAME, "a"), (late, "late")):
            store.insert("flow_intervals", frame, token)
        with store.alone() as connection:
            for name, wanted in (
                ("seconds", [(0, 10**9, 103, 40), (2 * 10**9, 10**9, 4, 40)]),
                ("minutes", [(0, 60 * 10**9, 107, 80)]),
                ("hours", [(0, 3600 * 10**9, 107, 80)]),
            ):
                told = connection.rows(
                    "SELECT time_ns, interval_ns, frames, data_bytes"  # noqa: S608 - our own names
                    f" FROM flow_{name} FINAL ORDER BY time_ns"
                )
                assert told == wanted


def test_observations_leave_empty_columns_out_and_can_be_taken_out(tmp_path: Path) -> None:
    """Of columns that are not there a question, a merge and an erasure still know."""
    rows = pl.DataFrame({"time_ns": [1, 2, 3], "flow": [7, 8, 9], "sport": [0, 0, 0]})
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        store.insert("observations", rows, "bare")
        store.insert("observations", rows.with_columns(dscp=pl.lit(5)), "told")
        with store.alone() as connection:
            parts = "SELECT countIf(column = 'csig_s'), countIf(column = 'dscp') FROM"
            active = "system.parts_columns WHERE active AND table = 'observations'"
            assert connection.rows(f"{parts} {active}") == [(0, 1)]
            gone = "DELETE WHERE sport = 0 AND flow = 8 AND dst_lo = 0 SETTINGS mutations_sync = 2"
            connection.command(f"ALTER TABLE observations {gone}")
            connection.command("OPTIMIZE TABLE observations FINAL")
            told = "SELECT flow, dscp, csig_s FROM observations ORDER BY ALL"
            assert connection.rows(told) == [(7, 5, None), (7, None, None), (9, 5, None),
                                             (9, None, None)]  # fmt: skip


def test_statements_for_a_cluster_are_sql_and_name_it(tmp_path: Path) -> None:
    statements: list[str] = []
    layout = Layout("hopsight", "main")
    for table in TABLES.values():
        created = create_table(table, 3, layout)
        sharded = table.name not in WHOLE
        name = f"{table.name}_local" if sharded else table.name
        assert f"EXISTS {name} ON CLUSTER `main`" in created
        shard = "{shard}/" if sharded else ""
        assert f"'/clickhouse/tables/{shard}hopsight/{table.name}', '{{replica}}'" in created
        assert "replicated_deduplication_window = 10000" in created
        own = [created]
        if sharded:
            own.append(layout.front(table))
            assert f"AS {name}\nENGINE = Distributed(`main`, `hopsight`, {name}, " in own[-1]
        if table.fed_by:
            own.append(feeding(table, frozenset(), "", layout))
            assert f"TO {name} AS" in own[-1]
            assert own[-1].endswith(f"FROM {layout.held(table.fed_by)}")
        more = [*alterations(table, 3, frozenset({"time_ns"}), created, layout)]
        assert all(each.startswith(f"ALTER TABLE {name} ON CLUSTER `main` ") for each in more)
        statements += [*own, *more]
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        for statement in statements:
            store._writer.rows(f"EXPLAIN AST {statement}")


def test_flows_that_are_stored_while_their_table_is_filled_are_found(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        with store.alone() as engine:
            engine.command("DROP VIEW flow_by_ends_of_flows")
            engine.command("TRUNCATE TABLE flow_by_ends")

        def seen(host: int) -> None:
            row = {"flow": host, "src_lo": host, "dst_lo": 2, "sport": 3, "dport": 4, "last_ns": 5}
            store.insert("flows", pl.DataFrame([row | {"protocol": 6}]), f"flow {host}")

        seen(1)
        for statement in pending(store._writer):
            if statement.startswith("CREATE MATERIALIZED VIEW"):
                seen(7)
            store._writer.command(statement)
            store._writer.use("hopsight")
        seen(8)
        for host in (1, 7, 8):
            ends = Question(ip_address(f"::{host}"), 3, ip_address("::2"), 4)
            assert [flow["flow"] for flow in flows_of(store, ends)] == [host]
        assert store.pending() == []


def test_who_only_reads_leaves_an_older_store_as_it_is(tmp_path: Path) -> None:
    """There is no way back from an upgrade, and older workers cannot stand beside it."""
    dsn = f"chdb://{tmp_path / 'db'}"
    with Store(dsn) as store, store._writing:
        store._writer.command("CREATE DATABASE hopsight")
        for statement in SCHEMAS[-2].read_text().split(";\n\n"):
            if statement.strip():
                store._writer.command(statement)
        store._writer.command("INSERT INTO hopsight.schema_version (version) SELECT 1")
    with pytest.raises(StoreError, match=r"of an older hopsight: .* run hopsight migrate"):
        open_or_ask(dsn)
    with Store(dsn) as store:
        told = store.pending()
        with pytest.raises(StoreError, match="of an older hopsight"):
            backup(store, tmp_path / "backup")
        assert not (tmp_path / "backup").exists()
        assert store.pending() == told
    with open_or_ask(dsn, create=True) as opened:
        assert isinstance(opened, Store)
        assert opened.pending() == []


def test_an_upgrade_that_was_broken_off_is_not_read(tmp_path: Path) -> None:
    """Columns are there and nothing is in them yet."""
    dsn = f"chdb://{tmp_path / 'db'}"
    single = next(path for path in SCHEMAS if "`h0_node`" in path.read_text())
    with Store(dsn) as store:
        with store._writing:
            of_before(store, single)
        for statement in store.pending():
            if " UPDATE " in statement:
                break
            with store._writing:
                store._writer.command(statement)
                store._writer.use("hopsight")
        else:
            pytest.fail("nothing is moved any more")
        with pytest.raises(StoreError, match="of an older hopsight"):
            store.readable()


def test_who_only_reads_does_not_change_how_long_rows_are_kept(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'db'}"
    with open_or_ask(dsn, create=True):
        pass
    shorter = StoreLimits(retention_days={"verdicts": 1})
    with open_or_ask(dsn, shorter) as opened:
        assert isinstance(opened, Store)
        assert any("MODIFY TTL" in each for each in opened.pending())
