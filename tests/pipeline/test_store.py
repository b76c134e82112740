"""The store on the real embedded engine: rows kept once, read while writing, within limits."""

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import polars as pl
import pytest
from empty_store import empty_store
from pydantic import ValidationError

from collector import OBSERVATION
from pipeline.composed_answer import HOLDING
from pipeline.connection import Connection
from pipeline.kind import KINDS
from pipeline.question_text import question
from pipeline.store import Store
from pipeline.store_address import parse_address
from pipeline.store_error import StoreError, StoreLimit
from pipeline.store_limits import StoreLimits
from pipeline.tables import TABLES
from pipeline.tables.column import SLICE_NS
from pipeline.tables.ddl import DEDUPLICATION_WINDOW
from pipeline.tables.gathered import gathered
from pipeline.told_row import parted, verdict_row
from pipeline.where import newest

T0 = 1_700_000_000_000_000_000
STEP = 100_000_000
QUERIES = sorted(
    place.name.removesuffix(".sql")
    for place in (resources.files("pipeline") / "sql").iterdir()
    if place.name.endswith(".sql")
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for the tests that bring rows of their own tables or flows."""
    with empty_store(tmp_path_factory.mktemp("store") / "db") as opened:
        yield opened


def rows(store: Store, statement: str, **parameters: str) -> list[tuple[object, ...]]:
    return store._writer.rows(statement, **parameters)


def hop_rows(flow: int, number: int, time_ns: int = T0) -> pl.DataFrame:
    """Rows of one hop, one an interval."""
    schema = TABLES["hop_intervals"].schema
    return pl.DataFrame(
        {
            "time_ns": [time_ns + i * STEP for i in range(number)],
            "interval_ns": STEP,
            "flow": flow,
            "point": "leaf1:Ethernet4",
            "node": 1,
            "port": 2,
            "hop_index": 0,
            "source": "int",
            "samples": 10,
            "u_sum_n": 12_000_000_000,
            "u_max_n": 2_000_000_000,
        },
        schema_overrides={
            name: schema[name]
            for name in schema
            if name not in {"queue_sum_bytes", "queue_max_bytes"}
        },
    )


def test_every_table_is_made_as_its_table_says(store: Store) -> None:
    found = dict(
        rows(
            store, "SELECT name, create_table_query FROM system.tables WHERE database = 'hopsight'"
        )
    )
    assert set(TABLES) < set(found)
    for table in TABLES:
        assert f"non_replicated_deduplication_window = {DEDUPLICATION_WINDOW}" in str(found[table])
    for table in TABLES.values():
        columns = dict(
            rows(
                store,
                "SELECT name, default_kind FROM system.columns"
                " WHERE database = 'hopsight' AND table = {table:String}",
                table=table.name,
            )
        )
        derived = {alias.name for alias in table.aliases}
        assert {name for name, kind in columns.items() if kind == "ALIAS"} == derived
        own = {c.name for c in table.columns} | {"stored_at"}
        assert set(columns) - derived == own


def test_observations_have_the_collectors_columns() -> None:
    stored = {c.name: c for c in OBSERVATION if c.stored}
    table = TABLES["observations"]
    assert dict(table.schema) == {name: column.dtype for name, column in stored.items()}
    for column in table.columns:
        if not column.name.startswith("hop_") or column.name in stored:
            own = stored[column.name]
            assert (column.dtype, column.unit, column.doc) == (own.dtype, own.unit, own.doc)


def test_no_filter_column_is_a_map_and_every_column_has_a_sentence() -> None:
    for table in TABLES.values():
        for column in table.columns:
            assert "Map(" not in column.type
            assert column.doc.endswith((".", "…")), (table.name, column.name)


def test_an_insert_needs_a_token(store: Store) -> None:
    with pytest.raises(StoreError, match="needs a token"):
        store.insert("hop_intervals", hop_rows(1, 1), "")


def test_partial_rows_add_up_in_any_order(store: Store) -> None:
    frame = hop_rows(2, 4)
    for number in range(3):
        store.insert("hop_intervals", frame.reverse(), f"late/{number}")
    store._writer.command("OPTIMIZE TABLE hop_intervals FINAL")
    found = rows(
        store,
        "SELECT samples, u_sum_n, u_max_n, queue_sum_bytes FROM hop_intervals WHERE flow = 2",
    )
    assert found == [(30, 36_000_000_000, 2_000_000_000, None)] * 4


def test_flows_keep_their_first_and_last_moment(store: Store) -> None:
    frame = pl.DataFrame(
        {
            "flow": [9, 9],
            "src_lo": [1, 1],
            "first_ns": [50, 20],
            "last_ns": [60, 90],
            "cc": [None, "hpcc"],
        },
        schema_overrides={"flow": pl.UInt64, "src_lo": pl.UInt64},
    )
    store.insert("flows", frame[:1], "f/0")
    store.insert("flows", frame[1:], "f/1")
    found = store.query("flow_of_hash", flow=9)
    assert found.select("first_ns", "last_ns", "cc").rows() == [(20, 90, "hpcc")]


def test_addresses_are_readable_in_the_store(store: Store) -> None:
    frame = pl.DataFrame(
        {
            "flow": [11, 12],
            "src_hi": [0, 0x20010DB8 << 32],
            "src_lo": [0xFFFF_0A00_0001, 5],
            "dst_hi": [0, 0],
            "dst_lo": [0xFFFF_C0A8_0101, 1],
        },
        schema=dict.fromkeys(("flow", "src_hi", "src_lo", "dst_hi", "dst_lo"), pl.UInt64),
    )
    store.insert("flows", frame, "addresses")
    read = [store.query("flow_of_hash", flow=flow).select("src", "dst").row(0) for flow in (11, 12)]
    assert read == [("10.0.0.1", "192.168.1.1"), ("2001:db8::5", "::1")]


@pytest.mark.parametrize("table", sorted(name for name in TABLES if not TABLES[name].feeds))
def test_a_full_row_and_an_empty_row_come_back(store: Store, table: str) -> None:
    """Every column of every table takes a value of its type and, where it may, a null."""
    schema = TABLES[table].schema
    value = {"String": "x", "Float64": 0.5, "Boolean": True, "List(String)": ["a", "b"]}
    value["Binary"] = b"x"
    full = pl.DataFrame({n: [value.get(str(d), _sevens(d))] for n, d in schema.items()}, schema)
    empty = pl.DataFrame({n: [None] for n in schema}, schema=schema)
    store.insert(table, full, f"{table}/full")
    store.insert(table, empty, f"{table}/empty")
    wanted = gathered(full, TABLES[table].gathered)
    names = ", ".join(f"`{name}`" for name in wanted.columns)
    kept = rows(store, f"SELECT {names} FROM {table} WHERE {_is_sevens(table)} LIMIT 1")  # noqa: S608
    assert [plain(v) for v in kept[0]] == [plain(v) for v in wanted.row(0)]


def _sevens(dtype: object) -> object:
    """A value of a column's type."""
    return {field.name: [7] for field in dtype.fields} if isinstance(dtype, pl.Struct) else 7


def plain(value: object) -> object:
    """Tuples and structs as lists."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        value = tuple(value.values())
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


def _is_sevens(table: str) -> str:
    keys = [c.name for c in TABLES[table].columns if c.type.startswith("UInt") and not c.merge]
    texts = [c.name for c in TABLES[table].columns if c.type == "String"][: not keys]
    # What fills a table of longer times has put rows there whose time is cut to a step.
    keys += ["time_ns"] if "time_ns" in TABLES[table].schema else []
    return " AND ".join([f"`{name}` = 7" for name in keys] + [f"`{name}` = 'x'" for name in texts])


def test_a_frame_that_does_not_fit_is_told(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no table 'flow'; accepted: flows, hops"):
        store.insert("flow", pl.DataFrame({"a": [1]}), "t")
    with pytest.raises(StoreError, match="table flows has no column colour"):
        store.insert("flows", pl.DataFrame({"colour": [1]}), "t")
    with pytest.raises(StoreError, match="rows for hops do not fit"):
        store.insert("hops", pl.DataFrame({"node": [-1]}), "t")


def test_categories_are_kept_as_text(store: Store) -> None:
    frame = hop_rows(3, 2).with_columns(pl.col("point", "source").cast(pl.Categorical))
    store.insert("hop_intervals", frame, "categories")
    assert rows(store, "SELECT DISTINCT point FROM hop_intervals WHERE flow = 3") == [
        ("leaf1:Ethernet4",)
    ]


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_runs_and_says_what_it_asks(store: Store, name: str) -> None:
    text = question(name)
    assert re.match(r"-- \S.*[?.)]\n", text), "the first line is the question"
    wanted = dict(re.findall(r"\{(\w+):([\w()]+)\}", text))
    lists: dict[str, object] = {"Array(Int64)": [T0], "Array(String)": ["capture"]}
    lists |= {"Array(UInt64)": [1], "Array(UInt16)": [1]}
    given: dict[str, object] = {"from_ns": T0, "to_ns": T0 + STEP, "step_ns": STEP}
    rollups = {"te_links": "link_seconds", "old_links": "link_minutes",
               "links_kept": "link_hours", "flow_signals_long": "flow_seconds",
               "flows_sent": "flow_hours"}  # fmt: skip
    given |= {"interval_ns": STEP, "rollup": rollups.get(name, "path_seconds")}
    assert (
        store.query(
            name,
            **{
                parameter: given.get(parameter, lists.get(kind, 1))
                for parameter, kind in wanted.items()
            },
        )
        is not None
    )


def test_numbers_in_queries_are_those_of_the_code() -> None:
    calm = set(KINDS) - set(HOLDING)
    for name in QUERIES:
        text = question(name)
        for listed in re.findall(r"kind NOT IN \(([^)]*)\)", text):
            assert set(re.findall(r"'(\w+)'", listed)) == calm
        slices_of = re.findall(
            r"intDiv\([^,]*_ns[^,]*, (\d+)\)", text.replace("{step_ns:Int64})", "x)")
        )
        assert set(slices_of) <= {str(SLICE_NS)}


def test_wrong_parameters_and_unknown_queries_are_told(store: Store) -> None:
    with pytest.raises(StoreError, match="query flow_of_hash takes flow; given: none"):
        store.query("flow_of_hash")
    with pytest.raises(StoreError, match=r"there is no query '\.\./flows'"):
        store.query("../flows")


def test_parameters_are_values_and_never_sql(store: Store) -> None:
    with pytest.raises(StoreError, match="query flow_of_hash failed"):
        store.query("flow_of_hash", flow="1 OR 1 = 1")


def test_readers_cannot_write(store: Store) -> None:
    store.query("extent")
    for readers in (store._readers, store._together._readers):
        with readers.one() as reader, pytest.raises(StoreError, match="readonly"):
            reader.command("DROP TABLE flows")


def test_limits_of_rows_and_time_are_told(store: Store) -> None:
    store.insert("hop_intervals", hop_rows(4, 50), "limits")
    asked = {"flow": 4, "from_ns": T0, "to_ns": T0 + 100 * STEP, "step_ns": 0}
    tight = Connection(
        store.address, StoreLimits(query_rows=10), {"max_result_rows": 10}, "hopsight"
    )
    with pytest.raises(
        StoreLimit, match="query flow_hops gives more than 10 rows; ask for a shorter"
    ):
        tight.frame("flow_hops", question("flow_hops"), asked)
    tight.close()
    slow = Connection(
        store.address, StoreLimits(query_s=0.2), {"max_execution_time": 0.2}, "hopsight"
    )
    with pytest.raises(StoreLimit, match=r"took longer than 0\.2 s"):
        slow.frame("slow", "SELECT sum(sipHash64(number)) FROM numbers(100000000000)", {})
    slow.close()


def test_reading_goes_on_while_rows_are_written(store: Store) -> None:
    """A query is answered from another thread while inserts are under way."""
    frame = hop_rows(5, 20_000)
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            store.insert("hop_intervals", frame, f"busy/{number}")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        until, answered = time.monotonic() + 1.0, 0
        while time.monotonic() < until:
            store.query("flow_hops", flow=5, from_ns=T0, to_ns=T0 + 10 * STEP, step_ns=0)
            answered += 1
    finally:
        done.set()
        writer.join()
    assert answered > 1


def test_rows_that_are_asked_for_by_flow_lie_in_one_file_a_part(store: Store) -> None:
    # Of more bytes than the engine's own bound (10 MB), beyond which a column has files of its own.
    counts = ("frames", "bytes", "data_bytes", "data_frames", "acks", "acked_bytes")
    rows = pl.DataFrame({"time_ns": pl.arange(T0, T0 + 200_000, eager=True), "interval_ns": STEP})
    told = rows.with_columns(pl.col("time_ns").alias(name) for name in ("flow", *counts))
    store.insert("flow_intervals", told, "many")
    with store.alone() as engine:
        [kinds] = engine.rows(
            "SELECT groupUniqArray(part_type), max(data_uncompressed_bytes) > 10485760"
            " FROM system.parts WHERE active AND rows = 200000 AND table = 'flow_intervals'"
        )
    assert kinds == (["Compact"], True)
    assert {table.name for table in TABLES.values() if table.one_file} == {
        "flow_by_ends", "flow_intervals", "flow_told", "observations"
    }  # fmt: skip


def test_the_newest_revision_of_a_verdict_holds(store: Store) -> None:
    frame = pl.DataFrame(
        {
            "time_ns": [T0, T0],
            "interval_ns": STEP,
            "flow": 77,
            "kind": ["incast", "core"],
            "revision": [2, 1],
        },
        schema_overrides={"flow": pl.UInt64, "revision": pl.UInt64},
    )
    store.insert("verdicts", frame[:1], "r/2")
    store.insert("verdicts", frame[1:], "r/1")
    window = {"flow": 77, "from_ns": T0, "to_ns": T0 + STEP, "interval_ns": STEP}
    found = newest(map(verdict_row, parted(store.query("flow_bottleneck", **window))[0]))
    assert [row["kind"] for row in found] == ["incast"]


def test_the_engine_keeps_no_logs_of_its_own(store: Store) -> None:
    place = store.address.path
    assert place is not None
    # os.walk passes over the folders of merges that end while it looks.
    files = [name for _, _, names in os.walk(place) for name in names]
    assert files
    assert [name for name in files if ".log" in name] == []
    assert (
        rows(
            store,
            "SELECT name FROM system.tables WHERE database = 'system' AND engine LIKE '%MergeTree'",
        )
        == []
    )


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("", "is no store address; accepted: chdb:///absolute/directory"),
        ("chdb://relative/place", "names no absolute directory"),
        ("chdb:///", "names no absolute directory"),
        ("chdb:///data/store?verify=0", "an embedded store has no options"),
        ("chdb:///data/store#2", "a # of its directory is written %23"),
        ("postgres://user:secret@host/db", "'postgres://host/db' is no store address"),
        ("http://", "is no store address"),
        ("chdb:///tmp/%61", None),
    ],
)
def test_addresses_of_stores(dsn: str, said: str | None) -> None:
    if said is None:
        assert parse_address(dsn).path == Path("/tmp/a")  # noqa: S108
        return
    with pytest.raises(StoreError, match=re.escape(said)):
        parse_address(dsn)


def test_a_path_is_an_embedded_store_and_passwords_are_not_shown(tmp_path: Path) -> None:
    assert parse_address(str(tmp_path / "x")) == parse_address(f"chdb://{tmp_path / 'x'}")
    server = parse_address("https://me:secret@store.example:8443/traffic")
    assert (server.database, server.name) == ("traffic", "https://store.example:8443/traffic")


@pytest.mark.parametrize("given", ["password=hush", "secure=1", "user=hush", "nonsense=", "host=b"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_option_that_is_not_accepted_is_named_without_its_value(given: str, scheme: str) -> None:
    with pytest.raises(StoreError) as refused:
        parse_address(f"{scheme}://me:secret@h:1/d?{given}")
    name = given.partition("=")[0]
    for unescaped in ("12?s3cret@h/d", "12#s3cret@h/d"):
        with pytest.raises(StoreError) as torn:
            parse_address(f"{scheme}://me:{unescaped}")
        assert "s3cret" not in str(torn.value)
    assert f"store '{scheme}://h:1/d' has the option {name!r}; accepted" in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_options_of_tls_are_accepted_of_https() -> None:
    dsn = "https://h:1/d?verify=false&ca_cert=/ca.pem"
    assert parse_address(dsn).dsn == dsn
    with pytest.raises(StoreError, match="of https alone"):
        parse_address("http://h:1/d?verify=false")


def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(StoreError) as away:
        Store("http://me:secret@127.0.0.1:9/x")
    told = "the store http://127.0.0.1:9/x does not answer: connection refused"
    assert str(away.value) == told


def test_a_server_that_hangs_up_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(StoreError, match=r"/x does not answer: [^()]+$"):
            Store(f"http://127.0.0.1:{port}/x")
        listener.shutdown(socket.SHUT_RDWR)


def test_limits_name_what_is_accepted() -> None:
    with pytest.raises(ValidationError, match="there is no table 'flow'; accepted: flows"):
        StoreLimits(retention_days={"flow": 1})
    for days in (-1, 10_001):
        with pytest.raises(ValidationError, match=r"accepted: 0 \(for ever\) to 10,000"):
            StoreLimits(retention_days={"flows": days})


SINCE = 10**12
"""After the versions that other tests bring, before their loads."""


def test_names_are_those_of_the_versions_in_force_in_the_window(store: Store) -> None:
    """Port 2 is taken away, port 3 is new and port 1 gets another name at `SINCE` + 1,000."""
    versions = {SINCE: {1: "old1", 2: "old2"}, SINCE + 1_000: {1: "new1", 3: "new3"}}
    for since_ns, names in versions.items():
        hops = pl.DataFrame(
            {"node": 77, "port": list(names), "valid_from_ns": since_ns, "topology": str(since_ns),
             "device": "leaf", "interface": list(names.values()), "told_ns": 2**62}
        )  # fmt: skip
        store.insert("hops", hops, f"versions {since_ns}")

    def named(at_ns: int) -> list[str]:
        found = store.query("hops", at_ns=at_ns).filter(pl.col("node") == 77)
        return found.sort("port")["interface"].to_list()

    assert named(SINCE + 999) == ["old1", "old2"]
    assert named(SINCE + 1_000) == ["new1", "new3"]
    loads = pl.DataFrame(
        {"time_ns": SINCE + 500, "interval_ns": 10, "flow": 1, "point": "p", "node": 77,
         "port": [1, 2], "hop_index": 0, "source": "int", "samples": 1, "u_sum_n": 10**9,
         "u_max_n": 10**12, "standing": 0}
    )  # fmt: skip
    store.insert("hop_intervals", loads, "loads of versions")
    for window, wanted in (((500, 600), ["old1", "old2"]), ((500, 2_000), ["new1", "old2"])):
        hot = store.query(
            "hot_links", from_ns=SINCE + window[0], to_ns=SINCE + window[1], rows=5, step_ns=100
        )
        here = hot.filter(pl.col("node") == 77).sort("port")
        assert here["interface"].to_list() == wanted, "a port that was taken away keeps its name"


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_there_is_not_is_named(port: str) -> None:
    with pytest.raises(StoreError, match="has a port that is none"):
        parse_address(f"http://me:secret@h:{port}/d")


@pytest.mark.parametrize(("scheme", "first"), [("https", b"\x16"), ("http", b"P")])
def test_a_server_is_spoken_to_as_its_address_says_whatever_its_port(
    scheme: str, first: bytes
) -> None:
    """TLS begins with a record of a handshake; without it a password would go over in the open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard: list[bytes] = []

        def hear() -> None:
            client, _ = server.accept()
            server.close()  # who tries again is refused, and waits for nobody
            with client:
                heard.append(client.recv(1))

        port = server.getsockname()[1]
        listening = threading.Thread(target=hear)
        listening.start()
        with pytest.raises(StoreError, match="does not answer"):
            Store(f"{scheme}://me:secret@127.0.0.1:{port}/x")
        listening.join()
    assert heard == [first]
