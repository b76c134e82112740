"""Truth: where each flow was bottlenecked, from the simulator's exact counters (semantics.md section 6).

Per flow, interval and hop the mean load u' = 8*queue/(B*T) + rate/B, from the interval's exact queue integral
and sent bytes; the hop with the largest is the headline. A flow-interval is congested when that mean is
above 1 or a queue above K stood for more than a tenth of the interval.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from replay import wiring
from replay.fabric import Run
from replay.identity import CLIENT, SERVER, identities
from replay.state import AREA, BIN_NS, DATA, DECISION, INT, SENT, STANDING
from replay.world import MS

INTERVAL_NS = 10 * MS
"""Scoring interval of the demo."""
CONGESTED_U = 1.0
STANDING_SHARE = 0.1
LEAST_OBSERVATIONS = 20
"""A flow-interval with fewer data frames at the receiver's edge is not scored."""
LEAST_SHARE = 0.005
"""Share of a port's bytes from which a flow contributes to its load."""
NS = 1_000_000_000
KEY = ["src", "sport", "dst", "dport", "protocol"]
KINDS = (
    ("host", True, "incast"),
    ("host", False, "last_hop_elephant"),
    ("up", None, "uplink"),
    ("down", None, "downlink"),
)
"""(orientation of the port, several contributors, kind) in a leaf-spine fabric."""


class Truth(NamedTuple):
    """Frames, each with the flow's number `script` in `World.flows`; times are ns since 1970.

    - `flows`: key columns, role, telemetry, hosts, ISNs, W_init and T of the sender;
    - `hops`: one row a flow, interval and hop: u_mean, queue_mean_bytes, standing_share, available bandwidth,
      mean queueing delay, contributors;
    - `verdicts`: one row a flow and interval: the headline hop, congested, kind, observations, scored, the load of
      the runner-up, and the hop of each CSIG signal (least abw, least abw/C, most delay);
    - `decisions`: one row an acknowledgment at a sender; sequence numbers as on the wire.
    """

    flows: pl.DataFrame
    hops: pl.DataFrame
    verdicts: pl.DataFrame
    decisions: pl.DataFrame


def truth(run: Run, interval_ns: int = INTERVAL_NS) -> Truth:
    """The truth of a run in whole intervals. ValueError unless the interval is a number of whole bins."""
    if interval_ns % BIN_NS:
        raise ValueError(f"interval_ns must be a multiple of {BIN_NS}")
    flows = flow_frame(run)
    hops = hop_frame(run, interval_ns).join(contributors(run, interval_ns), on=["at", "port_row"], how="left")
    hops = hops.with_columns(pl.col("contributors").fill_null(0))
    verdicts = verdict_frame(run, hops, interval_ns)
    names = flows.select("script", *KEY)
    start = pl.col("at") * interval_ns + run.world.start_ns
    final = (
        names.join(frame.with_columns(start.alias("time_ns")).drop("at"), on="script", maintain_order="right")
        for frame in (hops.drop("port_row"), verdicts)
    )
    return Truth(flows, *final, decisions=decision_frame(run, names))


def flow_frame(run: Run) -> pl.DataFrame:
    """Who the flows are."""
    world, names = run.world, identities(run)
    scripts = [world.flows[number] for number in run.scripts]
    ends = {"src": CLIENT, "dst": SERVER}
    address = {
        name: [
            wiring.address(world, int(names.host[row, end]), int(names.version[row]))
            for row in range(len(scripts))
        ]
        for name, end in ends.items()
    }
    return pl.DataFrame(
        {
            "script": np.array(run.scripts, np.int64), "flow_row": np.arange(len(scripts)),
            "src": address["src"], "sport": names.port[:, CLIENT].astype(np.uint16),
            "dst": address["dst"], "dport": names.port[:, SERVER].astype(np.uint16),
            "protocol": np.full(len(scripts), 6, np.uint8),
            "role": [script.role for script in scripts], "telemetry": [script.telemetry for script in scripts],
            "src_host": [script.src for script in scripts], "dst_host": [script.dst for script in scripts],
            "isn": names.isn[:, CLIENT].astype(np.uint32), "peer_isn": names.isn[:, SERVER].astype(np.uint32),
            "nic_bps": np.array([world.bps_of(script.src) for script in scripts], np.int64),
            "base_rtt_ns": np.full(len(scripts), world.base_rtt_ns, np.int64),
        }
    )  # fmt: skip


def port_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Exact means of every port (port_row) and whole interval (at)."""
    bins = interval_ns // BIN_NS
    whole = run.world.duration_ns // interval_ns
    summed = run.counters[:, : whole * bins].reshape(3, whole, bins, -1).sum(axis=2)
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
    }
    at, row = np.indices(shape)
    return pl.DataFrame(
        {"at": at.ravel(), "port_row": row.ravel()} | {name: value.ravel() for name, value in columns.items()}
    ).join(interface_frame(run), on="port_row", maintain_order="left")


def interface_frame(run: Run) -> pl.DataFrame:
    """Identity of every port."""
    return pl.DataFrame(
        [
            {"port_row": row, "node": i.node_id, "port": i.port_id, "device": i.device, "interface": i.name,
             "stage": i.stage, "orientation": i.orientation, "capacity_bps": i.capacity_bps}
            for row, i in enumerate(run.interfaces)
        ],
        schema_overrides={"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64},
    )  # fmt: skip


def phase_of(run: Run, row: int, time_ns: int) -> int:
    """Row of the phase that a flow is in."""
    flow = run.flows[row]
    own = range(int(flow["phases_end"]))
    mine = [at for at in own if at >= first_phase(run, row)]
    return max(at for at in mine if at == mine[0] or run.phases["at_ns"][at] <= time_ns)


def first_phase(run: Run, row: int) -> int:
    """Row of a flow's first phase."""
    return int(run.flows["phases_end"][row - 1]) if row else 0


