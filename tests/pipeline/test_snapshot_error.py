"""Snapshots that are not right are refused, each with a sentence that says what is wrong."""

import json
import random
from collections.abc import Callable
from functools import cache
from math import nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline import SnapshotError
from pipeline.memory import Mark
from tests.pipeline.test_snapshot import SECOND, Traffic, tracker, whole


@cache
def taken() -> tuple[pa.Table, pa.Table, dict[str, int]]:
    """A full snapshot, an increment, and the counters of the former."""
    of = tracker()
    of.advance(Traffic(3).frame(3000))
    first, counts = of.snapshot(), of.counters
    of.advance(Traffic(3).frame(3100)[3000:])
    return first, of.snapshot(), counts


def full() -> pa.Table:
    return taken()[0]


def column(name: str) -> Any:
    return full()[name].to_numpy()


def test_increments_come_after_what_they_follow() -> None:
    made = tracker()
    with pytest.raises(SnapshotError, match="first snapshot to restore is a full one"):
        made.restore(taken()[1])
    made.restore(full())
    made.restore(taken()[1])
    with pytest.raises(SnapshotError, match="does not follow the one that was restored last"):
        made.restore(taken()[1])
    made.restore(full())
    made.advance(Traffic(3).frame(10))
    with pytest.raises(SnapshotError, match="has gone on since"):
        made.restore(taken()[1])


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"flows": 4096}, "the flow table's places = 32, and this tracker has 8192"),
        ({"idle_ns": SECOND}, "idle_ticks = 57220, and this tracker has 953"),
        (
            {"tx_modulus_bytes": 1 << 32},
            r"tx_mask = \[-1, 134217727, 4294967295\], and this tracker has",
        ),
        ({"dctcp_parameters": {"g": 0.25}}, r"dctcp.auto.g = 0.0625, and this tracker has 0.25"),
        ({"dctcp_parameters": {"dialect": "ns3"}}, "dctcp.dialect = 0, and this tracker has 3"),
        ({"companions": {"swift": {}}}, r"companions = \[\], and this tracker has \['swift'\]"),
    ],
)
def test_a_snapshot_of_other_parameters_is_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        tracker(**changed).restore(full())


def told(table: pa.Table, **changed: Any) -> pa.Table:
    """With other metadata; None takes a part away."""
    heading = json.loads(table.schema.metadata[b"hopsight"]) | changed
    heading = {name: value for name, value in heading.items() if value is not None}
    return table.replace_schema_metadata({b"hopsight": json.dumps(heading).encode()})


def with_column(name: str, values: pa.Array) -> pa.Table:
    at = full().schema.get_field_index(name)
    return full().set_column(at, pa.field(name, values.type), values)


def counters(**changed: Any) -> dict[str, Any]:
    return {"counters": taken()[2] | changed}


HEADINGS: list[tuple[Callable[[], pa.Table], str]] = [
    (lambda: full().replace_schema_metadata(None), "is no snapshot"),
    (lambda: full().replace_schema_metadata({b"hopsight": b"{"}), "is no snapshot"),
    (lambda: full().replace_schema_metadata({b"hopsight": b"[]"}), "is no snapshot"),
    (lambda: full().replace_schema_metadata({b"hopsight": b"\xff"}), "is no snapshot"),
    (lambda: told(full(), version=2), "has the format 2, and this is 1"),
    (lambda: told(full(), points=None), "metadata lacks points"),
    (lambda: told(full(), follows=7), "metadata lacks follows"),
    (lambda: told(full(), points=["p", "p"]), "points are not names of which each is there once"),
    (lambda: told(full(), points=[1]), "points are not names"),
    (lambda: told(full(), **counters(gaps=-1)), "counter gaps is -1"),
    (lambda: told(full(), **counters(gaps=1 << 63)), "counter gaps is 9223372036854775808"),
    (lambda: told(full(), **counters(gaps=float("nan"))), "counter gaps is nan"),
    (lambda: told(full(), **counters(gaps=True)), "counter gaps is True"),
    (lambda: told(full(), counters={}), "counter decisions is None"),
]


def changed(name: str, at: int, value: Any) -> pa.Table:
    values = column(name).copy()
    values[at] = value
    return with_column(name, pa.array(values))


