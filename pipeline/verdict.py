"""The verdict: one flow, one interval, the hop that holds it back and how sure that is.

Pure functions from interval tables to verdict rows. The headline is the egress port with the
largest mean hop load; it counts as congested when that mean exceeds a threshold, or when a standing
queue was seen there for more than a tenth of the interval.
"""

from functools import lru_cache

import numpy as np
import polars as pl

from collector import at_once
from pipeline.activity import activity
from pipeline.agreement import agreement, disagreement
from pipeline.candidates import located, named, narrowed
from pipeline.completeness import told_frames
from pipeline.doubt import with_lacking
from pipeline.groups import HOP, among
from pipeline.headline import headline, joined
from pipeline.in_sight import in_sight, met
from pipeline.judgment import NAMES, judged
from pipeline.kind import reroute_helps
from pipeline.locate import KEY
from pipeline.marking import marked_shares, with_marks
from pipeline.own_scale import REMEMBERED
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.settings import PipelineSettings
from pipeline.sharing import counts, crossing
from pipeline.tables import TABLES
from pipeline.tapped import tapped
from pipeline.testimony import delays, measured_against, shortest_t, testimony, with_locators
from pipeline.throughput import utilisation
from pipeline.timed import over_time
from pipeline.topology import Topology
from pipeline.verdict_json import candidate_list, evidence_list
from pipeline.ways import paths

SPOKEN = (*KEY, *HOP, "signal", "u_mean", "probability", "samples")
"""What the list of candidates tells of a hop, beside its names."""
OF_FLOWS = ("first_ns", "last_ns", "cc", "unseen")
"""What is known of flows that verdicts do not tell."""


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
        return TABLES["verdicts"].blank
    if "dscp" in flows.columns:
        sent = sent.join(flows[["flow", "dscp"]], on="flow", how="left", maintain_order="left")
    possible = paths(flows[np.flatnonzero(among(flows["flow"], sent["flow"]))], topology)
    met_by_tags = met(hop_intervals, possible, topology)
    told = named(sent, hop_intervals, topology, possible, met_by_tags)
    seen = tapped(flow_intervals, topology)
    ways = narrowed(sent, told.hops, seen, possible)
    carried = utilisation(sent, ways, topology)
    candidates = located(sent, told, topology, ways, carried, seen)
    joint = joined(candidates)
    chosen = headline(joint)
    crossed = crossing(sent, candidates, chosen, possible)
    query = with_names(sent.join(chosen, on=KEY, how="left", maintain_order="left"), topology)
    query = beside(query, ["time_ns", *HOP], counts(crossed), agreement(candidates))
    sight = in_sight(candidates, met_by_tags, possible)
    query = beside(query, KEY, sight, told_frames(hop_intervals))
    rows = over_time(at_once(query), carried)
    rows = with_marks(rows, marked_shares(crossed, sent), carried)
    rows = with_lacking(rows, hop_intervals, topology)
    rows = with_own_t(with_delta_t(rows, candidates, topology), topology)
    rows = judged(rows, settings, shortest_t(topology, settings))
    t_ns = measured_against(topology, settings)
    waits = delays(candidates, topology, t_ns)
    each = pl.concat([candidates, waits], how="diagonal_relaxed") if waits.height else candidates
    headlines = joint.lazy().with_columns(signal=pl.lit("headline"))
    spoken = pl.concat(
        [told.select(SPOKEN) for told in (headlines, each.lazy())], how="vertical_relaxed"
    ).filter(pl.col("node").is_not_null())
    said = candidate_list(with_names(at_once(spoken), topology))
    keys = flows[[name for name in flows.columns if name not in OF_FLOWS]]
    query = beside(beside(rows.lazy(), KEY, said), ["flow"], keys)
    query = beside(query, KEY, testimony(each, chosen, topology, t_ns))
    rows = with_locators(at_once(query), topology)
    return shaped(rows.hstack([evidence_list(rows, topology)]), topology)


def beside(rows: pl.LazyFrame, key: list[str], *others: pl.DataFrame) -> pl.LazyFrame:
    """The rows, in their order, with what others tell of their key."""
    for told in others:
        rows = rows.join(told.lazy(), on=key, how="left", maintain_order="left")
    return rows


