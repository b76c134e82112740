"""The verdict: one flow, one interval, the hop that holds it back and how sure that is.

Pure functions from interval tables to verdict rows. The headline is the egress port with the
largest mean hop load; it counts as congested when that mean exceeds a threshold, or when a standing
queue was seen there for more than a tenth of the interval.
"""

import polars as pl

from pipeline.activity import activity, mark_share
from pipeline.kind import congested_kind, reroute_helps
from pipeline.locate import (
    HOP,
    KEY,
    by_signal,
    congestion_signals,
    inband,
    loads,
    matched,
)
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.settings import PipelineSettings
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.verdict_json import candidate_list, evidence_list
from pipeline.ways import ways

RANK = {"int": 0, "csig": 1, "aecn": 2, "ecn": 3}
"""Which telemetry speaks first when a flow carries several kinds: measured before inferred."""
STANDING_SHARE = 0.1
"""A standing queue for more than this share of an interval is congestion."""
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
    """Rows of the table verdicts, one for every flow and interval in which it sent data.

    The intervals are whole ones, in the order of their keys. `flows` may say of a flow in a column
    `unseen` that only its acknowledgments were captured.
    """
    sent = activity(flow_intervals, hop_intervals, flows)
    if sent.is_empty():
        return TABLES["verdicts"].schema.to_frame()
    candidates = located(flows, sent, hop_intervals, topology)
    headline = candidates.sort(
        [*KEY, "rank", "probability", "hop_index", *HOP],
        descending=[False, False, False, True, False, False, False],
        nulls_last=True,
    ).unique(KEY, keep="first", maintain_order=True)
    rows = named(sent.join(headline, on=KEY, how="left", maintain_order="left"), topology)
    rows = rows.join(contributors(candidates), on=["time_ns", *HOP], how="left")
    rows = judged(rows, settings)
    spoken = pl.concat([candidates, by_signal(hop_intervals)], how="diagonal_relaxed").filter(
        pl.col("node").is_not_null()
    )
    rows = rows.join(candidate_list(named(spoken, topology)), on=KEY, how="left")
    keys = flows.drop("first_ns", "last_ns", "cc", "unseen", strict=False)
    rows = rows.join(keys, on="flow", how="left")
    return shaped(rows.with_columns(evidence_list()), topology)


def located(
    flows: pl.DataFrame, sent: pl.DataFrame, hops: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """All candidate hops of all kinds of telemetry, with their rank."""
    direct = pl.concat([inband(hops), congestion_signals(hops)], how="diagonal_relaxed")
    hop_loads = loads(direct)
    silent = sent.join(direct.select(KEY).unique(), on=KEY, how="anti", maintain_order="left")
    aecn = silent.filter(pl.col("aecn_samples") > 0).select(
        *KEY,
        (pl.col("aecn_u_sum") / pl.col("aecn_samples")).alias("u_mean"),
        pl.col("aecn_samples").alias("samples"),
    )
    marked = silent.filter((pl.col("aecn_samples") == 0) & (mark_share() > 0)).select(
        *KEY, pl.lit(None, pl.Float64).alias("u_mean"), pl.col("spoken").alias("samples")
    )
    wanted = flows.filter(pl.col("flow").is_in(pl.concat([aecn, marked])["flow"].implode()))
    flow_ways = ways(wanted, topology)
    found = [
        with_path(paths, matched(paths, hop_loads, flow_ways, signal), signal)
        for paths, signal in ((aecn, "aecn"), (marked, "ecn"))
    ]
    return pl.concat([direct, *found], how="diagonal_relaxed").with_columns(
        pl.col("signal").replace_strict(RANK, return_dtype=pl.UInt8).alias("rank")
    )


def with_path(paths: pl.DataFrame, candidates: pl.DataFrame, signal: str) -> pl.DataFrame:
    """The candidates, and a row without a hop for every path that has none."""
    bare = paths.join(candidates, on=KEY, how="anti", maintain_order="left")
    bare = bare.with_columns(pl.lit(signal).alias("signal"))
    return pl.concat([candidates, bare], how="diagonal_relaxed")


def named(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops by their topology names, or by what telemetry told of them."""
    if topology is None:
        empty = [pl.lit(None, pl.String).alias(name) for name in NAMES[:-1]]
        rows = rows.with_columns(*empty, pl.lit(None, pl.Int64).alias(NAMES[-1]))
    else:
        names = topology.frame.select(*HOP, *NAMES)
        rows = rows.join(names, on=HOP, how="left", maintain_order="left")
    node, port = pl.col("node"), pl.col("port")
    nameless = pl.col("device").is_null() & node.is_not_null()
    device = (
        pl.when(node == LOCATOR).then(pl.lit("locator"))
        .when(node == PLACE).then(pl.lit("hop"))
        .otherwise(pl.format("node {}", "node"))
    )  # fmt: skip
    interface = (
        pl.when(node.is_in([LOCATOR, PLACE])).then(port.cast(pl.String))
        .when(port == UNTOLD).then(pl.lit("port not told"))
        .otherwise(pl.format("port {}", "port"))
    )  # fmt: skip
    return rows.with_columns(
        pl.when(nameless).then(device).otherwise("device").alias("device"),
        pl.when(nameless).then(interface).otherwise("interface").alias("interface"),
        (nameless & (topology is not None)).alias("unknown_hop"),
    )


def contributors(candidates: pl.DataFrame) -> pl.DataFrame:
    """Flows that share each hop: by their stacks, and by the likeliest hop of the others."""
    likely = pl.col("probability") == pl.col("probability").max().over(KEY)
    sharing = candidates.filter(((pl.col("signal") == "int") | likely) & (pl.col("node") != PLACE))
    return sharing.group_by(["time_ns", *HOP]).agg(
        pl.col("flow").n_unique().cast(pl.UInt32).alias("contributors")
    )


def judged(rows: pl.DataFrame, settings: PipelineSettings) -> pl.DataFrame:
    """Kind, confidence, plausibility of each headline."""
    loaded = (pl.col("u_mean") > settings.congested_u).fill_null(value=False)
    stands = (pl.col("standing_share") > STANDING_SHARE).fill_null(value=False)
    congested = loaded | stands
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
    covered = (pl.col("samples") / pl.col("data_frames")).clip(0.0, 1.0)
    doubts = [
        pl.when(pl.col("unknown_hop")).then(pl.lit("hop_not_in_topology")),
        pl.when(pl.col("u_max") > IMPLAUSIBLE_U).then(pl.lit("hop_load_above_reason")),
        pl.when(pl.col("u_mean") < 0.0).then(pl.lit("hop_load_below_zero")),
    ]
    return rows.with_columns(pl.col("contributors").fill_null(0)).with_columns(
        kind.alias("kind"),
        (pl.col("probability") * enough).alias("confidence"),
        pl.when(pl.col("data_frames") > 0).then(covered).alias("completeness"),
        pl.concat_list(doubts).list.drop_nulls().alias("plausibility"),
    )


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