ENTRIES: list[tuple[Callable[[], pa.Table], str]] = [
    (
        lambda: full().drop_columns("seen"),
        "has the columns table, place, key, number, flow, hosts, stream, and not",
    ),
    (
        lambda: full().append_column("more", pa.array(column("place"))),
        "has the columns table, place, key, seen, number, flow, hosts, stream, more",
    ),
    (
        lambda: full().append_column("key", full()["key"]),
        "has the columns table, place, key, seen, number, flow, hosts, stream, key",
    ),
    (
        lambda: with_column("place", pa.array(column("place").astype(np.int64))),
        "place is int64, and not int32",
    ),
    (
        lambda: with_column("seen", pa.array(column("seen").astype(float))),
        "seen is double, and not uint32",
    ),
    (
        lambda: with_column("key", pa.array([None, *column("key")[1:].tolist()], pa.uint64())),
        "nulls in key",
    ),
    (lambda: changed("place", 31, 32), "places that are not within 0 to 31"),
    (lambda: changed("place", 0, -1), "places that are not within 0 to 31"),
    (lambda: changed("place", 1, column("place")[0]), "not in order, each once"),
    (lambda: full().take(pa.array([1, 0])), "not in order, each once"),
    (lambda: full().take(pa.array([full().num_rows - 1, 0])), "not in the order of their tables"),
    (lambda: changed("table", -1, 3), "not in the order of their tables"),
    (lambda: changed("table", 31, 1), "a wrong number of records in flow"),
    (lambda: changed("number", -1, 10_000), "numbers are not those from 0 on, each once"),
    (lambda: changed("number", -1, -1), "numbers are not those from 0 on, each once"),
    (lambda: full()[:-1], "numbers are not those from 0 on, each once"),
    (lambda: changed("key", 3, 0), "a flow without a key"),
    (lambda: changed("key", 3, column("key")[0]), "where no look-up would find it"),
    (lambda: changed("key", 3, column("key")[3] ^ np.uint64(1)), "no look-up would find it"),
    (lambda: changed("seen", 3, column("seen")[3] | 7), "of a rank that is not within 0 to 4"),
    (lambda: changed("seen", 3, column("seen")[3] | 8), "of a rank that is not within 0 to 4"),
]


@pytest.mark.parametrize(("table", "sentence"), HEADINGS + ENTRIES)
def test_what_is_no_snapshot_of_such_a_tracker_is_refused(
    table: Callable[[], pa.Table], sentence: str
) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        tracker().restore(table())


Rows = list[dict[str, Any]]


def first(rows: Rows, *path: str) -> dict[str, Any]:
    """The first record below a path of fields, of those that there are."""
    found: Any = rows
    for name in path:
        below = [each[name] for each in found]
        while below and isinstance(below[0], list):
            below = [one for each in below for one in each]
        found = below
    record: dict[str, Any] = found[0]
    return record


def setting(field: str, value: Any, *path: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        first(rows, *path)[field] = value

    return change


def emptied(field: str, mark: Mark) -> Callable[[Rows], None]:
    """What a sender with a mark has of something is taken away."""

    def change(rows: Rows) -> None:
        for row in rows:
            for d in range(2):
                if row["marks"][d] & mark:
                    holder, at = (row[field], d) if field in row else (row["dctcp"][d][0], field)
                    holder[at] = []
                    return
        raise AssertionError

    return change


def doubled(*path: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        *above, field = path
        record = first([row for row in rows if row["dctcp"][0]], *above)
        lists = record[field] if isinstance(record[field][0], list) else [record[field]]
        lists[0].append(lists[0][0])

    return change


DAMAGES: list[tuple[Callable[[Rows], None], str]] = [
    (setting("syn_ns", None), "nulls in flow.syn_ns"),
    (setting("marks", [0, None]), "nulls in flow.marks"),
    (setting("U", None, "hpcc"), "nulls in hpcc.U"),
    (setting("link", None, "hpcc"), "nulls in hpcc.link"),
    (setting("marks", [0, -1]), "of a sender that has it by its marks"),
    (setting("U", nan, "hpcc"), "hpcc.U from nan to nan, which is not within 0 to inf"),
    (setting("nhop", 13, "hpcc"), "hpcc.nhop from 0 to 13, which is not within 0 to 12"),
    (setting("room", -1, "loads"), "wrong number of records in loads.link"),
    (setting("room", 7, "hpcc"), "wrong number of records in hpcc.link"),
    (setting("alpha", nan, "dctcp"), "dctcp.alpha from nan"),
    (setting("ssthresh", -1.0, "dctcp"), "dctcp.ssthresh from -1.0"),
    (setting("count", 5, "pending"), "pending.count from 0 to 5"),
    (setting("keeps", [nan] * 4, "pending"), "pending.keeps from nan"),
    (setting("count", 7, "dctcp", "board"), "boards.count from 0 to 7"),
    (setting("first", 16, "dctcp", "late"), "late.first from 0 to 16"),
    (setting("count", -1, "dctcp", "late"), "late.count from -1 to"),
    (doubled("dctcp"), "wrong number of records in flow.dctcp"),
    (doubled("hpcc", "link"), "wrong number of records in hpcc.link"),
    (emptied("dctcp", Mark.DCTCP), "lacks dctcp of a sender that has it by its marks"),
    (emptied("hpcc", Mark.HPCC), "lacks hpcc of a sender"),
    (emptied("loads", Mark.LOADS), "lacks loads of a sender"),
    (emptied("pending", Mark.PENDING), "lacks pending of a sender"),
    (emptied("board", Mark.BOARD), "lacks board of a sender"),
    (emptied("late", Mark.LATE), "lacks late of a sender"),
]


@pytest.mark.parametrize(("change", "sentence"), DAMAGES)
def test_records_that_the_loop_could_not_work_on_are_refused(
    change: Callable[[Rows], None], sentence: str
) -> None:
    lists = full()["flow"].to_pylist()
    change([row for rows in lists for row in rows])
    table = with_column("flow", pa.array(lists, full().schema.field("flow").type))
    made = tracker()
    before = whole(made)
    with pytest.raises(SnapshotError, match=sentence):
        made.restore(table)
    assert whole(made) == before


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("count", [0, 129], "hosts.count from 0 to 129, which is not within 0 to 128"),
        ("waiting", [-1] * 256, "hosts.waiting from -1 to"),
        ("waiting", [1 << 17] * 256, "hosts.waiting from 0 to 131072, which is not within"),
    ],
)
def test_hosts_that_name_streams_that_cannot_be_are_refused(
    field: str, value: Any, sentence: str
) -> None:
    lists = full()["hosts"].to_pylist()
    next(rows[0] for rows in lists if rows)[field] = value
    table = with_column("hosts", pa.array(lists, full().schema.field("hosts").type))
    with pytest.raises(SnapshotError, match=sentence):
        tracker().restore(table)


