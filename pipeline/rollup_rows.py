"""Closed intervals as rows of `link_seconds` and `path_seconds`: what spans flows adds up there.

Rows are partial sums by nature: whatever else falls into the same second, from a late row or from
another worker, is added by the store.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from polars.datatypes import DataTypeClass

from collector import arrow, at_once
from pipeline.completeness import in_hand
from pipeline.endpoint import NETWORK, Endpoint, endpoints, owned
from pipeline.gaps import sent_bytes
from pipeline.group_lists import lists
from pipeline.groups import Ints, numbered, words
from pipeline.heaps import Heaps
from pipeline.histogram import METRICS, REGISTERS, registers
from pipeline.kind import AT_HOSTS, HOLDING, RECEIVER
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.tables import TABLES
from pipeline.tables.rollup import NO_CLASS, SECOND_NS, TRAFFIC
from pipeline.tallies import COUNTED
from pipeline.tallies import added as in_all
from pipeline.topology import Topology
from pipeline.versions import Versions

LINK = ["time_ns", "node", "port", "dscp"]
PATH = ["scope", *NETWORK, "src", "dst", "dscp"]
FEW = ("dscp", "source")
"""What tallies are told apart by that has at most 256 values."""
SUMMED = ("samples", "least", "most")
MOST_FRAMES = float(1 << 53)
"""More than anybody sends: what damaged rates say is no more."""
SENT = ("data_bytes", "data_frames", "told_frames", "missed_frames")
ON_LINK = [kind for kind in HOLDING if kind != RECEIVER]
IN_NETWORK = [kind for kind in ON_LINK if kind not in AT_HOSTS]
"""Kinds of verdicts that say that a port held a flow back, and that one of the network did."""
RANKS = 1 << 8
"""More than the largest rank of a register."""
LEAST, MOST = {"abw": "abw_min_bps"}, {
    "u": "u_max_n", "utilization": "utilization_max_n", "abw": "abw_max_bps",
    "delay": "delay_max_ns",
}  # fmt: skip


class Closed(NamedTuple):
    """What is known of intervals that have ended."""

    flows: pl.DataFrame
    flow_intervals: pl.DataFrame
    hop_intervals: pl.DataFrame
    verdicts: pl.DataFrame
    link_tally: pl.DataFrame
    path_tally: pl.DataFrame


def summed(closed: Closed, versions: Versions) -> dict[str, pl.DataFrame]:
    """Rows of the tables of seconds, each by the topology that was in force then."""
    parts = [dict(versions.split(frame)) if frame.height else {} for frame in closed[1:]]
    made = []
    for topology in dict.fromkeys(topology for part in parts for topology in part):
        own = [
            part.get(topology, frame.clear()) for part, frame in zip(parts, closed[1:], strict=True)
        ]
        made.append(rollup_rows(Closed(closed.flows, *own), topology))
    return {table: pl.concat(rows[table] for rows in made) for table in (made[0] if made else ())}


def rollup_rows(closed: Closed, topology: Topology | None) -> dict[str, pl.DataFrame]:
    """Rows of the tables of seconds, in the order of their keys."""
    classed_flows = classed(owned(closed.flows, topology))
    known = classed_flows.join(endpoints(closed.flows, topology), on="flow")
    classes = known[["flow", "dscp"]]
    bytes_of = sent(closed)
    links = [
        measured(closed.link_tally.join(classes, on="flow"), [*LINK, "source"]),
        traffic(crossing(closed, bytes_of).join(classes, on="flow"), LINK),
    ]
    # Many flows have the same ends in all scopes: they are added up first, whatever these are.
    group, first = numbered(words(known, [name for name in known.columns if name != "flow"]))
    flows = known.select("flow", pl.Series("ends", group))
    counted = added(closed.path_tally.join(flows, on="flow"), ["ends", "source"])
    carried = bytes_of.join(flows, on="flow")
    # Paths are told apart by number too, and named when they are added up.
    ends, names = paths(known[first])
    on_paths = [
        measured(counted.join(ends, on="ends"), ["time_ns", "path", "source"]),
        traffic(carried.join(ends, on="ends"), ["time_ns", "path"]),
    ]
    named = [pl.DataFrame([*rows, *names[rows["path"]]]) for rows in on_paths]
    return {
        "link_seconds": shaped("link_seconds", links),
        "path_seconds": shaped("path_seconds", named),
    }


def paths(ends: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The paths between ends in all scopes: (ends, path) by number, and the name of each path."""
    told = ends.lazy()
    named = at_once(
        pl.concat(
            told.select(
                pl.int_range(pl.len()).alias("ends"),
                *NETWORK,
                "dscp",
                pl.lit(scope).alias("scope"),
                pl.col(f"src_{scope}").alias("src"),
                pl.col(f"dst_{scope}").alias("dst"),
            )
            for scope in Endpoint._fields
        )
    )
    path, first = numbered(words(named, PATH))
    return named.select("ends", pl.Series("path", path)), named[PATH][first]


