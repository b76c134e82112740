"""Places in the pools of a tracker's memory."""

import numpy as np
from numpy.typing import NDArray

from collector import inner
from pipeline.memory import Memory


@inner
def place(places: NDArray[np.int32], d: int, used: NDArray[np.int64]) -> int:
    """The place of direction d in a pool, taken now when it has none; `used` counts those taken."""
    if places[d] == 0:
        used[0] += 1
        places[d] = used[0]
    return int(places[d]) - 1


@inner
def has_room(memory: Memory) -> bool:
    """Whether every pool has a place for one more row."""
    return bool(
        memory.used[0] < memory.hpcc.size
        and memory.used[1] < memory.dctcp.size
        and memory.used[2] < memory.loads.size
        and memory.used[3] < memory.pending.shape[0]
    )
