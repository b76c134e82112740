"""Places in the pools of a tracker's memory."""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.hop_record import MOST_PLACES
from pipeline.cc.parameter import Record
from pipeline.flow import SLOTS
from pipeline.memory import Memory

LINKS = 4
"""Where `used` counts the places of links."""


BOARDS, LATE = 6, 7
"""Where `used` counts the places of scoreboards, and of ACKs that senders have yet to hear."""


@inlined
def place(places: NDArray[np.int32], d: int, used: NDArray[np.int64], pool: int) -> int:
    """The place of direction d in a pool, taken now when it has none; `used` counts those taken."""
    if places[d] == 0:
        used[pool] += 1
        places[d] = used[pool]
    return int(places[d]) - 1


@inlined
def make_room(memory: Memory, s: Record, places: int) -> None:
    """Give an HPCC++ record so many places of L; what it had goes to the spare ones."""
    if s.room >= places:
        return
    if s.room > 0:
        memory.links[s.link].ts_ns = memory.spare[s.room]
        memory.spare[s.room] = s.link + 1
    if memory.spare[places] > 0:
        s.link = memory.spare[places] - 1
        memory.spare[places] = memory.links[s.link].ts_ns
    else:
        s.link = memory.used[LINKS]
        memory.used[LINKS] += places
    s.room = places
    s.nhop = 0


@inlined
def has_room(memory: Memory) -> bool:
    """Whether every pool has a place for one more row."""
    return bool(
        memory.used[0] < memory.hpcc.size
        and memory.used[1] < memory.dctcp.size
        and memory.used[2] < memory.loads.size
        and memory.used[3] < memory.pending.size
        and memory.used[LINKS] + 2 * MOST_PLACES <= memory.links.shape[0]
        and memory.used[SLOTS] < memory.slots.size
        and memory.used[BOARDS] < memory.boards.size
        and memory.used[LATE] < memory.late.size
    )
