"""Messages between flows and hops: the compiled passes of `belief`, a run of factors at a time.

Exponentials and logarithms are NumPy's, between two passes; a run of factors is short enough to
stay near. Sums go in the order in which NumPy's own go, so that the cut changes no bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 1e-12
"""Probability that stands for none."""
LANES = 8
"""Partial sums that a sum of eight values and more is made of."""


class Rows(NamedTuple):
    """What the passes read: rows (a hop on a path of a factor) sorted by factor, then path.

    - `edge`: the number of each row's pair of factor and hop, sorted by factor;
    - `begins`: the first row of each path, and behind the last one;
    - `share`, `factor`: of each path;
    - `likelihood`, `top`, `ends`: of each factor, see `belief.fullest`; the first edge behind its;
    - `spare`: two rows that are written to, as long as there are levels, or hops of a path.
    """

    edge: Ints
    begins: Ints
    share: Floats
    factor: Ints
    likelihood: Floats
    top: Ints
    ends: Ints
    spare: Floats


@inlined
def summed(values: Any, first: int) -> float:
    """The sum of a vector from an element on, as NumPy adds it up."""
    count = len(values) - first
    if count < LANES:
        total = 0.0
        for at in range(first, len(values)):
            total += values[at]
        return total
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = first + count - count % LANES
    for at in range(first, whole, LANES):
        a, b, c, d = a + values[at], b + values[at + 1], c + values[at + 2], d + values[at + 3]
        e, f, g, h = e + values[at + 4], f + values[at + 5], g + values[at + 6], h + values[at + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for at in range(whole, len(values)):
        total += values[at]
    return total


@borrowing
def gather(said: Floats, hop: Ints, node: Floats) -> None:
    """Add what the edges of each hop said."""
    for edge in range(len(hop)):
        for level in range(said.shape[1]):
            node[hop[edge], level] += said[edge, level]


@borrowing
def leave_out(node: Floats, said: Floats, hop: Ints, cavity: Floats) -> None:
    """What each edge's hop has heard from the others, as logarithms of at most 0."""
    for edge in range(len(hop)):
        here, own, left = node[hop[edge]], said[edge], cavity[edge]
        for level in range(len(left)):
            left[level] = here[level] - own[level]
        most = -np.inf
        for level in range(len(left)):
            most = max(most, left[level])
        for level in range(len(left)):
            left[level] -= most


@borrowing
def accumulate(cavity: Floats, at_most: Floats) -> None:
    """Make `cavity` distributions, and of each the probability of at most each level."""
    for edge in range(len(cavity)):
        own, reached = cavity[edge], at_most[edge]
        total = summed(own, 0)
        for level in range(len(own)):
            own[level] /= total
        so_far = 0.0
        for level in range(len(own)):
            so_far += own[level]
            reached[level] = so_far
        for level in range(len(own)):
            reached[level] = max(reached[level], LEAST)


@borrowing
def exclude(rows: Rows, at_most: Floats, first: int, end: int, start: int, others: Floats) -> None:
    """Of the rows of paths from `first` to `end`: what is at most each level but for the row's hop.

    `start` is the first edge of these paths, whose `at_most` there is.
    """
    levels = others.shape[1]
    whole = rows.spare[0, :levels]
    origin = rows.begins[first]
    for path in range(first, end):
        begin, stop = rows.begins[path], rows.begins[path + 1]
        if stop - begin <= LANES:
            along(rows, at_most, begin, stop, start, whole)
        else:
            column = rows.spare[1, : stop - begin]
            for level in range(levels):
                for row in range(begin, stop):
                    column[row - begin] = at_most[rows.edge[row] - start, level]
                whole[level] = column[0] + summed(column, 1)
        for row in range(begin, stop):
            own, left = at_most[rows.edge[row] - start], others[row - origin]
            for level in range(levels):
                left[level] = whole[level] - own[level]