def hop_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Loads of the hops of each flow's path in each interval; intervals before the flow's start are left out."""
    rows = [
        (script, row, at, phase, hop, int(port))
        for row, script in enumerate(run.scripts)
        for at in range(run.world.duration_ns // interval_ns)
        if at * interval_ns >= int(run.phases["at_ns"][first_phase(run, row)]) // interval_ns * interval_ns
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
        {"flow_row": packets["flow"], "path": packets["path"], "at": packets["last_ns"] // interval_ns}
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
    counted = data_frame(run, interval_ns).group_by("at", "path", "flow_row").len().join(hops, on="path")
    shares = counted.group_by("at", "port_row", "flow_row").agg(pl.col("len").sum())
    share = pl.col("len") / pl.col("len").sum().over("at", "port_row")
    return shares.filter(share >= LEAST_SHARE).group_by("at", "port_row").agg(pl.len().alias("contributors"))


def verdict_frame(run: Run, hops: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """The headline of each flow and interval; ties go to the lowest hop."""
    group = ["script", "flow_row", "at"]
    seen = data_frame(run, interval_ns).group_by("flow_row", "at").agg(pl.len().alias("observations"))
    signals = hops.group_by(group, maintain_order=True).agg(
        pl.col("u_mean").sort(descending=True).get(1, null_on_oob=True).alias("runner_up_u_mean"),
        pl.col("hop_index").sort_by("abw_bps", maintain_order=True).first().alias("abw_hop"),
        pl.col("hop_index").sort_by("abw_share", maintain_order=True).first().alias("abw_share_hop"),
        pl.col("hop_index").sort_by(-pl.col("delay_mean_ns"), maintain_order=True).first().alias("delay_hop"),
    )
    worst = hops.sort(*group, -pl.col("u_mean"), "hop_index", maintain_order=True).unique(
        group, keep="first", maintain_order=True
    )
    congested = pl.col("u_mean").gt(CONGESTED_U) | pl.col("standing_share").gt(STANDING_SHARE)
    rates = pl.DataFrame({"phase": np.arange(len(run.phases)), "rate_bps": run.phases["rate_bps"]})
    return (
        worst.join(signals, on=group, maintain_order="left")
        .join(seen, on=["flow_row", "at"], how="left", maintain_order="left")
        .join(rates, on="phase", maintain_order="left")
        .with_columns(pl.col("observations").fill_null(0), congested.alias("congested"))
        .with_columns(
            kind_of().alias("kind"),
            (pl.col("observations").ge(LEAST_OBSERVATIONS) & ~changing(run, interval_ns)).alias("scored"),
        )
        .drop("port_row", "phase", "rate_bps", "flow_row")
    )


def kind_of() -> pl.Expr:
    """Kind of the bottleneck by the port's orientation, or why there is none."""
    found = pl.when(pl.col("rate_bps") != 0).then(pl.lit("sender_limited")).otherwise(pl.lit("not_congested"))
    for orientation, several, name in KINDS:
        applies = pl.col("congested") & (pl.col("orientation") == orientation)
        if several is not None:
            applies &= (pl.col("contributors") > 1) == several
        found = pl.when(applies).then(pl.lit(name)).otherwise(found)
    return found


def changing(run: Run, interval_ns: int) -> pl.Expr:
    """Whether the script changes the traffic inside an interval, not at its edge."""
    inside = {at // interval_ns for at in run.world.transitions if at % interval_ns}
    return pl.col("at").is_in(sorted(inside))


def decision_frame(run: Run, names: pl.DataFrame) -> pl.DataFrame:
    """What the senders decided; columns of the other algorithm are null."""
    ids, made = identities(run), run.decisions
    flow = made["flow"]
    hpcc = run.flows["kind"][flow] == INT
    own_sequence = ids.isn[flow, CLIENT] + 1
    frame = pl.DataFrame(
        {
            "script": np.array(run.scripts, np.int64)[flow],
            "time_ns": run.world.start_ns + made["time_ns"],
            "algorithm": np.where(hpcc, "hpcc", "dctcp"),
            "branch": made["branch"].astype(np.uint8),
            **{
                name: ((made[name] + own_sequence) & 0xFFFFFFFF).astype(np.uint32)
                for name in ("ack", "snd_nxt", "lastUpdateSeq", "WindowEnd")
            },
            **{name: made[name] for name in DECISION.names if DECISION[name].kind == "f"},
            **{name: made[name] for name in ("incStage", "u_hop", "BytesAcked", "BytesMarked")},
        }
    )
    of_hpcc = ("U", "W", "Wc", "R", "u_max", "u_hop", "incStage", "lastUpdateSeq")
    of_dctcp = ("alpha", "cwnd", "ssthresh", "WindowEnd", "BytesAcked", "BytesMarked")
    return names.join(
        frame.with_columns(
            *(pl.when(pl.col("algorithm") == "hpcc").then(pl.col(name)).alias(name) for name in of_hpcc),
            *(pl.when(pl.col("algorithm") == "dctcp").then(pl.col(name)).alias(name) for name in of_dctcp),
        ),
        on="script",
        maintain_order="right",
    )
