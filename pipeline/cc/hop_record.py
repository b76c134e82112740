"""Telemetry records of a path as arrays, and L: what the record before said of each hop.

Telemetry is an array (kind, hop, row) of `KINDS`, hop 0 nearest the sender; `at` is the row that is
read. L is an array of `LINK`, of which those of a sender begin at its `link`: a sender takes as
many places as its path has hops.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import merged
from pipeline.cc.parameter import Record

Ints = NDArray[np.int64]
Links = NDArray[Any]

MAX_HOPS = 12
MOST_PLACES = 2 * MAX_HOPS
"""Places of L that the longest path may take: what is averaged hop by hop lies behind L."""
KINDS = ("ts_ns", "tx_bytes", "qlen_bytes", "b_bps")
"""What a record says of a hop, first index of telemetry; -1 where it does not."""
TS, TX, QLEN, B = range(len(KINDS))
LINK = np.dtype((np.record, [("ts_ns", "i8"), ("tx_bytes", "i8"), ("qlen_bytes", "i4")]))
"""What L keeps of a hop, in 20 octets."""
MOST_QLEN = (1 << 31) - 1
WIDEST = -1
"""The mask of a counter of 64 bits; only of such a one can a step backwards be told."""
JITTER_NS = 1_000_000
"""By how much the clock of a port and its count of bytes may be out of step."""
MOST_SENT = 1.05
"""More than a port can send, as a share of its line rate."""
LINE = 8
"""Words that a line of a cache holds."""
FIRST, SECOND = 0xD6E8FEB86659FD93, 0xA0761D6478BD642E
"""An odd multiplier for each hop, so that no product waits for the one before."""


def links(count: int = 1) -> Links:
    """L of `count` senders with the longest paths."""
    return np.zeros(count * MOST_PLACES, LINK)


def mask(modulus: int) -> int:
    """The mask of a counter that counts modulo a power of two; 0 is 64 bits. Raises ValueError."""
    if modulus & (modulus - 1) or modulus < 0:
        raise ValueError(f"a counter's modulus is a power of two or 0, not {modulus}")
    return modulus - 1


@merged
def keep(s: Record, links: Links, nhop: int, told: Ints, at: int) -> None:
    """Line 27: L = ack.L."""
    s.nhop = nhop
    row = np.uint64(at)
    for hop in range(nhop):
        i, link = np.uint64(hop), links[np.uint64(s.link + hop)]
        link.ts_ns = told[TS, i, row]
        link.tx_bytes = told[TX, i, row]
        link.qlen_bytes = min(told[QLEN, i, row], MOST_QLEN)


@merged
def fallen(
    s: Record, links: Links, nhop: int, told: Ints, at: int, ts_mask: int, tx_mask: int
) -> tuple[int, int]:  # fmt: skip
    """The hops whose bytes sent are fewer than L has, later by their own clock, a bit each.

    They wrapped, or began anew: the second word has those whose wrap would be more than the port
    can send. By less than `JITTER_NS` of its rate they are fewer where packets overtook each other.
    """
    fell, anew, row = 0, 0, np.uint64(at)
    for hop in range(nhop):
        i, link = np.uint64(hop), links[np.uint64(s.link + hop)]
        ts, tx, b = told[TS, i, row], told[TX, i, row], told[B, i, row]
        tau = (ts - link.ts_ns) & ts_mask
        later = tau > 0 and (ts_mask == WIDEST or tau <= ts_mask >> 1)
        if ts == -1 or tx == -1 or link.ts_ns == -1 or b <= 0 or not later:
            continue
        jitter = b * (JITTER_NS * 1e-9) / 8
        half = float(tx_mask >> 1) if tx_mask != WIDEST else jitter
        if link.tx_bytes - tx > min(jitter, half):
            fell |= 1 << hop
            sent = (tx - link.tx_bytes) & tx_mask
            if sent < 0 or sent > MOST_SENT * (b * (tau * 1e-9) / 8) + jitter:
                anew |= 1 << hop
    return fell, anew


@merged
def path_with(path: Any, hop: int, node: int, port: int) -> Any:
    """The word that stands for a path and one hop more, `node` and `port` -1 where not told.

    It begins as the number of hops; its parts are summed, so that hops can be added in any order.
    """
    word = np.uint64(node) << np.uint64(32) ^ np.uint64(port)
    word = (word ^ word >> np.uint64(29)) * (np.uint64(FIRST) + np.uint64(hop) * np.uint64(SECOND))
    return path + (word ^ word >> np.uint64(32))


@merged
def path_changed(s: Record, path: Any) -> bool:
    """Compare the path of this record with that of L and note it; call before `new_ack`.

    Where they differ L is of other counters and dropped, so that the next `new_ack` only stores.
    """
    changed = s.nhop > 0 and path != s.path
    if path != s.path:
        s.nhop = 0
    s.path = path
    return bool(changed)
