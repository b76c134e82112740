"""Which hop each kind of telemetry points at: candidates with their hop load and probability.

Every function takes interval tables (`pipeline.tables`) and gives one row a candidate hop:
time_ns, flow, signal, node, port, u_mean, u_max, queue_mean_bytes, samples, probability.
"""

import polars as pl

from pipeline.topology import Topology

KEY = ["time_ns", "flow"]
HOP = ["node", "port"]
NANO = 1e-9
"""Hop loads are summed as integers of this unit, so that sums are the same in any order."""
SHARPNESS = 0.03
"""Difference of hop load at which one hop is e times as likely as another."""
NO_HOP = 0xFFFF_FFFF
"""Port of a CSIG sample that no hop has replaced: it says only that no hop is loaded."""
CSIG_SOURCE = "^csig_(echo_)?(abw|utilization|delay)$"
"""Tags seen on data, and their reflections on ACKs: two views of one measurement."""
ESTIMATE_SHARPNESS = 0.2
"""The same for hops that are only matched with a path's load."""


def load() -> list[pl.Expr]:
    """Sums over partial rows of one candidate as its mean load, largest load and mean queue."""
    samples = pl.col("samples").sum()
    return [
        (pl.col("u_sum_n").sum() / samples * NANO).alias("u_mean"),
        (pl.col("u_max_n").max() * NANO).alias("u_max"),
        (pl.col("queue_sum_bytes").sum() / samples).alias("queue_mean_bytes"),
        samples.alias("samples"),
        pl.col("hop_index").min(),
    ]


def probability(sharpness: float) -> pl.Expr:
    """Softmax of the hop loads of one flow and interval."""
    weight = ((pl.col("u_mean") - pl.col("u_mean").max().over(KEY)) * (1 / sharpness)).exp()
    return (weight / weight.sum().over(KEY)).alias("probability")


def inband(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops of INT stacks, from the point that saw most of the path (then most samples)."""
    rows = hops.filter(pl.col("source") == "int")
    seen = rows.group_by([*KEY, "point"]).agg(
        pl.struct(HOP).n_unique().alias("hops"), pl.col("samples").sum().alias("seen")
    )
    best = seen.sort("hops", "seen", "point", descending=[True, True, False]).unique(
        KEY, keep="first", maintain_order=True
    )
    mine = rows.join(best.select(*KEY, "point"), on=[*KEY, "point"], how="semi")
    found = mine.group_by([*KEY, *HOP]).agg(load())
    return found.with_columns(pl.lit("int").alias("signal"), probability(SHARPNESS))


def congestion_signals(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops that CSIG locators name: load share of min(ABW/C) plus delay share of max(PD).

    A hop's load is the sum of the terms that its own samples carry, each over all samples of that
    signal type: a hop that both signals name gets both terms, as u' = queue + rate demands.
    """
    view = ["point", "echo"]
    rows = hops.filter(pl.col("source").str.contains(CSIG_SOURCE)).with_columns(
        pl.col("source").str.starts_with("csig_echo").alias("echo"),
        pl.col("source").str.split("_").list.last().alias("signal_type"),
    )
    # A tag near its sender has met no hop yet: the view that located most is the one to hear.
    located = pl.when(pl.col("port") != NO_HOP).then(pl.col("samples")).otherwise(0)
    seen = rows.group_by([*KEY, *view]).agg(
        located.sum().alias("located"), pl.col("samples").sum().alias("seen")
    )
    best = seen.sort("located", "seen", *view, descending=[True, True, False, False]).unique(
        KEY, keep="first", maintain_order=True
    )
    mine = rows.join(best.select(*KEY, *view), on=[*KEY, *view], how="semi").with_columns(
        pl.col("samples").sum().over([*KEY, "signal_type"]).alias("all")
    )
    # ABW and ABW/C say the same of a port: where both were seen, the ratio is taken.
    ratio = (pl.col("signal_type") == "utilization").any().over(KEY)
    terms = mine.filter((pl.col("signal_type") != "abw") | ~ratio)
    found = (
        terms.group_by([*KEY, *HOP])
        .agg(
            (pl.col("u_sum_n") / pl.col("all") * NANO).sum().alias("u_mean"),
            (pl.col("u_max_n").max() * NANO).alias("u_max"),
            pl.col("queue_max_bytes").max().cast(pl.Float64).alias("queue_mean_bytes"),
            pl.col("samples").sum(),
            pl.col("hop_index").min(),
        )
        .filter(pl.col("port") != NO_HOP)
    )
    return found.with_columns(pl.lit("csig").alias("signal"), probability(SHARPNESS))


def loads(located: pl.DataFrame) -> pl.DataFrame:
    """Load of each hop in each interval over all flows that located it, in the column load."""
    measured = located.filter(pl.col("signal") == "int")
    bounds = located.filter(pl.col("signal") == "csig").join(
        measured.select("time_ns", *HOP).unique(), on=["time_ns", *HOP], how="anti"
    )
    mean = (pl.col("u_mean") * pl.col("samples")).sum() / pl.col("samples").sum()
    both = pl.concat([measured, bounds])
    return both.group_by(["time_ns", *HOP]).agg(mean.alias("load"))


def ways(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops that each flow may cross by the topology, and way_length, the hops of one way."""
    schema = {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32, "way_length": pl.UInt32}
    if topology is None:
        return pl.DataFrame(schema=schema)
    rows = []
    for flow, *words in flows.select("flow", "src_hi", "src_lo", "dst_hi", "dst_lo").iter_rows():
        source, destination = topology.host(*words[:2]), topology.host(*words[2:])
        if source and destination:
            length = topology.way_length(source, destination)
            rows += [(flow, *hop, length) for hop in topology.hops(source, destination)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def matched(
    paths: pl.DataFrame, hop_loads: pl.DataFrame, flow_ways: pl.DataFrame, signal: str
) -> pl.DataFrame:
    """Hops of flows whose telemetry names none, by what others saw of the links on their ways.

    `paths` holds time_ns, flow, u_mean (the path's load, or null when only marks are seen) and
    samples. A hop is the likelier the nearer its load is to the path's; a hop that nobody saw
    counts as empty.
    """
    rows = (
        paths.rename({"u_mean": "path"})
        .join(flow_ways, on="flow", how="inner")
        .join(hop_loads, on=["time_ns", *HOP], how="left")
    )
    seen = pl.col("load").fill_null(0.0)
    fit = pl.when(pl.col("path").is_null()).then(seen).otherwise(-(seen - pl.col("path")).abs())
    rows = rows.with_columns((fit * (1 / ESTIMATE_SHARPNESS)).alias("score"))
    weight = (pl.col("score") - pl.col("score").max().over(KEY)).exp()
    return rows.select(
        *KEY,
        *HOP,
        pl.coalesce("path", "load").alias("u_mean"),
        pl.coalesce("path", "load").alias("u_max"),
        pl.lit(None, pl.Float64).alias("queue_mean_bytes"),
        "samples",
        pl.lit(None, pl.UInt8).alias("hop_index"),
        pl.lit(signal).alias("signal"),
        (weight / weight.sum().over(KEY)).alias("probability"),
    )