def classed(flows: pl.DataFrame) -> pl.DataFrame:
    """Class and network of flows that have their owners."""
    vni = pl.col("vni") if "vni" in flows.columns else pl.lit(None, pl.UInt32)
    dscp = pl.col("dscp") if "dscp" in flows.columns else pl.lit(None, pl.UInt8)
    return flows.select(
        "flow",
        pl.when(pl.col("tenant") != "").then("tenant").otherwise("owner").alias("tenant"),
        "vrf",
        vni.cast(pl.String).fill_null("").alias("vni"),
        dscp.fill_null(NO_CLASS).cast(pl.UInt8).alias("dscp"),
    )


def measured(tally: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Tallies of flows as histograms of what they share."""
    rows = added(tally, key[1:])
    group, first = numbered(words(rows, key))
    told = {name: rows[name].to_numpy() for name in (*COUNTED, *SUMMED)}
    order = np.argsort((group << 16) + (told["metric"].astype(np.int64) << 8) + told["bucket"])
    what = group * len(METRICS) + told["metric"]
    sums = in_all(what, len(first) * len(METRICS), *(told[name] for name in SUMMED))
    samples, least, most = (each.reshape(-1, len(METRICS)) for each in sums)
    known = np.zeros(samples.shape, np.bool_)
    known.ravel()[what] = True
    # Every sample tells u, a utilisation, a bandwidth or a delay: the fullest histogram has all.
    columns = [pl.Series("samples", samples.max(axis=1, initial=0))]
    for number, metric in enumerate(METRICS):
        here = order[told["metric"][order] == number]
        own = {name: told[name][here] for name in ("bucket", "samples")}
        columns.append(lists(f"{metric.name}_hist", group[here], len(first), own))
        for ends, values in ((MOST, most), (LEAST, least)):
            if metric.name in ends:
                gone = pl.Series(~known[:, number])
                columns.append(pl.Series(ends[metric.name], values[:, number]).set(gone, None))
    return rows[[*key]][first].hstack(columns)


def added(tally: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Tallies by second and key, bucket by bucket."""
    # What has few values is one word: tallies are long, and every row is looked up by all words.
    few = np.zeros(tally.height, np.uint64)
    for name in (*FEW, *COUNTED):
        if name in key or name in COUNTED:
            few = few * np.uint64(1 << 8) + arrow.values(tally[name]).astype(np.uint64)
    times = arrow.values(tally["time_ns"]) // SECOND_NS
    group, first = numbered(words(tally, [times, *(k for k in key if k not in FEW), few]))
    sums = in_all(group, len(first), *(tally[name].to_numpy() for name in SUMMED))
    begun = pl.Series("time_ns", times[first] * SECOND_NS)
    own = tally[[*key, *COUNTED]][first]
    return pl.DataFrame([begun, *own, *map(pl.Series, SUMMED, sums)])


def sent(closed: Closed) -> pl.DataFrame:
    """What each flow sent in each interval, by the point that saw most, and if it was held back.

    By the network (`affected`), or at a port, which may be the sender's own (`held`). Of a flow of
    which only acknowledgments were captured it is what was acknowledged, in an interval in which
    none of its data was captured what was acknowledged of unseen data.
    """
    alone = closed.flows["flow"].filter(closed.flows["unseen"])
    unseen = pl.col("flow").is_in(alone.implode()) if len(alone) else pl.lit(value=False)
    captured = sent_bytes(closed.flow_intervals.columns)
    told_bytes = pl.when(unseen).then("acked_bytes").otherwise(captured)
    seen = closed.flow_intervals.lazy().select(
        "time_ns",
        "flow",
        told_bytes.fill_null(0).alias("data_bytes"),
        pl.col("data_frames").fill_null(0),
    )
    kind = pl.col("kind")
    held = closed.verdicts.lazy().select(
        "time_ns", "flow", "telemetry", in_hand(), kind.is_in(IN_NETWORK).alias("affected"),
        kind.is_in(ON_LINK).alias("held"), pl.col("node").alias("held_node"),
        pl.col("port").alias("held_port"),
    )  # fmt: skip
    told = pl.col("data_frames") * pl.col("telemetry").fill_null(0.0)
    share = pl.when(pl.col("in_hand") > 0).then("in_hand").otherwise(1.0)
    missed = (pl.col("data_frames") * (1.0 / share - 1.0)).clip(0.0, MOST_FRAMES)
    return at_once(
        seen.group_by("time_ns", "flow")
        .agg(pl.col("data_bytes", "data_frames").max())
        .filter(pl.col("data_bytes") > 0)
        .join(held, on=["time_ns", "flow"], how="left")
        .with_columns(
            pl.col("affected", "held").fill_null(value=False),
            told.round().cast(pl.UInt64).alias("told_frames"),
            missed.round().cast(pl.UInt64).alias("missed_frames"),
        )
        .drop("telemetry", "in_hand")
    )


def crossing(closed: Closed, bytes_of: pl.DataFrame) -> pl.DataFrame:
    """What each flow `sent` over each link that its telemetry names, or that held it back."""
    key = ["time_ns", "flow", "node", "port"]
    held = closed.verdicts.lazy().filter(pl.col("kind").is_in(list(HOLDING)))
    told = [closed.hop_intervals.lazy(), held.drop_nulls(["node", "port"])]
    links = pl.concat([each.select(key) for each in told], how="vertical_relaxed").unique()
    named = links.filter((pl.col("node") != LOCATOR) | (pl.col("port") != UNTOLD))
    here = (pl.col("node") == pl.col("held_node")) & (pl.col("port") == pl.col("held_port"))
    crossed = named.join(bytes_of.lazy(), on=["time_ns", "flow"])
    affected = pl.col("held") & here.fill_null(value=False)
    return at_once(crossed.with_columns(affected.alias("affected")))


def traffic(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Bytes and distinct flows of rows that say what a flow sent."""
    times, held = arrow.values(rows["time_ns"]) // SECOND_NS, arrow.where(rows["affected"])
    heaps = Heaps(rows, [times, *key[1:]])
    group, groups, ranks = heaps.group, len(heaps.first), registers(rows["flow"])
    hindered = np.zeros(rows.height, np.uint64)
    hindered[held] = rows["data_bytes"].to_numpy()[held]
    columns = [
        *rows[[*key[1:]]][heaps.first],
        *(heaps.total(rows[name]) for name in SENT),
        heaps.total(pl.Series("affected_bytes", hindered)),
        largest("flows", group, groups, ranks),
        largest("affected_flows", group[held], groups, ranks[held]),
        pl.Series("source", [TRAFFIC]).new_from_index(0, groups),
    ]
    return pl.DataFrame([pl.Series("time_ns", times[heaps.first] * SECOND_NS), *columns])


def largest(name: str, group: Ints, groups: int, ranks: pl.DataFrame) -> pl.Series:
    """The largest rank of each register that the flows of a group touch."""
    register, rank = (ranks[told].to_numpy().astype(np.int64) for told in ("register", "rank"))
    word = np.sort((group * REGISTERS + register) * RANKS + rank)
    place = word // RANKS
    word = word[np.append(place[1:] != place[:-1], np.ones(min(len(word), 1), np.bool_))]
    own = {
        "register": (word // RANKS % REGISTERS).astype(np.uint8),
        "rank": (word % RANKS).astype(np.uint8),
    }
    return lists(name, word // RANKS // REGISTERS, groups, own)


def shaped(table: str, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Exactly the columns of a table, with its types, in the order of its key."""
    columns = TABLES[table].columns
    whole = [
        pl.DataFrame([filled(rows, column.name, column.dtype) for column in columns]).lazy()
        for rows in parts
    ]
    return at_once(pl.concat(whole).sort(TABLES[table].order))


def filled(rows: pl.DataFrame, name: str, dtype: pl.DataType | DataTypeClass) -> pl.Series:
    """A column in its type; what was not counted is an empty count."""
    if name not in rows.columns:
        return nothing(name, dtype).new_from_index(0, rows.height)
    told = rows[name]
    column = told if told.dtype == dtype else told.cast(dtype)
    return column.fill_null(0) if dtype == pl.UInt64 and column.null_count() else column


@lru_cache
def nothing(name: str, dtype: pl.DataType | DataTypeClass) -> pl.Series:
    """One value of a column of which nothing was counted."""
    if isinstance(dtype, pl.Struct):
        return pl.Series(name, [{field.name: [] for field in dtype.fields}], dtype)
    return pl.Series(name, [0 if dtype == pl.UInt64 else None], dtype)
