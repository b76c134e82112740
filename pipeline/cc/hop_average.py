"""Lines 8-9 of HPCC++ hop by hop, and U as the largest of the hops' own averages.

A sender that averages so has twice as many places of L: those behind the hops' records keep their
averages, as the bits of `ts_ns`.
"""

import numpy as np

from collector import inlined
from pipeline.cc.hop_record import Links
from pipeline.cc.parameter import Record


@inlined
def own_average(s: Record, links: Links, place: int, u: float, tau_ns: int) -> None:
    """Lines 8-9 for one hop; its average lies behind L, as the bits of `ts_ns`."""
    link = links[np.uint64(s.link + place)]
    tau = min(tau_ns, s.T_ns)
    before = np.int64(link.ts_ns).view(np.float64)
    link.ts_ns = np.float64((1 - tau / s.T_ns) * before + tau / s.T_ns * u).view(np.int64)


@inlined
def largest_average(s: Record, links: Links, nhop: int) -> float:
    """U as the largest of the hops' own averages."""
    most = 0.0
    for hop in range(nhop):
        link = links[np.uint64(s.link + nhop + hop)]
        most = max(most, np.int64(link.ts_ns).view(np.float64))
    return most


@inlined
def begin_averages(s: Record, links: Links, nhop: int) -> None:
    """Every hop's average begins with what U is."""
    for hop in range(nhop):
        links[np.uint64(s.link + nhop + hop)].ts_ns = np.float64(s.U).view(np.int64)
