"""The verdict: one flow, one interval, the hop that holds it back and how sure that is.

Pure functions from interval tables to verdict rows. The headline is the egress port with the
largest mean hop load; it counts as congested when that mean exceeds a threshold.
"""

import json
from collections.abc import Iterable

import polars as pl

from pipeline.kind import congested_kind, reroute_helps
from pipeline.locate import (
    HOP,
    KEY,
    NANO,
    congestion_signals,
    inband,
    loads,
    matched,
    ways,
)
from pipeline.settings import PipelineSettings
from pipeline.tables import TABLES
from pipeline.topology import Topology

RANK = {"int": 0, "csig": 1, "aecn": 2, "ecn": 3}
"""Which telemetry speaks first when a flow carries several kinds: measured before inferred."""
MOST_CANDIDATES = 5
SENDER_LIMITED = 0.5
"""A sender with less than this share of its window in flight is limited by itself."""
IDLE_U = 0.8
"""With nothing marked and the fullest hop below this load, hosts set the pace, not the network."""
FEW_SAMPLES = 4.0
"""Samples at which confidence is halfway to what the loads alone would give."""
IMPLAUSIBLE_U = 10.0
"""Hop load that no port can sustain: ten times what it can send."""
NAMES = ("device", "interface", "stage", "orientation", "capacity_bps")


def verdicts(
    flows: pl.DataFrame,
    flow_intervals: pl.DataFrame,
    hop_intervals: pl.DataFrame,
    topology: Topology | None,
    settings: PipelineSettings,
) -> pl.DataFrame:
    """Rows of the table verdicts, one for every flow and interval in which it sent data."""
    sent = activity(flow_intervals)
    if sent.is_empty():
        return TABLES["verdicts"].schema.to_frame()
    candidates = located(flows, sent, hop_intervals, topology)
    headline = candidates.sort(
        [*KEY, "rank", "probability", "hop_index", *HOP],
        descending=[False, False, False, True, False, False, False],
        nulls_last=True,
    ).unique(KEY, keep="first", maintain_order=True)
    rows = named(sent.join(headline, on=KEY, how="left"), topology)
    rows = judged(rows.join(contributors(candidates), on=["time_ns", *HOP], how="left"), settings)
    rows = rows.join(described(candidates, topology), on=KEY, how="left")
    rows = rows.join(flows.drop("first_ns", "last_ns", "cc", strict=False), on="flow", how="left")
    return shaped(rows.with_columns(evidence(rows)), topology)


def activity(flow_intervals: pl.DataFrame) -> pl.DataFrame:
    """One row a flow and interval that sent data, over all observation points.

    Counts are those of the point that saw most, marks and path sums those of the point furthest
    downstream, where they are largest; congestion-control state is that of the point that has it.
    """
    state = ["U", "W", "Wc", "R", "alpha", "inflight_bytes"]
    most = pl.col("data_bytes").arg_max()
    furthest = pl.col("aecn_u_sum_n").arg_max()
    counted = ["frames", "data_bytes", "data_frames", "point"]
    marks = pl.col("acked_bytes").arg_max()
    return (
        flow_intervals.sort([*KEY, "point"])
        .group_by([*KEY, "interval_ns"], maintain_order=True)
        .agg(
            *(pl.col(name).get(most) for name in counted),
            pl.col("acked_bytes", "marked_bytes").get(marks),
            *(pl.col(name).drop_nulls().last() for name in state),
            pl.col("ce_frames").max(),
            pl.col("aecn_samples").get(furthest).fill_null(0),
            (pl.col("aecn_u_sum_n").max() * NANO).alias("aecn_u_sum"),
            pl.col("aecn_congested_hops_max").max(),
        )
        .filter(pl.col("data_bytes") > 0)
    )


