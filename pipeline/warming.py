"""The worker's compiled code, made ahead of its first frames.

`python -m pipeline.warming` runs a worker over two flows that are made up here, so that all its
kernels are compiled and kept. A process that has to decode first starts this beside itself, and
finds the code in the cache when it comes to analyze.
"""

import polars as pl

from collector import SCHEMA, is_compiled
from pipeline.settings import PipelineSettings
from pipeline.topology import Host, Interface, Topology
from pipeline.worker import Worker

FRAMES = 48
GAP_NS = 20_000
BYTES = 1000
LINE_BPS = 10**10
IPV4 = 0xFFFF << 32
"""Upper part of the lower word of an IPv4 address."""
ACK, ECE = 0x10, 0x40
SEEN = "follow.follow-*.nbi"
"""Index of what is kept of the largest kernel."""


def is_warm() -> bool:
    """Whether an earlier run has kept the worker's code."""
    return is_compiled(SEEN)


def warm() -> None:
    """Compile what a worker needs, and keep it."""
    worker = Worker(PipelineSettings(), topology(), ("warming",))
    rows = observations()
    worker.advance(rows.head(FRAMES // 2))
    worker.advance(rows.tail(-(FRAMES // 2)))
    worker.finish()


def observations() -> pl.DataFrame:
    """Data of two flows in turns, by INT and by CSIG, each answered by an ACK."""
    made = []
    for at in range(FRAMES):
        number, pair, answer = at // 4, at % 4 // 2, at % 2 == 1
        row = {
            "time_ns": at * GAP_NS, "frame": at + 1, "length": 66 if answer else 66 + BYTES,
            "flow": 1 + at % 4, "conversation": 1 + pair, "direction": at % 2,
            "src_lo": IPV4 | (2 if answer else 1), "dst_lo": IPV4 | (1 if answer else 2),
            "sport": 2000 if answer else 1000 + pair, "dport": 1000 + pair if answer else 2000,
            "ip_id": at + 1, "ecn": 0 if answer else 3, "hop_count": 0,
            "flags": ACK | ECE if answer else ACK, "payload_bytes": 0 if answer else BYTES,
            "seq": 1 if answer else 1 + number * BYTES,
            "ack": 1 + (number + 1) * BYTES if answer else 1,
        }  # fmt: skip
        made.append(row if answer else row | (tag() if pair else stack(at)))
    told = {
        "source": "warming", "point": "b:host", "status": 0, "layers": 0, "tenant": "", "vrf": "",
        "src_hi": 0, "dst_hi": 0, "protocol": 6, "ttl": 62, "window": 65535,
    }  # fmt: skip
    rows = [{**told, **row} for row in made]
    names = [name for name in SCHEMA if any(name in row for row in rows)]
    return pl.DataFrame(rows, schema={name: SCHEMA[name] for name in names})


def stack(at: int) -> dict[str, int]:
    """Two hops of INT-MD."""
    hops: dict[str, int] = {}
    for hop in range(2):
        hops |= {
            f"h{hop}_node": hop + 1, f"h{hop}_port": 1, f"h{hop}_qlen_bytes": 90_000,
            f"h{hop}_tx_bytes": at * BYTES, f"h{hop}_ts_ns": at * GAP_NS,
            f"h{hop}_b_bps": LINE_BPS,
        }  # fmt: skip
    return {"int_version": 2, "int_remaining_hops": 6, "hop_count": 2, **hops}


def tag() -> dict[str, int | float]:
    """An expanded CSIG tag that names the first hop."""
    return {"csig_variant": 2, "csig_t": 1, "csig_s": 30, "csig_lm": 257, "csig_low": 0.9,
            "csig_high": 1.0, "csig_known": 1}  # fmt: skip


def topology() -> Topology:
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
    warm()
