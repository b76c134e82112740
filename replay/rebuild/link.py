"""Links: rates that nothing tells, octets on the wire, the marking threshold, the buffer.

All are read off the frames. A full link delivers at its rate: the fastest that a receiver's data
was acknowledged is what its last link carries. Marks begin where the queue was longer than K: the
wait that best parts marked from unmarked data is K's.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

NS, BITS = 1_000_000_000, 8
RUN, LEAST_RUN = 64, 2
"""Acknowledgments over which a rate is taken."""
FULL = 0.95
"""A full link's rate is reached by this quantile of runs."""
SLACK = -30, 60
"""Octets that a frame may have on the wire beyond those captured: link headers, preamble, gap."""
FRAMES = 2
OFTEN = 5
"""So often a gap must be seen to be a line's, not a stamp's."""
CLOSE = 0.01
"""A line may differ from its name by this share."""
LEAST_MARKS = 5
MOST_WRONG = 0.25
"""Share of marked or unmarked samples, whichever are fewer, that a threshold may leave on the wrong
side."""
RATES = (0.1, 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400, 800)
"""Rates that lines of hosts have, Gbit/s."""
NAMED = 0.03
"""A gap names a rate that it is this near."""
GIGABIT = 10**9
MOST, NEAR_FULL = 0.5, 0.8
"""Of the longest wait: data lost while so much waited met a full buffer."""
BURST = 0.02
"""Quantile of the gaps between a host's frames that are its line rate's."""


class Threshold(NamedTuple):
    """The wait that parts marked from unmarked data, ns, and the share on the wrong side."""

    wait_ns: float
    wrong: float


def delivered_bps(acks: pl.DataFrame) -> float:
    """The rate at which payload of several flows is acknowledged where it is fastest; 0: unknown.

    `acks` has flow, time_ns and ack.
    """
    step = pl.col("ack") - pl.col("ack").cum_max().shift(1).over("flow", order_by="time_ns")
    moved = acks.with_columns(step=step).filter(pl.col("step") > 0).sort("time_ns")
    run = min(RUN, moved.height // 4)
    if run < LEAST_RUN:
        return 0.0
    total, times = moved["step"].cum_sum().to_numpy(), moved["time_ns"].to_numpy()
    taken = (times[run:] - times[:-run]).astype(np.float64)
    rates = (total[run:] - total[:-run])[taken > 0] * BITS * NS / taken[taken > 0]
    return float(np.quantile(rates, FULL)) if rates.size else 0.0


def wire_octets(octets: int, payload: int, rate_bps: float, capacity_bps: int) -> int:
    """Octets on the wire of a full frame, where a full link shows them; else those captured.

    A link that carries payload at `rate_bps` and was full has room for so many octets a frame.
    """
    if rate_bps <= 0 or capacity_bps <= 0:
        return octets
    implied = round(payload * capacity_bps / rate_bps)
    return implied if octets + SLACK[0] <= implied <= octets + SLACK[1] else octets


def is_full(wait_ns: float, octets: int, bps: int) -> bool:
    """Whether half of the data waits for more than a frame or two: then its link never rests."""
    return bytes_of(wait_ns, bps) > FRAMES * octets


def nic_bps(sends: pl.DataFrame) -> int:
    """A host's line rate by how close its frames follow each other; 0 where they never do.

    The shortest gap that comes again and again is a line's, where lines of that rate exist.
    """
    octets = int(sends["octets"].to_numpy().max())
    gaps = sends.sort("time_ns")["time_ns"].diff().drop_nulls()
    close = gaps.filter(gaps > 0)
    if close.is_empty():
        return 0
    often = close.value_counts().filter(pl.col("count") >= OFTEN)["time_ns"]
    shortest = int(often.to_numpy().min()) if often.len() else 0
    if shortest:
        told = octets * BITS * NS / shortest
        named = min(RATES, key=lambda rate: abs(rate * GIGABIT / told - 1))
        if abs(named * GIGABIT / told - 1) <= NAMED:
            return round(named * GIGABIT)
    return round(octets * BITS * NS / float(close.quantile(BURST, "nearest") or 1))


def line_bps(sends: pl.DataFrame, nominal_bps: int) -> int:
    """The rate at which a host's frames follow each other, where that is nearly the nominal one.

    Clocks differ, and simulators round: a line is a little faster or slower than its name.
    """
    sent = sends.sort("time_ns")
    full = (pl.col("octets") == pl.col("octets").max()) & (
        pl.col("octets").shift(1) == pl.col("octets")
    )
    gaps = sent.with_columns(gap=pl.col("time_ns").diff()).filter(full, pl.col("gap") > 0)
    often = gaps.group_by("gap").len().filter(pl.col("len") >= OFTEN)
    if often.is_empty():
        return nominal_bps
    octets, gap = int(gaps["octets"][0]), int(often["gap"].to_numpy().min())
    told = -(-octets * BITS * NS // gap)
    return told if abs(told - nominal_bps) <= CLOSE * nominal_bps else nominal_bps


def threshold(wait_ns: NDArray[np.int64], marked: NDArray[np.bool_]) -> Threshold | None:
    """The wait above which data is marked; None where there are no two kinds to part."""
    marks = int(marked.sum())
    if min(marks, len(marked) - marks) < LEAST_MARKS:
        return None
    order = np.argsort(wait_ns, kind="stable")
    waits, above = wait_ns[order], marked[order]
    marked_below = np.concatenate([[0], np.cumsum(above)])
    plain_above = (len(above) - marks) - np.concatenate([[0], np.cumsum(~above)])
    wrong = (marked_below + plain_above).astype(np.int64)
    edge = np.concatenate([[True], waits[1:] > waits[:-1], [True]])
    best = int(np.argmin(np.where(edge, wrong, len(above) + 1)))
    low = waits[best - 1] if best else 0
    high = waits[best] if best < len(waits) else low
    share = wrong[best] / min(marks, len(marked) - marks)
    return Threshold(float(low + high) / 2, float(share))


def bytes_of(wait_ns: float, bps: int) -> float:
    """What a link sends while one waits so long."""
    return wait_ns * bps / (BITS * NS)


def buffer_wait(sends: pl.DataFrame, waited: pl.DataFrame) -> tuple[int, float | None]:
    """How often data was sent again, and the wait of a full buffer where losses tell it.

    `waited` are samples of round trips, `sends` those of the same flows.
    """
    lost = sends.filter("again").select("flow", "time_ns").sort("time_ns")
    if lost.is_empty() or waited.is_empty():
        return lost.height, None
    longest = float(waited["wait_ns"].quantile(0.999) or 0)
    near = lost.join_asof(
        waited.select("flow", "time_ns", "wait_ns").sort("time_ns"), on="time_ns", by="flow",
        strategy="backward", check_sortedness=False,
    )  # fmt: skip
    full = (near["wait_ns"].fill_null(0) >= NEAR_FULL * longest).to_numpy().mean()
    return lost.height, longest if full > MOST else None