def located(
    flows: pl.DataFrame, sent: pl.DataFrame, hops: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """All candidate hops of all kinds of telemetry, with their rank."""
    direct = pl.concat([inband(hops), congestion_signals(hops)], how="diagonal_relaxed")
    hop_loads = loads(direct)
    silent = sent.join(direct.select(KEY).unique(), on=KEY, how="anti")
    key = [pl.col(name) for name in KEY]
    aecn = silent.filter(pl.col("aecn_samples") > 0).select(
        *key,
        (pl.col("aecn_u_sum") / pl.col("aecn_samples")).alias("u_mean"),
        pl.col("aecn_samples").alias("samples"),
    )
    marked = silent.filter((pl.col("aecn_samples") == 0) & (mark_share() > 0)).select(
        *key, pl.lit(None, pl.Float64).alias("u_mean"), pl.col("data_frames").alias("samples")
    )
    wanted = flows.filter(pl.col("flow").is_in(pl.concat([aecn, marked])["flow"].implode()))
    flow_ways = ways(wanted, topology)
    found = [
        direct,
        *(with_path(paths, matched(paths, hop_loads, flow_ways, signal), signal)
          for paths, signal in ((aecn, "aecn"), (marked, "ecn"))),
    ]  # fmt: skip
    rows = pl.concat(found, how="diagonal_relaxed")
    return rows.with_columns(
        pl.col("signal").replace_strict(RANK, return_dtype=pl.UInt8).alias("rank")
    )


def with_path(paths: pl.DataFrame, candidates: pl.DataFrame, signal: str) -> pl.DataFrame:
    """The candidates, and a row without a hop for every path that has none."""
    bare = paths.join(candidates, on=KEY, how="anti").with_columns(pl.lit(signal).alias("signal"))
    return pl.concat([candidates, bare], how="diagonal_relaxed")


def mark_share() -> pl.Expr:
    """Share of bytes that were marked: by ECE on acknowledgments, else by CE on the data itself."""
    echoed = pl.col("marked_bytes") / pl.col("acked_bytes")
    carried = pl.col("ce_frames") / pl.col("data_frames")
    return (
        pl.when(pl.col("acked_bytes") > 0)
        .then(pl.max_horizontal(echoed, carried))
        .otherwise(carried)
    )


def named(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops by their topology names; an id that the topology lacks is shown raw."""
    if topology is None:
        empty = [pl.lit(None, pl.String).alias(name) for name in NAMES[:-1]]
        rows = rows.with_columns(*empty, pl.lit(None, pl.Int64).alias(NAMES[-1]))
    else:
        rows = rows.join(topology.frame.select(*HOP, *NAMES), on=HOP, how="left")
    raw = [
        pl.when(pl.col("device").is_null() & pl.col("node").is_not_null()).then(text).alias(name)
        for name, text in (
            ("device_raw", pl.format("node {}", "node")),
            ("interface_raw", pl.format("port {}", "port")),
        )
    ]
    lacking = pl.col("device").is_null() & pl.col("node").is_not_null() & (topology is not None)
    return rows.with_columns(*raw, lacking.alias("unknown_hop")).with_columns(
        pl.coalesce("device", "device_raw").alias("device"),
        pl.coalesce("interface", "interface_raw").alias("interface"),
    )


def contributors(candidates: pl.DataFrame) -> pl.DataFrame:
    """Flows that share each hop: by their stacks, and by the likeliest hop of the others."""
    likely = pl.col("probability") == pl.col("probability").max().over(KEY)
    sharing = candidates.filter((pl.col("signal") == "int") | likely)
    return sharing.group_by(["time_ns", *HOP]).agg(
        pl.col("flow").n_unique().cast(pl.UInt32).alias("contributors")
    )


def judged(rows: pl.DataFrame, settings: PipelineSettings) -> pl.DataFrame:
    """Kind, confidence, plausibility of each headline."""
    congested = pl.col("u_mean") > settings.congested_u
    idle = (pl.col("u_mean") < IDLE_U) & (pl.col("marked_bytes").fill_null(0) == 0)
    limited = (pl.col("inflight_bytes") < SENDER_LIMITED * pl.col("W")) | idle
    kind = (
        pl.when(congested & pl.col("node").is_not_null())
        .then(congested_kind())
        .when(congested | (pl.col("signal").eq("ecn") & pl.col("node").is_null()))
        .then(pl.lit("congested_path"))
        .when(limited)
        .then(pl.lit("sender_limited"))
        .when(pl.col("u_mean").is_not_null() | (pl.col("acked_bytes") > 0))
        .then(pl.lit("not_congested"))
        .otherwise(pl.lit("unknown"))
    )
    enough = pl.col("samples") / (pl.col("samples") + FEW_SAMPLES)
    doubts = [
        pl.when(pl.col("unknown_hop")).then(pl.lit("hop_not_in_topology")),
        pl.when(pl.col("u_max") > IMPLAUSIBLE_U).then(pl.lit("hop_load_above_reason")),
    ]
    return rows.with_columns(pl.col("contributors").fill_null(0)).with_columns(
        kind.alias("kind"),
        (pl.col("probability") * enough).alias("confidence"),
        (pl.col("samples") / pl.col("data_frames")).clip(0.0, 1.0).alias("completeness"),
        pl.concat_list(doubts).list.drop_nulls().alias("plausibility"),
    )


def described(candidates: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Candidate hops of each flow and interval as JSON, likeliest first."""
    ranked = named(candidates.filter(pl.col("node").is_not_null()), topology).sort(
        [*KEY, "rank", "probability", *HOP], descending=[False, False, False, True, False, False]
    )
    fields = ["signal", "node", "port", "device", "interface", "u_mean", "probability", "samples"]
    one = pl.struct(fields).struct.json_encode()
    return ranked.group_by(KEY, maintain_order=True).agg(
        (pl.lit("[") + one.head(MOST_CANDIDATES).str.join(",") + pl.lit("]")).alias("candidates")
    )


def evidence(rows: pl.DataFrame) -> pl.Series:
    """What speaks for each verdict as JSON: signal, value, unit, samples, observation point."""
    names = ["signal", "u_mean", "samples", "point", "queue_mean_bytes", "U", "W", "alpha",
             "acked_bytes", "marked_bytes", "ce_frames", "data_frames"]  # fmt: skip
    texts = [
        json.dumps(list(_evidence(dict(zip(names, row, strict=True)))), separators=(",", ":"))
        for row in rows.select(names).iter_rows()
    ]
    return pl.Series("evidence", texts, pl.String)


def _evidence(row: dict[str, float]) -> Iterable[dict[str, object]]:
    """The signals behind one verdict, strongest first."""
    point, signal = row["point"], row["signal"]
    if row["u_mean"] is not None:
        yield {"signal": signal, "name": "hop load u'", "value": row["u_mean"], "unit": "ratio",
               "samples": row["samples"], "point": point}  # fmt: skip
    if row["queue_mean_bytes"] is not None:
        yield {"signal": signal, "name": "queue", "value": row["queue_mean_bytes"],
               "unit": "bytes", "samples": row["samples"], "point": point}  # fmt: skip
    if row["acked_bytes"]:
        yield {"signal": "ecn", "name": "mark share", "unit": "ratio", "point": point,
               "value": row["marked_bytes"] / row["acked_bytes"],
               "samples": row["data_frames"]}  # fmt: skip
    elif row["ce_frames"]:
        yield {"signal": "ecn", "name": "CE share", "unit": "ratio", "point": point,
               "value": row["ce_frames"] / row["data_frames"],
               "samples": row["data_frames"]}  # fmt: skip
    for name, unit in (("U", "ratio"), ("W", "bytes"), ("alpha", "ratio")):
        if row[name] is not None:
            yield {"signal": "state", "name": name, "value": row[name], "unit": unit,
                   "samples": 1, "point": point}  # fmt: skip


def shaped(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Exactly the columns of the verdict table, with its types."""
    schema = TABLES["verdicts"].schema
    texts = [pl.col(name).fill_null("") for name in NAMES[:-1]]
    rows = rows.with_columns(
        *texts,
        reroute_helps().alias("reroute_helps"),
        pl.col("candidates").fill_null("[]"),
        pl.col("samples").fill_null(0),
        pl.lit(topology.version if topology else "").alias("topology"),
        pl.lit(0, pl.UInt64).alias("revision"),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort(
        "time_ns", "flow"
    )