@inlined
def along(rows: Rows, at_most: Any, begin: int, stop: int, start: int, whole: Any) -> None:
    """The sum of a path of few rows, level by level, as `summed` adds it up."""
    for level in range(len(whole)):
        whole[level] = 0.0
    for row in range(begin + 1, stop):
        own = at_most[rows.edge[row] - start]
        for level in range(len(whole)):
            whole[level] += own[level]
    own = at_most[rows.edge[begin] - start]
    for level in range(len(whole)):
        whole[level] = own[level] + whole[level]


@inlined
def weigh(others: Floats, phi: Any, top: int, expected: Any) -> None:
    """Likelihood of a factor's observation by the level of one of its path's hops.

    `others` becomes what it is where no second hop can be above `top`.
    """
    levels = len(expected)
    expected[0] = phi[0] * others[0]
    for level in range(1, levels):
        expected[level] = phi[level] * (others[level] - others[level - 1])
    above = 0.0
    for level in range(levels - 1, -1, -1):
        exceeded = expected[level]
        above += exceeded
        expected[level] = above - exceeded
    for level in range(top + 1, levels):
        others[level] = others[top]
    for level in range(levels):
        expected[level] = phi[level] * others[level] + expected[level]


@borrowing
def answer(
    rows: Rows, cavity: Floats, others: Floats, first: int, end: int, start: int, along: Floats,
    told: Floats,
) -> None:  # fmt: skip
    """What the factors of paths from `first` to `end` say to their hops: likelihoods by level.

    `start` is the first edge of these factors; `along` becomes the weight of the paths through each
    edge.
    """
    levels = told.shape[1]
    expected, product = rows.spare[0, :levels], rows.spare[1, :levels]
    along[:] = 0.0
    told[:] = 0.0
    origin, path = rows.begins[first], first
    edge = 0
    while path < end:
        factor, total = rows.factor[path], 0.0
        phi, top = rows.likelihood[factor], rows.top[factor]
        while path < end and rows.factor[path] == factor:
            begin, weight, share = rows.begins[path], 0.0, rows.share[path]
            for row in range(begin, rows.begins[path + 1]):
                own = rows.edge[row] - start
                weigh(others[row - origin], phi, top, expected)
                if row == begin:
                    for level in range(levels):
                        product[level] = cavity[own, level] * expected[level]
                    weight = summed(product, 0) * share
                to = told[own]
                for level in range(levels):
                    to[level] += expected[level] * share
                along[own] += weight
            total += weight
            path += 1
        behind = rows.ends[factor] - start
        while edge < behind:
            raise_by(told[edge], max(total - along[edge], 0.0))
            edge += 1


@inlined
def raise_by(told: Any, rest: float) -> None:
    """Likelihoods by level and a rest that all have, as parts of the largest."""
    for level in range(len(told)):
        told[level] += rest
    most = -np.inf
    for level in range(len(told)):
        most = max(most, told[level])
    for level in range(len(told)):
        told[level] = max(told[level] / most, LEAST)


@borrowing
def conclude(
    rows: Rows, cavity: Floats, others: Floats, first: int, end: int, start: int, here: Floats
) -> None:
    """Of each row of these paths: the likelihood that its hop is the fullest of its path.

    Two hops at one level are as likely to be it.
    """
    levels = others.shape[1]
    expected, product = rows.spare[0, :levels], rows.spare[1, :levels]
    origin = rows.begins[first]
    for path in range(first, end):
        factor = rows.factor[path]
        for row in range(rows.begins[path], rows.begins[path + 1]):
            phi, own = rows.likelihood[factor], others[row - origin]
            weigh(own, phi, rows.top[factor], expected)
            below = 0.0
            for level in range(levels):
                if level:
                    below = own[level - 1]
                lower = min(below, own[level])
                mine = phi[level] * cavity[rows.edge[row] - start, level]
                product[level] = mine * (lower + own[level]) / 2
            here[row] = summed(product, 0) * rows.share[path]
