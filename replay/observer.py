"""The best possible observer of a run: how often its answer is right, from the bits that are left.

Whatever telemetry a packet carries, each one that is left tells this observer how much waited at
every hop that it had passed where it was seen, which is more than any header says. Rates it knows
exactly: sequence numbers of two packets tell the octets between them. Clocks it sets right by
packets that are seen twice. So all that it lacks is what waited while packets passed that are not
left, and which of several spines a flow took that nothing names (`ceiling`).

A port sends while anything waits, and while it sends a packet, half of what comes meanwhile waits
too: the mean queue over time is its utilisation times the mean of what waited behind its packets
and half a packet times its utilisation. From `told` of `passed` packets that mean is known up to
its standard error, of a sample without replacement. Loads are drawn from there, `DRAWS` times; each
draw is answered, and the commonest answer is given. Its share of the draws is how often it is
right. That is a ceiling: where every packet of data is left it is 1, but for the spines.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from replay.carriage import SILENT
from replay.emit import sightings
from replay.fabric import Run
from replay.state import ABOVE, ACK, DATA, FIRST, HOPS, REPORTED
from replay.taps import Taps
from replay.truth import CONGESTED_U, KINDS, STANDING_SHARE, Truth

NS = 1_000_000_000
DRAWS = 256
SEED = 5
CALM = "calm"
"""The kind of what is not congested; why it is not is told to this observer."""


def told(run: Run, taps: Taps) -> NDArray[np.bool_]:
    """Of each packet and hop, whether something that is left tells of it; shape [packets, HOPS]."""
    seen = sightings(run, taps)
    kind = run.packets["kind"][seen.rows]
    telemetry = run.flows["form"][run.packets["flow"][seen.rows]]
    hops = np.zeros((len(run.packets), HOPS), np.bool_)
    carries = ~np.isin(telemetry, SILENT)
    data = (kind == DATA) & carries
    hops[seen.rows[data & (seen.edge != FIRST) & (seen.edge < ABOVE)]] = True
    hops[seen.rows[data & (seen.edge == ABOVE)], 0] = True
    hops[run.packets["echo"][seen.rows[(kind == ACK) & carries]]] = True
    reported = seen.edge >= REPORTED
    hops[seen.rows[reported], seen.edge[reported] - REPORTED] = True
    return hops


def known(run: Run, taps: Taps, interval_ns: int) -> pl.DataFrame:
    """What is known of the queue of each port (port_row) and interval (at).

    depth and standing: mean and share above K of the packets that are told of; depth_error and
    standing_error: their standard errors; 0 where nothing is told of.
    """
    packets, ports = run.packets, len(run.interfaces)
    rows = np.flatnonzero(packets["kind"] == DATA)
    path = packets["path"][rows]
    hops = np.minimum(packets["hop"][rows], run.paths["hops"][path])
    at, hop = np.nonzero(np.arange(HOPS) < hops[:, None])
    port = run.paths["port"][path[at], 0, hop]
    cell = packets["ts_ns"][rows[at], hop] // interval_ns * ports + port
    left = told(run, taps)[rows[at], hop]
    passed = np.bincount(cell)
    of, depth = cell[left], packets["depth"][rows[at[left]], hop[left]].astype(np.float64)
    count = np.bincount(of, minlength=len(passed))
    missing = 1 - count / np.maximum(passed, 1)
    columns: dict[str, NDArray[np.generic]]
    columns = {"at": np.arange(len(passed)) // ports, "port_row": np.arange(len(passed)) % ports}
    over = (depth > run.world.mark_bytes).astype(np.float64)
    for name, value in (("depth", depth), ("standing", over)):
        sums = [np.bincount(of, power, len(passed)) for power in (value, value**2)]
        mean, square = (each / np.maximum(count, 1) for each in sums)
        columns[name] = mean
        columns[f"{name}_error"] = np.sqrt(spread(mean, square, count) * missing)
    return pl.DataFrame(columns)


def spread(
    mean: NDArray[np.float64], square: NDArray[np.float64], count: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Squared standard error of means; of one value alone its square."""
    several = np.maximum(square - mean**2, 0.0) / np.maximum(count - 1, 1)
    return np.where(count > 1, several, square)


