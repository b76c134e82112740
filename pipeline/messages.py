"""Messages between flows and hops: the compiled passes of `belief`, a run of factors at a time.

Exponentials and logarithms are NumPy's, between two passes; a run of factors is short enough to
stay near. Sums go in the order in which NumPy's own go, so that the cut changes no bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import inner, kernel

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
    - `likelihood`, `top`, `ends`: of each factor, see `belief.fullest`; the first edge behind its.
    """

    edge: Ints
    begins: Ints
    share: Floats
    factor: Ints
    likelihood: Floats
    top: Ints
    ends: Ints


@inner
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


@kernel
def gather(said: Floats, hop: Ints, node: Floats) -> None:
    """Add what the edges of each hop said."""
    for edge in range(len(hop)):
        for level in range(said.shape[1]):
            node[hop[edge], level] += said[edge, level]


@kernel
def leave_out(node: Floats, said: Floats, hop: Ints, cavity: Floats) -> None:
    """What each edge's hop has heard from the others, as logarithms of at most 0."""
    for edge in range(len(hop)):
        most, here = -np.inf, hop[edge]
        for level in range(said.shape[1]):
            cavity[edge, level] = node[here, level] - said[edge, level]
            most = max(most, cavity[edge, level])
        for level in range(said.shape[1]):
            cavity[edge, level] -= most


@kernel
def accumulate(cavity: Floats, at_most: Floats) -> None:
    """Make `cavity` distributions, and of each the probability of at most each level."""
    for edge in range(len(cavity)):
        total = summed(cavity[edge], 0)
        so_far = 0.0
        for level in range(cavity.shape[1]):
            cavity[edge, level] /= total
            so_far += cavity[edge, level]
            at_most[edge, level] = max(so_far, LEAST)


@kernel
def exclude(rows: Rows, at_most: Floats, first: int, end: int, start: int, others: Floats) -> None:
    """Of the rows of paths from `first` to `end`: what is at most each level but for the row's hop.

    `start` is the first edge of these paths, whose `at_most` there is.
    """
    whole = np.empty(others.shape[1])
    column = np.empty(1)
    origin = rows.begins[first]
    for path in range(first, end):
        begin, stop = rows.begins[path], rows.begins[path + 1]
        if stop - begin > len(column):
            column = np.empty(stop - begin)
        for level in range(others.shape[1]):
            for row in range(begin, stop):
                column[row - begin] = at_most[rows.edge[row] - start, level]
            whole[level] = column[0] + summed(column[: stop - begin], 1)
        for row in range(begin, stop):
            for level in range(others.shape[1]):
                others[row - origin, level] = whole[level] - at_most[rows.edge[row] - start, level]


@inner
def weigh(others: Floats, phi: Any, top: int, expected: Any) -> None:
    """Likelihood of a factor's observation by the level of one of its path's hops.

    `others` becomes what it is where no second hop can be above `top`.
    """
    levels = len(expected)
    before = 0.0
    for level in range(levels):
        expected[level] = phi[level] * (others[level] - before)
        before = others[level]
    above = 0.0
    for level in range(levels - 1, -1, -1):
        exceeded = expected[level]
        above += exceeded
        others[level] = others[min(level, top)]
        expected[level] = phi[level] * others[level] + (above - exceeded)


@kernel
def answer(
    rows: Rows, cavity: Floats, others: Floats, first: int, end: int, start: int, told: Floats
) -> None:
    """What the factors of paths from `first` to `end` say to their hops: likelihoods by level.

    `start` is the first edge of these factors.
    """
    levels = told.shape[1]
    expected, product = np.empty(levels), np.empty(levels)
    along = np.zeros(len(told))
    told[:] = 0.0
    origin, path = rows.begins[first], first
    edge = 0
    while path < end:
        factor, total = rows.factor[path], 0.0
        while path < end and rows.factor[path] == factor:
            begin, weight = rows.begins[path], 0.0
            for row in range(begin, rows.begins[path + 1]):
                own = rows.edge[row] - start
                phi, top = rows.likelihood[factor], rows.top[factor]
                weigh(others[row - origin], phi, top, expected)
                if row == begin:
                    for level in range(levels):
                        product[level] = cavity[own, level] * expected[level]
                    weight = summed(product, 0) * rows.share[path]
                for level in range(levels):
                    told[own, level] += expected[level] * rows.share[path]
                along[own] += weight
            total += weight
            path += 1
        behind = rows.ends[factor] - start
        while edge < behind:
            rest = max(total - along[edge], 0.0)
            most = -np.inf
            for level in range(levels):
                told[edge, level] += rest
                most = max(most, told[edge, level])
            for level in range(levels):
                told[edge, level] = max(told[edge, level] / most, LEAST)
            edge += 1


@kernel
def conclude(
    rows: Rows, cavity: Floats, others: Floats, first: int, end: int, start: int, here: Floats
) -> None:
    """Of each row of these paths: the likelihood that its hop is the fullest of its path.

    Two hops at one level are as likely to be it.
    """
    levels = others.shape[1]
    expected, product = np.empty(levels), np.empty(levels)
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
