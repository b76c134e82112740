"""The worker's compiled code, made ahead of its first frames.

`python -m pipeline.warming judge` runs a worker over two flows that are made up here, so that all
its kernels are compiled and kept; `decide`, no more of it than a replay needs. A process that has
to decode first starts this beside itself, and finds the code in the cache when it comes to analyze.
"""

import sys

import numpy as np
import polars as pl

from collector import SCHEMA, is_compiled
from pipeline.batch import LOAD, batch_of, rows_of
from pipeline.decided import DECISIONS, hop_loads_of
from pipeline.decider import Decider
from pipeline.rerun import Rerun
from pipeline.settings import PipelineSettings
from pipeline.stacks import lying
from pipeline.topology import Host, Interface, Topology
from pipeline.track import Tracked
from pipeline.trail import trail
from pipeline.worker import Worker

FRAMES = 48
GAP_NS = 20_000
BYTES = 1000
LINE_BPS = 10**10
HOPS, U = 2, 0.9
IPV4 = 0xFFFF << 32
"""Upper part of the lower word of an IPv4 address."""
ACK, ECE = 0x10, 0x40
DECIDE, REST, JUDGE = "decide", "rest", "judge"
"""What code is for: decisions, as a replay makes them, what a worker does besides, or all that."""
SEEN = {
    DECIDE: (("pipeline/follow.py", "follow"),),
    JUDGE: (("pipeline/follow.py", "follow"), ("pipeline/way_choice.py", "chosen")),
}
"""Modules and names of the largest kernels of each."""


def is_warm(what: str = JUDGE) -> bool:
    """Whether an earlier run has kept the code."""
    return all(is_compiled(*kernel) for kernel in SEEN[what])


def warm(what: str = JUDGE) -> None:
    """Compile what is needed, and keep it."""
    settings, rows = PipelineSettings(), two_flows()
    runner: Worker | Rerun
    if what == DECIDE:
        runner = Rerun(settings, [Decider(settings, two_devices())], ("warming",))
    else:
        kind = Undecided if what == REST else Worker
        runner = kind(settings, two_devices(), ("warming",))
    runner.advance(rows.head(FRAMES // 2))
    runner.advance(rows.tail(-(FRAMES // 2)))
    runner.finish()


class Undecided(Worker):
    """A worker that knows loads without having decided anything: it needs no code of decisions."""

    def decide(self, rows: pl.DataFrame) -> Tracked:
        """Loads that are made up."""
        along = self.accecn.told(self.hints.told(self.paths.along(rows)))
        told = along.filter(pl.col("hop_count") > 0)
        u = np.full((HOPS, told.height), U)
        return Tracked(DECISIONS.to_frame(), hop_loads_of(told, np.zeros(told.height, LOAD), u))


def warm_companions(settings: PipelineSettings) -> None:
    """Compile the loops of companions, and not the one that leads them: its code is made elsewhere.

    They go over rows of which nothing is known.
    """
    decider = Decider(settings, two_devices())
    frame, tracker = decider.paths.along(two_flows()), decider.tracker
    rows = rows_of(frame, tracker.points.of(frame["point"]))
    told = frame.filter(pl.col("hop_count") > 0)
    batch = batch_of(frame, rows, told, lying(told), tracker.arena, trail(frame.height))
    tracker.accompany(frame, told, rows, batch, slots=1)


def two_flows() -> pl.DataFrame:
    """Data of two flows in turns, by INT and by CSIG, each answered by an ACK."""
    at = pl.int_range(FRAMES)
    number, pair, answer = at // 4, at % 4 // 2, at % 2
    data = answer == 0
    by_stack, by_tag = data & (pair == 0), data & (pair == 1)

    def of(which: pl.Expr, value: float | pl.Expr) -> pl.Expr:
        return pl.when(which).then(value)

    hops = (
        of(by_stack, value).alias(f"h{hop}_{name}")
        for hop in range(HOPS)
        for name, value in (("node", hop + 1), ("port", 1), ("qlen_bytes", 90_000),
                            ("tx_bytes", at * BYTES), ("ts_ns", at * GAP_NS), ("b_bps", LINE_BPS))
    )  # fmt: skip
    made = pl.select(
        *hops,
        time_ns=at * GAP_NS, source=pl.lit("warming"), point=pl.lit("b:host"), frame=at + 1,
        length=66 + BYTES * data, status=0, layers=0, tenant=pl.lit(""), vrf=pl.lit(""),
        src_hi=0, src_lo=IPV4 + 1 + answer, dst_hi=0, dst_lo=IPV4 + 2 - answer,
        sport=2000 - (1000 - pair) * data, dport=1000 + pair + (1000 - pair) * data,
        protocol=6, flow=1 + at % 4, conversation=1 + pair, direction=answer, ttl=62, ip_id=at + 1,
        ecn=3 * data, seq=1 + number * BYTES * data, ack=1 + (number + 1) * BYTES * answer,
        flags=ACK + ECE * answer, window=65535, payload_bytes=BYTES * data,
        csig_variant=of(by_tag, 2), csig_t=of(by_tag, 1), csig_s=of(by_tag, 30),
        csig_lm=of(by_tag, 257), csig_low=of(by_tag, 0.9), csig_high=of(by_tag, 1.0),
        csig_known=of(by_tag, 1), int_version=of(by_stack, 2), int_remaining_hops=of(by_stack, 6),
        hop_count=HOPS * by_stack,
    )  # fmt: skip
    return made.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items() if name in made)


def two_devices() -> Topology:
    """Two devices between two hosts."""
    ports = (("a", 1, "on", "b", "back"), ("a", 3, "host", "h1", ""), ("b", 2, "back", "a", "on"),
             ("b", 3, "host", "h2", ""))  # fmt: skip
    return Topology(
        version="warming",
        valid_from_ns=0,
        base_rtt_ns=10_000,
        interfaces=tuple(
            Interface(
                device=device, name=name, node_id=1 if device == "a" else 2, port_id=port,
                capacity_bps=LINE_BPS, stage="tor", orientation="host" if name == "host" else "up",
                peer_device=peer, peer_interface=peer_name,
            )
            for device, port, name, peer, peer_name in ports
        ),
        hosts=(
            Host("h1", ("0.0.0.1/32",), "a", "host", LINE_BPS),
            Host("h2", ("0.0.0.2/32",), "b", "host", LINE_BPS),
        ),
    )  # fmt: skip


if __name__ == "__main__":
    warm(*sys.argv[1:2])