def observer(
    run: Run, taps: Taps, truth: Truth, interval_ns: int, ports: pl.DataFrame
) -> pl.DataFrame:
    """script, time_ns, `best`, `best_kind`: how often its hop and its kind are right.

    `ports` are their ceilings (`ceiling`).
    """
    rows = hops_known(run, known(run, taps, interval_ns), truth, interval_ns).join(
        ports, on=["device", "interface"], how="left", maintain_order="left"
    )
    group = rows.select("script", "time_ns").unique(maintain_order=True)
    place = rows.join(
        group.with_row_index("group"), on=["script", "time_ns"], maintain_order="left"
    )
    where = place["group"].to_numpy(), place["hop_index"].to_numpy()
    load = np.full((group.height, HOPS, DRAWS), -np.inf)
    hot = np.zeros((group.height, HOPS, DRAWS), np.bool_)
    load[where], hot[where] = drawn(rows, run.world.payload_bytes)
    first = load.argmax(axis=1)
    congested = np.take_along_axis(hot, first[:, None], axis=1)[:, 0]
    share = np.stack([(first == hop).mean(axis=1) for hop in range(HOPS)], axis=1)
    alike = np.zeros((group.height, HOPS))
    alike[where] = rows["ceiling"].to_numpy()
    names = [CALM, *dict.fromkeys(kind for *_, kind in KINDS)]
    kinds = np.zeros((group.height, HOPS), np.int64)
    kinds[where] = [names.index(name) for name in rows["kind"]]
    said = np.where(congested, np.take_along_axis(kinds, first, axis=1), 0)
    kind_share = np.stack([(said == code).mean(axis=1) for code in range(len(names))], axis=1)
    return group.with_columns(
        pl.Series("best", (share * alike).max(axis=1)),
        pl.Series("best_kind", kind_share.max(axis=1)),
    )


def hops_known(run: Run, queues: pl.DataFrame, truth: Truth, interval_ns: int) -> pl.DataFrame:
    """The hops of each flow and interval with what is known of their queues, and their kind."""
    names = [(port.device, port.name, row) for row, port in enumerate(run.interfaces)]
    ports = pl.DataFrame(names, schema=["device", "interface", "port_row"], orient="row")
    at = (pl.col("time_ns") - run.world.start_ns) // interval_ns
    return (
        truth.hops.with_columns(at.alias("at"), hop_kind().alias("kind"))
        .join(ports, on=["device", "interface"], how="left", maintain_order="left")
        .join(queues, on=["at", "port_row"], how="left", maintain_order="left")
        .with_columns(
            pl.col("depth", "depth_error", "standing", "standing_error").fill_null(0.0),
            (8 * NS / (pl.col("capacity_bps") * run.world.base_rtt_ns)).alias("per_byte"),
            (1 - pl.col("abw_share")).alias("utilisation"),
        )
    )


def hop_kind() -> pl.Expr:
    """Kind of a congested hop by its place, as the truth calls it."""
    found = pl.lit(CALM)
    for stage, orientation, several, name in KINDS:
        applies = pl.col("stage").eq(stage) & pl.col("orientation").eq(orientation)
        if several is not None:
            applies &= (pl.col("contributors") > 1) == several
        found = pl.when(applies).then(pl.lit(name)).otherwise(found)
    return found


def drawn(rows: pl.DataFrame, payload_bytes: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Loads of hops and whether they are congested, shape [rows, DRAWS]; a port is drawn once."""
    ports = rows.select(pl.struct("at", "port_row").rank("dense").alias("rank"))["rank"].to_numpy()
    draws = np.random.default_rng(SEED).standard_normal((int(ports.max(initial=0)) + 1, DRAWS))
    off = draws[ports]
    held = {
        name: rows[name].to_numpy()[:, None]
        for name in (
            "depth",
            "depth_error",
            "standing",
            "standing_error",
            "utilisation",
            "per_byte",
        )
    }
    depth = np.maximum(held["depth"] + off * held["depth_error"], 0.0)
    standing = held["standing"] + off * held["standing_error"]
    used = held["utilisation"]
    load = used * (1 + held["per_byte"] * (depth + used * payload_bytes / 2))
    return load, (load > CONGESTED_U) | (used * standing > STANDING_SHARE)
