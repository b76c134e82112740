"""What flows that only know their path's load say of its hops, all flows of an interval together.

A path's load is that of its fullest hop. Flows that share a hop see the same load there, a flow
that saw little clears every hop that it surely crossed, and where a flow may have taken several
paths each is as likely as the next. From that follow, by passing messages between flows and hops
until they agree (sum-product on the graph of flows and hops), a distribution over levels of load
for each hop, and for each flow the probability that a hop was its fullest.

Pure arrays: factors are flow-intervals, hops are ports in an interval; all intervals at once, none
of which knows of another.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeline.messages import (
    LEAST,
    Floats,
    Ints,
    Rows,
    accumulate,
    answer,
    conclude,
    exclude,
    gather,
    leave_out,
)

ROUNDS = 8
"""Exchanges of messages; the graphs are shallow and settle in about five."""
KEPT = 0.5
"""Share of a message that stays as it was, so that loops of flows do not swing."""
AT_ONCE = 1024
"""Rows that are gone through at a time: what stays near."""
SURPRISE = 0.02
"""Share of observations that nothing explains: bursts, skew between taps, a path not thought of."""


class Graph(NamedTuple):
    """Rows (a hop on a path of a factor), sorted by factor, then path.

    - `path`: number of each row's path, ascending from 0;
    - `factor`: factor of each path;
    - `edge`: number of each row's pair (factor, hop); `edge_factor`, `edge_hop` say which.
    """

    path: Ints
    factor: Ints
    edge: Ints
    edge_factor: Ints
    edge_hop: Ints


def graph(factor: Ints, path: Ints, hop: Ints) -> Graph:
    """A graph from sorted rows: factor numbers, path numbers inside them, hop numbers."""
    new = (np.diff(factor, prepend=-1) != 0) | (np.diff(path, prepend=-1) != 0)
    begins, number = np.flatnonzero(new), np.cumsum(new) - 1
    hops = int(hop.max(initial=-1)) + 1
    pairs, edge = np.unique(factor * hops + hop, return_inverse=True)
    return Graph(number, factor[begins], edge, pairs // hops, pairs % hops)


def window(levels: Floats, low: Floats, high: Floats, spread: Floats) -> Floats:
    """Likelihood of each level where an observation says: between `low` and `high`, give `spread`.

    Shape [observations, levels]; a little is left for surprises.
    """
    outside = np.maximum(low[:, None] - levels, 0) + np.maximum(levels - high[:, None], 0)
    fit = np.exp(-0.5 * (outside / spread[:, None]) ** 2)
    return np.asarray(SURPRISE + (1 - SURPRISE) * fit)


def fullest(g: Graph, likelihood: Floats, prior: Floats, most: Ints) -> Floats:
    """Probability of each edge that its hop is the fullest on its factor's path.

    `likelihood` is [factors, levels] of the path's load, `prior` [hops, levels] of each hop's;
    `most` is the level of each factor above which no second hop of its path can be.
    """
    rows, habit = rows_of(g, likelihood, most), np.log(prior)
    told = [*runs(g, rows)]
    said, here = np.zeros((len(g.edge_hop), prior.shape[1])), np.zeros(len(g.edge))
    for _ in range(ROUNDS):
        node = heard(g, habit, said)
        for run in told:
            own = said[run.start : run.behind]
            cavity, others = without(g, rows, node, own, run)
            answers = np.empty_like(own)
            along = np.empty(len(own))
            answer(rows, cavity, others, run.first, run.end, run.start, along, answers)
            own *= KEPT
            own += (1 - KEPT) * np.log(answers, out=answers)
    node = heard(g, habit, said)
    for run in told:
        cavity, others = without(g, rows, node, said[run.start : run.behind], run)
        conclude(rows, cavity, others, run.first, run.end, run.start, here)
    of_edge = np.bincount(g.edge, here, len(g.edge_hop))
    total = np.bincount(g.edge_factor, of_edge, len(likelihood))
    return np.asarray(of_edge / np.maximum(total, LEAST)[g.edge_factor])


class Run(NamedTuple):
    """Paths and edges of factors that are gone through at a time."""

    first: int
    end: int
    start: int
    behind: int


def rows_of(g: Graph, likelihood: Floats, most: Ints) -> Rows:
    """The graph as the passes read it."""
    begins = np.flatnonzero(np.diff(g.path, prepend=-1))
    ends = np.searchsorted(g.edge_factor, np.arange(len(likelihood)), side="right")
    longest = np.diff(begins, append=len(g.path)).max(initial=likelihood.shape[1])
    return Rows(
        g.edge.astype(np.int64),
        np.append(begins, len(g.path)).astype(np.int64),
        np.asarray(1 / np.bincount(g.factor)[g.factor]),
        g.factor.astype(np.int64),
        np.ascontiguousarray(likelihood),
        most.astype(np.int64),
        ends.astype(np.int64),
        np.empty((2, longest)),
    )


def runs(g: Graph, rows: Rows) -> Iterator[Run]:
    """Factors by about `AT_ONCE` rows."""
    if not len(g.factor):
        return
    new = np.flatnonzero(np.diff(g.factor, prepend=-1))
    wanted = np.arange(AT_ONCE, len(g.edge), AT_ONCE)
    cuts = np.unique(np.searchsorted(rows.begins[new], wanted))
    bounds = [0, *new[cuts[cuts < len(new)]].tolist(), len(g.factor)]
    for first, end in pairwise(bounds):
        if end > first:
            start = int(np.searchsorted(g.edge_factor, g.factor[first]))
            yield Run(first, end, start, int(rows.ends[g.factor[end - 1]]))


def heard(g: Graph, habit: Floats, said: Floats) -> Floats:
    """What each hop has heard, as logarithms: habit, and what its flows said."""
    node = np.zeros_like(habit)
    gather(said, g.edge_hop, node)
    return np.asarray(habit + node)


def without(g: Graph, rows: Rows, node: Floats, said: Floats, run: Run) -> tuple[Floats, Floats]:
    """The distribution of the hop of each of a run's edges, without what the edge itself `said`.

    And of each row the probability that all other hops of its path are at or below each level.
    """
    cavity, at_most = np.empty_like(said), np.empty_like(said)
    leave_out(node, said, g.edge_hop[run.start : run.behind], cavity)
    np.exp(cavity, out=cavity)
    accumulate(cavity, at_most)
    np.log(at_most, out=at_most)
    others = np.empty((int(rows.begins[run.end] - rows.begins[run.first]), said.shape[1]))
    exclude(rows, at_most, run.first, run.end, run.start, others)
    return cavity, np.asarray(np.exp(others, out=others))