def test_companions_state_that_cannot_be_is_refused() -> None:
    of = tracker(companions={"swift": {}})
    of.advance(Traffic(3).frame(500))
    table = of.snapshot()
    at, lists = table.schema.get_field_index("round_trips"), table["round_trips"].to_pylist()
    held = [one for row in lists for sender in row for one in sender]
    held[0]["timed"][0]["first"] = 64
    damaged = table.set_column(at, table.schema.field(at), pa.array(lists, table.field(at).type))
    with pytest.raises(SnapshotError, match=r"timed.first from 0 to 64, which is not within 0 to"):
        tracker(companions={"swift": {}}).restore(damaged)


def test_what_a_companion_knows_of_ports_is_not_kept_and_that_is_said() -> None:
    with pytest.raises(SnapshotError, match="what the companion hpcc_qos knows of ports"):
        tracker(companions={"hpcc_qos": {}}).snapshot()


def test_a_null_row_is_refused() -> None:
    lists = full()["flow"].to_pylist()
    for nothing in (None, [None]):
        table = with_column(
            "flow", pa.array([nothing, *lists[1:]], full().schema.field("flow").type)
        )
        with pytest.raises(SnapshotError, match="nulls in flow"):
            tracker().restore(table)


def renamed(kind: pa.DataType, of: str, to: pa.Field | None) -> pa.DataType:
    """A type of which one field, wherever it is, is another or not there."""
    if pa.types.is_struct(kind):
        fields = [to if each.name == of else each.with_type(renamed(each.type, of, to))
                  for each in kind]  # fmt: skip
        return pa.struct([each for each in fields if each])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(renamed(kind.value_type, of, to), kind.list_size)
    return pa.list_(renamed(kind.value_type, of, to)) if pa.types.is_list(kind) else kind


@pytest.mark.parametrize(
    ("field", "becomes", "sentence"),
    [
        ("alpha", pa.field("alpha", pa.int64()), "flow.dctcp.alpha is int64, and not double"),
        ("lost_to", None, "flow.dctcp.board.lost_to is missing"),
        ("lost_to", pa.field("other", pa.int64()), "flow.dctcp.board.lost_to is missing"),
        ("iss", pa.field("iss", pa.list_(pa.uint32(), 3)), "flow.iss is fixed_size_list<item: "),
    ],
)
def test_records_of_other_fields_are_refused(
    field: str, becomes: pa.Field | None, sentence: str
) -> None:
    kind = renamed(full().schema.field("flow").type, field, becomes)
    with pytest.raises(SnapshotError, match=sentence):
        tracker().restore(with_column("flow", pa.nulls(full().num_rows, kind)))


def test_octets_that_changed_on_the_way_never_do_harm() -> None:
    """Whatever gets through is state that the loop can work on."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, full().schema) as writer:
        writer.write_table(full())
    sent, draw, rows = sink.getvalue().to_pybytes(), random.Random(1), Traffic(4).frame(300)
    refused = 0
    for _ in range(400):
        came = bytearray(sent)
        for _ in range(draw.randint(1, 3)):
            came[draw.randrange(len(came) // 4, len(came))] = draw.randrange(256)
        made = tracker()
        try:
            made.restore(pa.ipc.open_stream(bytes(came)).read_all())
        except SnapshotError:
            refused += 1
        except (pa.ArrowException, OSError):  # Arrow itself cannot read it
            continue
        made.advance(rows)
    assert refused > 10
