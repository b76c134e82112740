"""A day of 50,000 flows in a store: 100 million observations, and the verdicts that go with them.

The rows are those that the pipeline made of a capture of a busy mirror (`mirror.py`), which the
engine itself copies to other flows and times: each flow sends in turns of 200 frames within a
second, of which it has as many as Zipf's law with exponent 1.2 gives it, at seeded times of the
day. Observations, flows, verdicts (100 ms and 1 s), intervals and rollups of flows are whole;
intervals of hops, whose key begins with the time, are those of the last hour.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mirror
import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import TCP, CollectorSettings, flow_keys, salt
from pipeline import TABLES, PipelineSettings, Store
from pipeline.insert_body import Bodies
from pipeline.signals import reverse
from replay.wiring import topology
from service.keeping import store_sink
from service.run import Job, run_job

FLOWS, EXPONENT, SEED = 50_000, 1.2, 7
TURN, GAP_NS = 200, 5_000_000
"""Frames of a turn, and the time from one to the next."""
HOURS = 24
HOUR_NS, S = 3_600 * 10**9, 10**9
DAY_NS = 1_771_243_200 * S
"""When the day begins, at noon, ns since 1970."""
TEMPLATES, STEP_NS = 45_000, 100_000
"""Frames whose rows are copied, and the time from one to the next: every length of intervals."""
WIDE = frozenset({"turn", "conversation", "flow", "reverse"})
HOST_PORTS, HOSTS = 1_000, 250
LENGTHS = (100_000_000, S)
KEYED = {
    "flow": "if(t.echo, t.reverse, t.flow)", "conversation": "t.conversation",
    "direction": "toUInt8(NOT t.echo)",
    "src_lo": "if(t.echo, t.dst_lo, t.src_lo)", "dst_lo": "if(t.echo, t.src_lo, t.dst_lo)",
    "sport": "toUInt16(if(t.echo, t.dport, t.sport))",
    "dport": "toUInt16(if(t.echo, t.sport, t.dport))",
}  # fmt: skip
"""Columns of a frame of a turn `t`; an `echo` goes the other way."""
COPIED = ("observations", "verdicts", "flow_intervals", "hop_intervals")
KINDS = {"observations": "isNull(csig_echo_t)", "verdicts": "interval_ns",
         "flow_intervals": "data_frames > 0"}  # fmt: skip
"""What tells rows apart of which some are copied to a place."""
BLOCKS = {"max_block_size": 512, "min_insert_block_size_rows": 1 << 18,
          "min_insert_block_size_bytes": 1 << 27, "max_threads": 2,
          "max_insert_threads": 1, "max_joined_block_size_rows": 8_192, "async_insert": 0,
          "optimize_on_insert": 0}  # fmt: skip


class Day(NamedTuple):
    """The turns of all flows, in order of time: whose, when, of how many frames."""

    flows: pl.DataFrame
    rank: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    frames: NDArray[np.int64]


def day_of(frames: int) -> Day:
    """Who sends when; the same for the same number of frames."""
    chance = np.random.default_rng(SEED)
    weight = np.arange(1.0, FLOWS + 1) ** -EXPONENT
    share = np.maximum((frames * weight / weight.sum()).astype(np.int64), 1)
    share[0] += frames - share.sum()
    turns = -(-share // TURN)
    rank = np.repeat(np.arange(FLOWS), turns)
    size = np.full(len(rank), TURN, np.int64)
    size[np.cumsum(turns) - 1] = share - (turns - 1) * TURN
    start_ns = DAY_NS + chance.integers(0, HOURS * HOUR_NS - 2 * S, len(rank))
    order = np.argsort(start_ns, kind="stable")
    return Day(flows_of(), rank[order], start_ns[order], size[order])


def flows_of() -> pl.DataFrame:
    """Keys of the flows by their rank; `reverse` is the flow of their acknowledgments."""
    rank, none = np.arange(FLOWS), np.zeros(FLOWS, np.uint32)
    made = {name: np.empty(FLOWS, np.uint64) for name in ("conversation", "flow")}
    made["direction"] = np.empty(FLOWS, np.uint8)
    mapped = 0xFFFF << 32
    lower = {
        "src_lo": mapped + (10 << 24) + (2 << 16) + rank // HOST_PORTS + 1,
        "dst_lo": mapped + (10 << 24) + (1 << 16) + rank % HOSTS + 1,
    }
    ports = {"sport": 20_000 + rank % HOST_PORTS, "dport": np.full(FLOWS, 5001)}
    src_lo, dst_lo = (each.astype(np.uint64) for each in lower.values())
    high, protocol = np.zeros(FLOWS, np.uint64), np.full(FLOWS, TCP, np.uint8)
    hashed: Any = flow_keys
    hashed(high, src_lo, high, dst_lo, *(each.astype(np.uint16) for each in ports.values()),
           protocol, none, none, salt("", ""), *made.values())  # fmt: skip
    one = pl.DataFrame(made)
    return one.with_columns(reverse=reverse(one), rank=rank, **lower, **ports)


def seeded(store: Store) -> None:
    """Rows to copy, as the pipeline makes them, in tables `seed_*`; they are numbered."""
    mirror.STEP_NS = STEP_NS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mirror.pcap"
        mirror.csig(path, TEMPLATES // mirror.TURN * mirror.TURN)
        made = topology(mirror.CSIG_WORLD)
        job = Job([path], CollectorSettings(), PipelineSettings(), made)
        run_job(job, lambda _: store_sink(store), "")
    with store.alone() as engine:
        for name in COPIED:
            kind = KINDS.get(name, "1")
            number = "row_number() OVER (PARTITION BY kind ORDER BY cityHash64(*)) - 1 AS number"
            engine.command(
                f"CREATE TABLE seed_{name} ENGINE = MergeTree ORDER BY (kind, number)"  # noqa: S608 - our own names
                f" AS SELECT *, toInt64({kind}) AS kind, {number} FROM {name}"
            )
        for name in TABLES:
            engine.command(f"TRUNCATE TABLE {name}")


def begin(store: Store, day: Day) -> None:
    """Flows and turns; the turns are read by the statements that copy rows."""
    last = pl.DataFrame({"rank": day.rank, "at": day.start_ns, "n": day.frames}).group_by("rank")
    seen = last.agg(
        first_ns=pl.col("at").min(), last_ns=(pl.col("at") + pl.col("n") * GAP_NS).max()
    )
    known = day.flows.join(seen, on="rank").with_columns(
        tenant=pl.lit(""), vrf=pl.lit(""), src_hi=0, dst_hi=0, protocol=TCP, cc=pl.lit("dctcp"),
        dscp=0,
    )  # fmt: skip
    here = known.drop("rank", "reverse")
    back = known.with_columns(
        flow="reverse", direction=0, src_lo="dst_lo", dst_lo="src_lo", sport="dport", dport="sport",
        cc=pl.lit(None), dscp=pl.lit(None),
    ).drop("rank", "reverse")  # fmt: skip
    for name, rows in (("here", here), ("back", back)):
        store.insert("flows", rows, f"flows/{name}")
    turns = pl.DataFrame({"rank": day.rank, "start_ns": day.start_ns, "frames": day.frames})
    turns = turns.with_row_index("turn").join(day.flows, on="rank", maintain_order="left")
    kinds = {name: "UInt64" if name in WIDE else "Int64" for name in turns.columns}
    columns = ", ".join(f"`{name}` {kind}" for name, kind in kinds.items())
    typed = turns.cast({name: getattr(pl, kind) for name, kind in kinds.items()})
    with store.alone() as engine, Bodies().one() as body:
        body.write(typed)
        engine.command(f"CREATE TABLE turns ({columns}) ENGINE = MergeTree ORDER BY start_ns")
        engine.insert("turns", typed.columns, body, "turns")


def hour(store: Store, number: int) -> None:
    """Rows of one hour of the day."""
    with store.alone() as engine:
        counts = {
            (name, int(kind)): int(rows)
            for name in COPIED
            for kind, rows in engine.rows(f"SELECT kind, count() FROM seed_{name} GROUP BY 1")  # noqa: S608 - our own names
        }
        told = ", ".join(f"{name} = {value}" for name, value in BLOCKS.items())
        for statement in statements(number, counts):
            engine.command(f"{statement} SETTINGS {told}")


def statements(number: int, counts: dict[tuple[str, int], int]) -> Iterator[str]:
    """What copies the rows of an hour, table by table; `counts` are the rows that there are."""
    begun = DAY_NS + number * HOUR_NS
    turns = f"turns WHERE start_ns >= {begun} AND start_ns < {begun + HOUR_NS}"
    one, other = counts["observations", 1], counts["observations", 0]
    frames = f"SELECT *, arrayJoin(range(toUInt64(frames))) AS n FROM {turns}"  # noqa: S608 - our own words
    yield copied(
        "observations",
        f"*, n % 3 = 2 AS echo, start_ns + n * {GAP_NS} AS at_ns, toInt64(NOT echo) AS kind,"
        f" cityHash64(turn, n) % if(echo, {other}, {one}) AS number",
        frames,
        KEYED | {"time_ns": "t.at_ns", "frame": f"t.turn * {TURN} + t.n"},
    )
    for length in LENGTHS:
        most = counts["verdicts", length]
        yield copied(
            "verdicts",
            f"DISTINCT rank, flow, src_lo, dst_lo, sport, dport, at * {length} AS at_ns,"
            f" {length} AS kind, cityHash64(rank, intDiv(at, 20)) % {most} AS number",
            cut(turns, length),
            {name: f"t.{name}" for name in ("flow", "src_lo", "dst_lo")}
            | {name: f"toUInt16(t.{name})" for name in ("sport", "dport")}
            | {"time_ns": "t.at_ns"},
        )
    own = {"time_ns": "t.at_ns", "flow": "t.flow"}
    for kind, flow in enumerate(("reverse", "flow")):
        most = counts["flow_intervals", kind]
        yield copied(
            "flow_intervals",
            f"DISTINCT {flow} AS flow, at * {LENGTHS[0]} AS at_ns, {kind} AS kind,"
            f" cityHash64(flow, at) % {most} AS number",
            cut(turns, LENGTHS[0]),
            own,
        )
    if number == HOURS - 1:
        most = counts["hop_intervals", 1]
        yield copied(
            "hop_intervals",
            f"DISTINCT flow, arrayJoin([0, 1, 2]) AS hop, at * {LENGTHS[0]} AS at_ns, 1 AS kind,"
            f" cityHash64(flow, hop, at) % {most} AS number",
            cut(turns, LENGTHS[0]),
            own,
        )


def cut(turns: str, length: int) -> str:
    """The intervals of a length in which a turn has frames."""
    last = f"intDiv(start_ns + (frames - 1) * {GAP_NS}, {length})"
    each = f"arrayJoin(range(intDiv(start_ns, {length}), {last} + 1)) AS at"
    return f"SELECT *, {each} FROM {turns}"  # noqa: S608 - our own words


def copied(table: str, asked: str, among: str, own: dict[str, str]) -> str:
    """The statement that copies numbered rows of a kind to other flows and times."""
    names = [column.name for column in TABLES[table].columns]
    values = ", ".join(f"{own.get(name, f's.{name}')} AS {name}" for name in names)
    return (
        f"INSERT INTO {table} ({', '.join(names)})"  # noqa: S608 - our own words
        f" SELECT {values} FROM (SELECT {asked} FROM ({among})) AS t"
        f" INNER JOIN seed_{table} AS s ON s.kind = t.kind AND s.number = t.number"
    )
