"""Samples of links and of whole paths out of every kind of telemetry, in one shape.

Columns: time_ns, flow, source, u, utilization (both in 1e-9), abw (bit/s), delay (ns, in one hop),
null where the telemetry does not tell; links have node and port beside, paths the point. A path's
sample is its worst hop: largest u', highest utilisation, least bandwidth, longest delay. What is
derived:

- INT: utilisation as the hop reports it, else u' less the queue's term, which is a lower bound
  where the queue has grown since the record before; bandwidth is what that leaves of the capacity;
  delay is the hop's latency, else what its queue takes to drain.
- CSIG: ABW, ABW/C and PD as tagged, the middle of their bucket; u' is the rate's term alone,
  a lower bound.
- AECN: its own ratio, estimator and bandwidth, of the path alone.
"""

from collections.abc import Iterator

import polars as pl

from pipeline.hop_samples import MOST_QUEUE, hop_count, place_of
from pipeline.hop_value import value
from pipeline.load_unit import nano
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.signals import ABW, DELAY, UTILIZATION, Signals, source_of
from pipeline.signals import SOURCE as TAG_SOURCE
from pipeline.unit import BITS, SECOND

KEY = ("time_ns", "flow", "source")
PATH_KEY = ("time_ns", "flow", "point", "source")
"""What a packet tells of its path grows from hop to hop, so that it hangs on where it was seen."""
WORST = {"u": pl.max_horizontal, "utilization": pl.max_horizontal, "abw": pl.min_horizontal,
         "delay": pl.max_horizontal}  # fmt: skip
"""What joins the hops of a path to one sample, by metric."""
AECN = {"u": "aecn_u", "utilization": "aecn_dre_ratio", "abw": "aecn_abw_bps"}
CONGESTED = "aecn_congested_hops"
SOURCE = pl.Enum(["int", "aecn", *TAG_SOURCE.categories])
MOST_BPS = 1 << 52
MOST_NS = 1 << 40


def ratio(told: pl.Expr) -> pl.Expr:
    """A ratio as an integer of 1e-9, none below 0."""
    return nano(told).clip(0)


def whole(told: pl.Expr, most: int) -> pl.Expr:
    """A number as an integer from 0 to `most`; what is not finite is null."""
    told = told.cast(pl.Float64)
    return pl.when(told.is_finite()).then(told.clip(0, most)).round().cast(pl.Int64)


def stacks(loads: pl.DataFrame, base_rtt_ns: int) -> tuple[list[pl.DataFrame], pl.DataFrame | None]:
    """Samples of INT stacks (`Tracked.hop_loads`): of links, hop by hop, and of paths.

    Without a T (`base_rtt_ns` 0) the term of a queue is not known, so that u' tells a utilisation
    only where the queue is empty.
    """
    hops = hop_count(loads)
    if not hops or loads.is_empty():
        return [], None
    told = [dict(zip(WORST, of_hop(loads, hop, base_rtt_ns), strict=True)) for hop in range(hops)]
    wide = loads.select(
        "time_ns",
        "flow",
        "point",
        pl.lit("int", SOURCE).alias("source"),
        *(each.alias(f"{name}{hop}") for hop in range(hops) for name, each in told[hop].items()),
        *(place_of(loads, hop, end).alias(f"{end}{hop}") for hop in range(hops)
          for end in ("node", "port")),
    )  # fmt: skip
    links = [
        wide.select(
            *KEY, *(pl.col(f"{name}{hop}").alias(name) for name in ("node", "port", *WORST))
        )
        for hop in range(hops)
    ]
    path = wide.select(
        *PATH_KEY,
        *(
            worst(f"{name}{hop}" for hop in range(hops)).alias(name)
            for name, worst in WORST.items()
        ),
    )
    return links, path


def of_hop(loads: pl.DataFrame, hop: int, base_rtt_ns: int) -> Iterator[pl.Expr]:
    """u, utilization, abw and delay of one hop of stacks."""
    u = pl.col(f"u{hop}")
    capacity = value(loads, f"h{hop}_b_bps")
    queue = value(loads, f"h{hop}_qlen_bytes").clip(0, MOST_QUEUE)
    drained_ns = queue * (BITS * SECOND) / pl.when(capacity > 0).then(capacity)
    held = drained_ns / pl.lit(pl.Series([float(base_rtt_ns or 1)])).first()
    if not base_rtt_ns:
        held = pl.when(queue == 0).then(0.0)
    sent = pl.coalesce(value(loads, f"h{hop}_utilization"), u - held).clip(0.0)
    yield ratio(u)
    yield ratio(sent)
    yield whole(capacity * (1.0 - sent), MOST_BPS)
    yield whole(pl.coalesce(value(loads, f"h{hop}_latency_ns"), drained_ns), MOST_NS)


def tags(signals: Signals) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Samples of CSIG signals: of links that a locator names, and of paths."""
    told, capacity, kind = pl.col("value"), pl.col("capacity_bps"), pl.col("t")
    free = pl.when(kind == UTILIZATION).then(told).when(kind == ABW).then(told / capacity)
    sent = pl.when("untouched").then(0.0).otherwise(1.0 - free)
    sent = ratio(pl.when(kind != DELAY).then(sent))
    delay = pl.when(kind == DELAY).then(told)
    # The middle of a bucket may be more than the port has.
    left = pl.min_horizontal(told, capacity)
    bandwidth = pl.when(kind == ABW).then(left).when(kind == UTILIZATION).then(told * capacity)
    # What a sender writes is the most that there is a number for, and no bandwidth of a link.
    known = pl.when(~pl.col("untouched")).then(bandwidth)
    made = signals.said.select(
        source_of().cast(pl.String).cast(SOURCE).alias("source"),
        "node",
        "port",
        sent.alias("u"),
        sent.alias("utilization"),
        whole(known, MOST_BPS).alias("abw"),
        whole(delay, MOST_NS).alias("delay"),
        ((pl.col("node") != LOCATOR) | (pl.col("port") != UNTOLD)).alias("moved"),
    )
    path = signals.each(made)
    links = path if made["moved"].all() else path.filter("moved")
    return links[[*KEY, "node", "port", *WORST]], path[[*PATH_KEY, *WORST]]


def options(rows: pl.DataFrame) -> pl.DataFrame | None:
    """Samples of paths by AECN options on data that a router has written to."""
    known = {name: column for name, column in AECN.items() if column in rows.columns}
    if not known:
        return None

    def told(name: str) -> pl.Expr:
        if name not in known:
            return pl.lit(None, pl.Int64)
        return whole(pl.col(known[name]), MOST_BPS) if name == "abw" else ratio(pl.col(known[name]))

    # What is 0 has met no router, or none with anything to say.
    written = [pl.col(name) > 0 for name in (*known.values(), CONGESTED) if name in rows.columns]
    seen = rows.filter(pl.any_horizontal(written), pl.col("payload_bytes") > 0)
    return seen.select(
        "time_ns",
        "flow",
        "point",
        pl.lit("aecn", SOURCE).alias("source"),
        *(told(name).alias(name) for name in AECN),
        pl.lit(None, pl.Int64).alias("delay"),
    )
