"""Truth: where each flow was bottlenecked, by the simulator's exact counters (semantics.md 6).

The hop with the largest mean load over an interval is the headline. A flow-interval is congested
when that mean is above 1, or when a queue above K stood for more than a tenth of the interval.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline import dctcp, hpcc, swift
from replay import wiring
from replay.carriage import CARRIAGES, NAMES
from replay.ends import ends_frame, observable
from replay.fabric import Run
from replay.identity import CLIENT, SERVER, identities
from replay.load import contributors, data_frame, hop_frame
from replay.offered import limited_frame
from replay.signal_truth import signal_frame
from replay.state import BIN_NS, DECISION, INT
from replay.world import MS

INTERVAL_NS = 10 * MS
"""Scoring interval of the demo."""
CONGESTED_U = 1.0
STANDING_SHARE = 0.1
ETA = next(float(one.default) for one in hpcc.TABLE if one.name == "eta")
LEAST_OBSERVATIONS = 20
"""A flow-interval with fewer data frames at the receiver's edge is not scored."""
KEY = ("src", "sport", "dst", "dport", "protocol")
KINDS = (
    ("tor", "host", True, "incast"),
    ("tor", "host", False, "last_hop_elephant"),
    ("tor", "up", None, "uplink"),
    ("spine", "down", None, "downlink"),
    ("spine", "up", None, "core"),
    ("core", "down", None, "core"),
    ("tor", "side", None, "side_link"),
)
"""(stage and orientation of the port, several contributors, kind)."""
OF = {
    "hpcc": ("U", "W", "Wc", "R", "u_max", "u_hop", "incStage", "lastUpdateSeq"),
    "dctcp": ("alpha", "cwnd", "ssthresh", "WindowEnd", "BytesAcked", "BytesMarked"),
}
"""What each algorithm holds."""
BRANCHES = {"hpcc": hpcc.Branch, "dctcp": dctcp.Branch, "swift": swift.Branch}
"""How each algorithm may decide."""


class Truth(NamedTuple):
    """Frames; each has the flow's number in `World.flows` (`script`), times are ns since 1970.

    - `flows`: the key columns, role, telemetry, hosts, initial sequence numbers, the NIC's rate;
    - `hops`: one row a flow, interval and hop: u_mean, queue_mean_bytes, standing_share, abw_bps,
      abw_share, delay_mean_ns, dropped (packets), contributors, and the port's names;
    - `verdicts`: one row a flow and interval: the headline hop with its columns, congested, kind,
      what packets can show of that (`observable`), observations, steady (the script changes nothing
      inside), scored, the runner-up's load, and the hop of each CSIG signal;
    - `decisions`: one row an acknowledgment at a sender; sequence numbers as on the wire;
    - `signals`: one row a flow, interval and signal: the hop that it is about (`signal_truth`).
    """

    flows: pl.DataFrame
    hops: pl.DataFrame
    verdicts: pl.DataFrame
    decisions: pl.DataFrame
    signals: pl.DataFrame = pl.DataFrame()