def with_delta_t(
    rows: pl.DataFrame, candidates: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Headlines with delta_t_ns, over which their device measures the slowest signal heard."""
    if topology is None or topology.delta_ts.is_empty():
        return rows.with_columns(pl.lit(None, pl.Int64).alias("delta_t_ns"))
    heard = candidates.lazy().filter(pl.col("signal").str.starts_with("csig_"))
    told = heard.select(*KEY, *HOP, pl.col("signal").str.strip_prefix("csig_").alias("signal_type"))
    slowest = (
        told.join(topology.frame[[*HOP, "device"]].lazy(), on=HOP)
        .join(topology.delta_ts.lazy(), on=["device", "signal_type"])
        .group_by(*KEY, *HOP)
        .agg(pl.col("delta_t_ns").max())
    )
    return at_once(rows.lazy().join(slowest, on=[*KEY, *HOP], how="left", maintain_order="left"))


def with_own_t(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Headlines with t_ns, over which their device measures Advanced ECN's inflight ratio."""
    return rows.join(own_t(topology), on="device", how="left", maintain_order="left")


@lru_cache(REMEMBERED)
def own_t(topology: Topology | None) -> pl.DataFrame:
    """T of each device: device, t_ns."""
    told = [(device.name, device.t_ns) for device in (topology.devices if topology else ())]
    return pl.DataFrame(told, schema={"device": pl.String, "t_ns": pl.Int64}, orient="row")


def with_names(rows: pl.DataFrame, topology: Topology | None) -> pl.LazyFrame:
    """Hops by their topology names, or by what telemetry told of them."""
    # There are few hops beside the rows that speak of them.
    told = names_of(rows[HOP].unique(maintain_order=True), topology).lazy()
    return rows.lazy().join(told, on=HOP, how="left", nulls_equal=True, maintain_order="left")


def names_of(hops: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops with their names, and whether they are none of the topology's."""
    if topology is None:
        empty = [pl.lit(None, pl.String).alias(name) for name in NAMES[:-1]]
        rows = hops.with_columns(*empty, pl.lit(None, pl.Int64).alias(NAMES[-1]))
    else:
        names = topology.frame[[*HOP, *NAMES]]
        rows = hops.join(names, on=HOP, how="left", maintain_order="left")
    nameless = rows.select(NAMELESS).to_series()
    unknown = nameless & (topology is not None)
    if not nameless.any():
        return rows.with_columns(unknown.alias("unknown_hop"))
    return rows.with_columns(
        pl.when(nameless).then(DEVICE).otherwise("device").alias("device"),
        pl.when(nameless).then(INTERFACE).otherwise("interface").alias("interface"),
        unknown.alias("unknown_hop"),
    )


NAMELESS = pl.col("device").is_null() & pl.col("node").is_not_null()
DEVICE = (
    pl.when(pl.col("node") == LOCATOR).then(pl.lit("locator"))
    .when(pl.col("node") == PLACE).then(pl.lit("hop"))
    .otherwise(pl.format("node {}", "node"))
)  # fmt: skip
INTERFACE = (
    pl.when(pl.col("node").is_in([LOCATOR, PLACE])).then(pl.col("port").cast(pl.String))
    .when(pl.col("port") == UNTOLD).then(pl.lit("port not told"))
    .otherwise(pl.format("port {}", "port"))
)  # fmt: skip


def shaped(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Exactly the columns of the verdict table, with its types."""
    version = pl.lit(topology.version if topology else "").alias("topology")
    told = rows.lazy().with_columns(*FILLED, version).select(TYPED).sort("time_ns", "flow")
    return at_once(told)


FILLED = (
    *(pl.col(name).fill_null("") for name in NAMES[:-1]),
    reroute_helps().alias("reroute_helps"),
    pl.col("candidates").fill_null("[]"),
    pl.col("samples").fill_null(0),
    # Terms of CSIG are added up in a mean, and flows are; the largest load is at least that.
    pl.max_horizontal("u_max", "u_mean").alias("u_max"),
    disagreement().alias("disagreement"),
    pl.lit(0, pl.UInt64).alias("revision"),
    pl.lit(None, pl.Int64).alias("revised_ns"),
)
TYPED = [pl.col(name).cast(dtype) for name, dtype in TABLES["verdicts"].schema.items()]
