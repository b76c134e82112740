"""The layout of every frame of a run: recognised, or walked and kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.carriers import SPACES
from collector.kernel import borrowing
from collector.layer import BIT
from collector.layout import RECENT_COUNT, full, matches, remember, store
from collector.script import (
    LAYERS,
    MATCHABLE,
    MORE,
    PAYLOAD,
    READS,
    REST,
    REST_AT,
    REST_END,
    STATUS,
    signed,
)
from collector.status import CODE
from collector.walk_frame import begin, frame

ADDRESSED = 1 << BIT["ipv4"] | 1 << BIT["ipv6"]
TRANSPORT = 1 << BIT["tcp"] | 1 << BIT["udp"] | 1 << BIT["roce"]
"""A flow is known when its frame was decoded, or failed behind its transport header."""
UNKNOWN, KNOWN, HANDS_ON = range(3)
"""Whether a layout gives a row; one that hands columns on is read, but is no row itself."""


TOO_MANY_ROWS = CODE["too_many_rows"]
LINK_TYPE = tuple(SPACES).index("link_type")


@borrowing
def recognise(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    link: NDArray[np.uint16],
    start: NDArray[np.int32],
    graphs: NDArray[Any],
    pools: NDArray[Any],
    scripts: NDArray[Any],
    number: NDArray[np.int32],
    payload: NDArray[np.uint32],
    rest: NDArray[np.int32],
    found: NDArray[np.int64],
) -> Any:
    """Find each frame's layout, payload, and where another row of it begins (0: nowhere) and ends.

    `start` is the header that each frame begins with; empty, the link types tell. `rest` is written
    only for layouts behind which another row can begin. Stops when no more layouts can be kept;
    gives how many frames are done.
    """
    graph, pool, s = graphs[0], pools[0], scripts[0]
    known_link, here = np.uint16(0), signed(graph.spaces[LINK_TYPE, 0])
    for row in range(offset.size):
        at = offset[row]
        if start.size > 0:
            here = signed(start[row])
        elif link[row] != known_link:
            known_link = link[row]
            here = signed(graph.spaces[LINK_TYPE, known_link])
        wire = max(length[row], captured[row])
        hit = -1
        for place in range(pool.n[RECENT_COUNT]):
            layout = pool.recent[place]
            if matches(data, at, captured[row], wire, layout, here, graph, pool, found):
                hit = layout
                if place > 0:
                    pool.recent[place] = pool.recent[place - 1]
                    pool.recent[place - 1] = layout
                break
        if hit >= 0:
            number[row], payload[row] = hit, found[0]
            if pool.layouts[hit].rest != 0:
                rest[0, row], rest[1, row] = found[1], found[2]
            continue
        begin(s, captured[row], wire)
        ended = frame(data, at, here, graph, s) if here > 0 else -here
        if s.n[STATUS] == 0:
            s.n[STATUS] = ended
        known = HANDS_ON if s.n[REST] != 0 else UNKNOWN
        if s.n[LAYERS] & ADDRESSED != 0 and (s.n[STATUS] == 0 or s.n[LAYERS] & TRANSPORT != 0):
            known = KNOWN
        if known == UNKNOWN:
            s.n[READS] = 0
        if s.n[MORE] != 0 and s.n[STATUS] == 0:
            s.n[STATUS] = TOO_MANY_ROWS
        if full(pool, s):
            return row
        number[row] = store(pool, s, here, known)
        payload[row] = s.n[PAYLOAD]
        rest[0, row], rest[1, row] = s.n[REST_AT], s.n[REST_END]
        if s.n[MATCHABLE] != 0:
            remember(pool, number[row])
    return offset.size
