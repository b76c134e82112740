"""What came of late, by a mark: bounded tables, in arrays, of which the oldest gives way.

A mark may take any of several places, side by side. With a single one, what is known of a packet
would hang on which others a worker has: one in thousands is forgotten before it comes again.
"""

from typing import Any

import numpy as np

from collector import inlined

PLACES = 1 << 18
"""Packets that are remembered."""
NEAR = 4
"""Places that a packet may take, a power of 2; each new one has to look at all."""


@inlined
def placed(marks: Any, times: Any, mark: Any, ways: int) -> Any:
    """The place of a mark, of `ways`; of one that is not known, that whose time is the earliest."""
    own = mark & np.uint64(marks.size - 1)
    place = own
    for way in range(ways):
        at = own ^ np.uint64(way)
        if marks[at] == mark:
            return at
        if times[at] < times[place]:
            place = at
    return place