def truth_of(run: Run, interval_ns: int = INTERVAL_NS) -> Truth:
    """The truth of a run in whole intervals. ValueError unless they are whole bins of counters."""
    if interval_ns < BIN_NS or interval_ns % BIN_NS:
        raise ValueError(f"interval_ns must be a multiple of {BIN_NS}")
    flows = flow_frame(run)
    names = flows.select("script", *KEY)
    loads = hop_frame(run, interval_ns)
    shared = contributors(run, interval_ns)
    hops = loads.join(shared, on=["at", "port_row"], how="left", maintain_order="left")
    hops = hops.with_columns(pl.col("contributors").fill_null(0))
    time_ns = pl.col("at") * interval_ns + run.world.start_ns

    def named(frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with flow keys and times for the run's own numbers."""
        timed = frame.select("script", time_ns.alias("time_ns"), pl.exclude("script"))
        own = ("at", "port_row", "phase", "flow_row")
        return names.join(timed.drop(own, strict=False), on="script", maintain_order="right")

    verdicts = verdict_frame(run, hops, interval_ns)
    signals = named(signal_frame(run, hops, interval_ns))
    return Truth(flows, named(hops), named(verdicts), decision_frame(run, names), signals)


def flow_frame(run: Run) -> pl.DataFrame:
    """Who the flows are."""
    world, names = run.world, identities(run)
    scripts = [world.flows[number] for number in run.scripts]
    host, version = names.host.tolist(), names.version.tolist()

    def addresses(end: int) -> list[str]:
        return [
            wiring.address(world, ends[end], ip) for ends, ip in zip(host, version, strict=True)
        ]

    return pl.DataFrame(
        {
            "script": run.scripts,
            "src": addresses(CLIENT),
            "sport": names.port[:, CLIENT].astype(np.uint16),
            "dst": addresses(SERVER),
            "dport": names.port[:, SERVER].astype(np.uint16),
            "protocol": pl.Series(
                [NAMES[script.telemetry].protocol for script in scripts], dtype=pl.UInt8
            ),
            "role": [script.role for script in scripts],
            "telemetry": [script.telemetry for script in scripts],
            "src_host": [script.src for script in scripts],
            "dst_host": [script.dst for script in scripts],
            "isn": names.isn[:, CLIENT].astype(np.uint32),
            "peer_isn": names.isn[:, SERVER].astype(np.uint32),
            "nic_bps": [world.bps_of(script.src) for script in scripts],
        }
    )


def verdict_frame(run: Run, hops: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """The headline of each flow and interval; ties go to the lowest hop."""
    group = ["script", "flow_row", "at"]
    seen = (
        data_frame(run, interval_ns).group_by("flow_row", "at").agg(pl.len().alias("observations"))
    )
    signals = hops.group_by(group, maintain_order=True).agg(
        pl.col("u_mean").sort(descending=True).get(1, null_on_oob=True).alias("runner_up_u_mean"),
        least(pl.col("abw_bps")).alias("abw_hop"),
        least(pl.col("abw_share")).alias("abw_share_hop"),
        least(-pl.col("delay_mean_ns")).alias("delay_hop"),
    )
    worst = hops.sort(*group, -pl.col("u_mean"), "hop_index", maintain_order=True).unique(
        group, keep="first", maintain_order=True
    )
    congested = pl.col("u_mean").gt(CONGESTED_U) | pl.col("standing_share").gt(STANDING_SHARE)
    counts = pl.col("observations").ge(LEAST_OBSERVATIONS) & pl.col("steady")
    limits = limited_frame(run, interval_ns)
    kinds = pl.lit(pl.Series(run.flows["kind"]))
    windows = pl.Series([CARRIAGES[int(form)].transport == "tcp" for form in run.flows["form"]])
    return (
        worst.join(signals, on=group, maintain_order="left")
        .join(seen, on=["flow_row", "at"], how="left", maintain_order="left")
        .join(limits, on=["flow_row", "at"], how="left", maintain_order="left")
        .join(
            ends_frame(run, interval_ns), on=["flow_row", "at"], how="left", maintain_order="left"
        )
        .with_columns(
            pl.col("observations").fill_null(0),
            congested.alias("congested"),
            (~changing(run, interval_ns)).alias("steady"),
            kinds.gather(pl.col("flow_row")).eq(INT).alias("measured"),
            pl.lit(windows).gather(pl.col("flow_row")).alias("windows"),
        )
        .with_columns(kind_of().alias("kind"), counts.alias("scored"))
        .with_columns(observable("kind").alias("observable"))
        .drop("limited", "measured", "end", "windows")
    )


def least(value: pl.Expr) -> pl.Expr:
    """The hop with the least value; ties go to the lowest."""
    return pl.col("hop_index").sort_by(value, maintain_order=True).first()


def kind_of() -> pl.Expr:
    """Kind of the bottleneck by the port's place, or why there is none.

    A hop at eta tells HPCC++ senders to send less, so that the network sets their pace.
    """
    told_to_slow = pl.col("measured") & (pl.col("u_mean") >= ETA)
    found = (
        pl.when(pl.col("limited") & ~told_to_slow)
        .then(pl.lit("sender_limited"))
        .when(pl.col("end").is_not_null())
        .then(pl.col("end"))
        .otherwise(pl.lit("not_congested"))
    )
    for stage, orientation, several, name in KINDS:
        applies = pl.col("congested") & pl.col("stage").eq(stage)
        applies &= pl.col("orientation").eq(orientation)
        if several is not None:
            applies &= (pl.col("contributors") > 1) == several
        found = pl.when(applies).then(pl.lit(name)).otherwise(found)
    return found


def changing(run: Run, interval_ns: int) -> pl.Expr:
    """Whether the script changes the traffic inside an interval, not at its edge."""
    inside = {at // interval_ns for at in run.world.transitions if at % interval_ns}
    return pl.col("at").is_in(sorted(inside))


def algorithm_of(run: Run) -> NDArray[np.int64]:
    """Place in `BRANCHES` of the algorithm that made each decision."""
    flow = run.flows[run.decisions["flow"]]
    return np.where(flow["kind"] == INT, 0, np.where(flow["swift"] == 1, 2, 1))


def branch_names(run: Run) -> pl.Series:
    """Names of the branches that decided, each by its own algorithm's list."""
    code = run.decisions["branch"] * len(BRANCHES) + algorithm_of(run)
    named = {
        branch.value * len(BRANCHES) + at: branch.name.lower()
        for at, branches in enumerate(BRANCHES.values())
        for branch in branches
    }
    return pl.Series(code).replace_strict(named, return_dtype=pl.String)


def decision_frame(run: Run, names: pl.DataFrame) -> pl.DataFrame:
    """What the senders decided; columns of the other algorithm are null."""
    made = run.decisions
    flow = made["flow"]
    sequence = ("ack", "snd_nxt", "lastUpdateSeq", "WindowEnd")
    first = identities(run).isn[flow, CLIENT] + 1
    held = [name for name in (DECISION.names or ()) if name in {*OF["hpcc"], *OF["dctcp"]}]
    frame = pl.DataFrame(
        {
            "script": np.array(run.scripts, np.int64)[flow],
            "time_ns": run.world.start_ns + made["time_ns"],
            "algorithm": np.array([*BRANCHES])[algorithm_of(run)],
            "branch": branch_names(run),
            **{name: made[name] for name in held},
            **{name: ((made[name] + first) & 0xFFFFFFFF).astype(np.uint32) for name in sequence},
        }
    )
    own = [
        pl.when(pl.col("algorithm") == algorithm).then(pl.col(name)).alias(name)
        for algorithm, columns in OF.items()
        for name in columns
    ]
    return names.join(frame.with_columns(own), on="script", maintain_order="right")
