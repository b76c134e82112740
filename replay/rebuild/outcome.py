"""Outcomes: queue, utilisation, completion times and fairness, by one measure for all runs.

What was captured and what was played are measured alike. The queue is sampled by packets of data:
where stacks tell it, what waits behind a packet as it leaves its port; else what waited before it,
by its round trip. A flow's throughput is its acknowledged bytes over the time from its beginning to
its last acknowledgment; Jain's index is over these.
"""

from typing import Any, NamedTuple

import polars as pl

from replay.rebuild.scene import Scene

NS, BITS = 1_000_000_000, 8
P99 = 0.99
MEASURES = ("stack", "round_trip")
"""How the queue was told."""


class Outcome(NamedTuple):
    """What became of a run.

    `ports` has a row a port that data crossed: queue_mean_bytes, queue_p99_bytes, utilisation,
    u_mean (null: not known), samples; `flows` a row a flow: bytes, fct_ns (null: not complete),
    throughput_bps, share (null where nothing moved); `bottleneck` is the row of the port with the
    largest u_mean.
    """

    ports: pl.DataFrame
    flows: pl.DataFrame
    jain: float
    bottleneck: int
    measure: str
    dropped: int = 0


def outcome(
    scene: Scene, acks: pl.DataFrame, queues: pl.DataFrame, measure: str, dropped: int = 0
) -> Outcome:
    """The outcome of a run: its acknowledgments, and samples of queues: port, bytes."""
    flows = flows_of(scene, acks)
    ports = ports_of(scene, flows, queues)
    worst = ports.sort("u_mean", "port", descending=[True, False], nulls_last=True)
    return Outcome(
        ports=ports,
        flows=flows,
        jain=jain(flows["throughput_bps"]),
        bottleneck=int(worst["port"][0]),
        measure=measure,
        dropped=dropped,
    )


def jain(rates: pl.Series) -> float:
    """Jain's fairness index: (sum x)^2 / (n * sum x^2); 1 where all have the same."""
    known = rates.drop_nulls().filter(rates.drop_nulls() > 0)
    squares = float((known * known).sum())
    return float(known.sum()) ** 2 / (known.len() * squares) if squares else 1.0


def flows_of(scene: Scene, acks: pl.DataFrame) -> pl.DataFrame:
    """What became of each flow."""
    heard = acks.group_by("flow").agg(bytes=pl.col("ack").max(), last_ns=pl.col("time_ns").max())
    told = scene.flows.select(
        "start_ns", "total", flow=pl.int_range(pl.len(), dtype=pl.Int64)
    ).join(heard, on="flow", how="left", maintain_order="left")
    told = told.with_columns(pl.col("bytes").fill_null(0))
    done = pl.col("bytes") >= pl.col("total")
    first = acks.join(told.select("flow", "total"), on="flow").filter(
        pl.col("ack") >= pl.col("total")
    ).group_by("flow").agg(done_ns=pl.col("time_ns").min())  # fmt: skip
    told = told.join(first, on="flow", how="left", maintain_order="left").with_columns(
        last_ns=pl.coalesce("done_ns", "last_ns")
    )
    takes = pl.col("last_ns") - pl.col("start_ns")
    rate = pl.when(takes > 0).then(pl.col("bytes") * (BITS * NS) / takes)
    whole = pl.col("throughput_bps").sum()
    return told.with_columns(
        fct_ns=pl.when(done).then(takes), throughput_bps=rate.fill_null(0.0)
    ).with_columns(share=pl.when(whole > 0).then(pl.col("throughput_bps") / whole)).select(
        "flow", "start_ns", "last_ns", "bytes", "fct_ns", "throughput_bps", "share"
    )  # fmt: skip


def ports_of(scene: Scene, flows: pl.DataFrame, queues: pl.DataFrame) -> pl.DataFrame:
    """What became of each port that data crosses."""
    ways = scene.flows.select(
        "payload", "data_octets", "t_ns", port="forward",
        flow=pl.int_range(pl.len(), dtype=pl.Int64),
    ).explode("port").join(flows, on="flow")  # fmt: skip
    carried = pl.col("bytes") / pl.col("payload") * pl.col("data_octets")
    busy = ways.group_by("port").agg(
        octets=carried.sum(),
        from_ns=pl.col("start_ns").min(),
        until_ns=pl.col("last_ns").max(),
        t_ns=pl.col("t_ns").median(),
    )
    sampled = queues.group_by("port").agg(
        queue_mean_bytes=pl.col("bytes").mean(),
        queue_p99_bytes=pl.col("bytes").quantile(P99, "linear"),
        samples=pl.len(),
    )
    bps = scene.ports.select("name", "bps", port=pl.int_range(pl.len(), dtype=pl.Int64))
    span = pl.col("until_ns") - pl.col("from_ns")
    used = pl.when(span > 0).then(pl.col("octets") * (BITS * NS) / (span * pl.col("bps")))
    waiting = pl.col("queue_mean_bytes") * (BITS * NS) / (pl.col("bps") * pl.col("t_ns"))
    return (
        busy.join(bps, on="port")
        .join(sampled, on="port", how="left")
        .with_columns(utilisation=used)
        .with_columns(u_mean=waiting.fill_null(0.0) + pl.col("utilisation"))
        .sort("port")
        .select(
            "port", "name", "queue_mean_bytes", "queue_p99_bytes", "samples", "utilisation",
            "u_mean",
        )
    )  # fmt: skip


def told(scene: Scene, made: Outcome, port: int) -> dict[str, Any]:
    """An outcome as plain data: queue and utilisation of a `port`, and the bottleneck's name.

    Runs are compared at one port, even where they have their bottlenecks at others.
    """
    worst = made.ports.filter(port=port)
    queue = worst.row(0, named=True) if worst.height else {}
    done = made.flows["fct_ns"].drop_nulls()
    return {
        "bottleneck": scene.ports["name"][made.bottleneck],
        "queue_mean_bytes": queue.get("queue_mean_bytes"),
        "queue_p99_bytes": queue.get("queue_p99_bytes"),
        "utilisation": queue.get("utilisation"),
        "completed": done.len(),
        "fct_mean_ns": done.mean(),
        "fct_p99_ns": done.quantile(P99, "linear"),
        "throughput_bps": float(made.flows["throughput_bps"].sum()),
        "jain": made.jain,
        "dropped": made.dropped,
    }
