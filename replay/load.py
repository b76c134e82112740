"""Loads: exact means of every port by interval, laid along the paths that flows took.

The load of a hop is u' = 8*queue/(B*T) + rate/B (semantics.md section 3) with the mean queue and
the mean rate of a whole interval, both from the simulator's exact counters.
"""

import numpy as np
import polars as pl

from replay.fabric import Run
from replay.state import AREA, BIN_NS, COUNTERS, DATA, DROPPED, SENT, STANDING

NS = 1_000_000_000
LEAST_SHARE = 0.005
"""Share of a port's packets from which a flow contributes to its load."""


def port_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Exact means of every port (port_row) and whole interval (at)."""
    bins = interval_ns // BIN_NS
    whole = run.world.duration_ns // interval_ns
    summed = run.counters[:, : whole * bins].reshape(COUNTERS, whole, bins, -1).sum(axis=2)
    b = run.ports["bps"]
    rate = summed[SENT] * 8 * NS / interval_ns
    queue = summed[AREA] / interval_ns
    shape = summed[AREA].shape
    columns = {
        "u_mean": 8 * queue * NS / (b * run.world.base_rtt_ns) + rate / b,
        "queue_mean_bytes": queue,
        "standing_share": summed[STANDING] / interval_ns,
        "abw_bps": b - rate,
        "abw_share": 1 - rate / b,
        "delay_mean_ns": 8 * queue * NS / b,
        "dropped": summed[DROPPED],
    }
    at, row = np.indices(shape)
    return pl.DataFrame(
        {"at": at.ravel(), "port_row": row.ravel()}
        | {name: value.ravel() for name, value in columns.items()}
    ).join(interface_frame(run), on="port_row", maintain_order="left")


def interface_frame(run: Run) -> pl.DataFrame:
    """Identity of every port."""
    return pl.DataFrame(
        [
            {"port_row": row, "node": i.node_id, "port": i.port_id, "device": i.device,
             "interface": i.name, "stage": i.stage, "orientation": i.orientation,
             "capacity_bps": i.capacity_bps}
            for row, i in enumerate(run.interfaces)
        ],
        schema_overrides={"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64},
    )  # fmt: skip


def phase_of(run: Run, row: int, time_ns: int) -> int:
    """Row of the phase that a flow is in."""
    first, end = int(run.flows["phases"][row]), int(run.flows["phases_end"][row])
    begun = np.searchsorted(run.phases["at_ns"][first:end], time_ns, side="right")
    return first + max(int(begun) - 1, 0)


def hop_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Loads of the hops of each flow's path in each interval, from its start on."""
    whole = run.world.duration_ns // interval_ns
    rows = [
        (script, row, at, phase, hop, int(port))
        for row, script in enumerate(run.scripts)
        for at in range(run.flows["start_ns"][row] // interval_ns, whole)
        for phase in (phase_of(run, row, at * interval_ns),)
        for hop, port in enumerate(path_ports(run, phase))
    ]
    columns = ["script", "flow_row", "at", "phase", "hop_index", "port_row"]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64), orient="row").join(
        port_frame(run, interval_ns), on=["at", "port_row"], how="left", maintain_order="left"
    )


def path_ports(run: Run, phase: int) -> list[int]:
    """Egress ports of the data of a phase."""
    path = run.paths[run.phases["path"][phase]]
    return [int(row) for row in path["port"][0, : path["hops"]]]


def data_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Data that reached its receiver: flow_row, path and interval of arrival (at)."""
    packets = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
    return pl.DataFrame(
        {
            "flow_row": packets["flow"],
            "path": packets["path"],
            "at": packets["last_ns"] // interval_ns,
        }
    )


def contributors(run: Run, interval_ns: int) -> pl.DataFrame:
    """Flows whose data makes up a share of each port's packets, by interval."""
    paths = run.paths["port"][:, 0]
    hops = pl.DataFrame(
        [
            {"path": path, "port_row": int(port)}
            for path in range(len(paths))
            for port in paths[path, : run.paths["hops"][path]]
        ]
    )
    counted = (
        data_frame(run, interval_ns).group_by("at", "path", "flow_row").len().join(hops, on="path")
    )
    shares = counted.group_by("at", "port_row", "flow_row").agg(pl.col("len").sum())
    share = pl.col("len") / pl.col("len").sum().over("at", "port_row")
    return (
        shares.filter(share >= LEAST_SHARE)
        .group_by("at", "port_row")
        .agg(pl.len().alias("contributors"))
    )
