"""What flows met that come to one hop by its several links: compiled passes over their ways.

A row is a hop of a path of a flow in an interval; `link` is the one by which it comes, `SEVERAL`
where that is not one, and `most` the most that the flow may have met.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, kernel
from pipeline.groups import Ints, hops, numbered, words

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
SEVERAL = np.uint64(0)
"""In place of a link: the flow may come by several."""
KEPT = 3
"""Links of which is kept what comes by them: the one that is asked about, that of the flow that is
asked about, and another."""
NONE = -1


def by_others(ways: pl.DataFrame) -> pl.Series:
    """The most that other flows may have met that come to the hop of a row by another link.

    `ways` has time_ns, node, port, flow, link and most (null: whatever); -inf where there are none.
    """
    here, first_here = numbered(words(ways, ["time_ns", *hops(ways)]))
    flow, link = (arrow.values(ways[name]) for name in ("flow", "link"))
    most = arrow.fixed(ways["most"].fill_null(np.inf).to_numpy())
    pair, first = numbered(np.stack([here.astype(np.uint64), flow]))
    own = links_of(pair, link, len(first))
    slot, begun = numbered(np.stack([here[first].astype(np.uint64), own]))
    told = best(slot, most[first], flow[first], len(begun))
    largest = fullest(here[first][begun], own[begun], told[0], len(first_here))
    return pl.Series("others", others(here, flow, link, own[begun], largest, told))


@kernel
def links_of(pair: Ints, link: Words, pairs: int) -> Words:
    """The one link by which a flow comes to a hop, or `SEVERAL`."""
    found, known = np.zeros(pairs, np.uint64), np.zeros(pairs, np.bool_)
    for row in range(pair.size):
        here = pair[row]
        if not known[here]:
            found[here], known[here] = link[row], True
        elif found[here] != link[row]:
            found[here] = SEVERAL
    return found


@kernel
def best(slot: Ints, most: Floats, flow: Words, slots: int) -> tuple[Floats, Words, Floats]:
    """Of each link to a hop: the most of its flows, whose it is, and the most of another."""
    first, second = np.full(slots, np.nan), np.full(slots, np.nan)
    whose = np.zeros(slots, np.uint64)
    for pair in range(slot.size):
        here, value = slot[pair], most[pair]
        ahead = value > first[here] or (value == first[here] and flow[pair] < whose[here])
        if np.isnan(first[here]) or ahead:
            second[here] = first[here]
            first[here], whose[here] = value, flow[pair]
        elif np.isnan(second[here]) or value > second[here]:
            second[here] = value
    return first, whose, second


@kernel
def fullest(hop: Ints, link: Words, first: Floats, hops: int) -> Ints:
    """The `KEPT` links to each hop with most, the fullest first; `NONE` where there are fewer."""
    found = np.full((hops, KEPT), NONE, np.int64)
    for slot in range(hop.size):
        one = slot
        for place in range(KEPT):
            other = found[hop[slot], place]
            if other == NONE:
                found[hop[slot], place] = one
                break
            same = first[one] == first[other]
            if first[one] > first[other] or (same and link[one] < link[other]):
                found[hop[slot], place], one = one, other
    return found


@kernel
def others(
    here: Ints, flow: Words, link: Words, own: Words, largest: Ints,
    told: tuple[Floats, Words, Floats],
) -> Floats:  # fmt: skip
    """The most of the kept links to each row's hop but its own, without what the flow told."""
    first, whose, second = told
    found = np.full(here.size, -np.inf)
    for row in range(here.size):
        for place in range(KEPT):
            slot = largest[here[row], place]
            if slot == NONE or own[slot] == link[row]:
                continue
            value = second[slot] if whose[slot] == flow[row] else first[slot]
            if not np.isnan(value):  # another flow comes by the link
                found[row] = max(found[row], value)
    return found
