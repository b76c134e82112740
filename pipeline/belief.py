"""What flows that only know their path's load say of its hops, all flows of an interval together.

A path's load is that of its fullest hop. Flows that share a hop see the same load there, a flow
that saw little clears every hop that it surely crossed, and where a flow may have taken several
paths each is as likely as the next. From that follow, by passing messages between flows and hops
until they agree (sum-product on the graph of flows and hops), a distribution over levels of load
for each hop, and for each flow the probability that a hop was its fullest.

Pure arrays: factors are flow-intervals, hops are ports in an interval; all intervals at once, none
of which knows of another.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 8
"""Exchanges of messages; the graphs are shallow and settle in about five."""
KEPT = 0.5
"""Share of a message that stays as it was, so that loops of flows do not swing."""
LEAST = 1e-12
"""Probability that stands for none."""
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


class Passed(NamedTuple):
    """What the hops say to their flows, and what follows for each row."""

    cavity: Floats
    """Distribution of each edge's hop without what the edge's own factor said."""
    others: Floats
    """Of each row: probability that all other hops of its path are at or below each level."""
    expected: Floats
    """Of each row: likelihood of the factor's observation by the level of the row's hop."""
    path: Floats
    """Likelihood of each path, weighted by its share among the paths of its factor."""


def graph(factor: Ints, path: Ints, hop: Ints) -> Graph:
    """A graph from sorted rows: factor numbers, path numbers inside them, hop numbers."""
    begins = np.flatnonzero(np.diff(factor, prepend=-1) | np.diff(path, prepend=-1))
    number = np.cumsum(np.isin(np.arange(len(factor)), begins)) - 1
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
    said = np.zeros((len(g.edge_hop), prior.shape[1]))
    for _ in range(ROUNDS):
        told = answered(g, likelihood, passed(g, likelihood, prior, most, said))
        said = KEPT * said + (1 - KEPT) * told
    last = passed(g, likelihood, prior, most, said)
    phi, mine = likelihood[g.factor[g.path]], last.cavity[g.edge]
    below = np.concatenate([np.zeros((len(mine), 1)), last.others[:, :-1]], axis=1)
    below = np.minimum(below, last.others)
    # Two hops at one level are as likely to be the fullest.
    here = (phi * mine * (below + last.others) / 2).sum(axis=1) * share(g)[g.path]
    of_edge = np.bincount(g.edge, here, len(g.edge_hop))
    total = np.bincount(g.edge_factor, of_edge, len(likelihood))
    return np.asarray(of_edge / np.maximum(total, LEAST)[g.edge_factor])


def share(g: Graph) -> Floats:
    """Share of each path among those of its factor."""
    return np.asarray(1 / np.bincount(g.factor)[g.factor])


def passed(g: Graph, likelihood: Floats, prior: Floats, most: Ints, said: Floats) -> Passed:
    """What hops that heard `said` (logarithms, by edge) answer, and what that makes of paths."""
    node = np.log(prior) + summed(said, g.edge_hop, len(prior))
    cavity = normal(node[g.edge_hop] - said)
    at_most = np.log(np.maximum(np.cumsum(cavity, axis=1), LEAST))[g.edge]
    first = np.flatnonzero(np.diff(g.path, prepend=-1))
    whole = np.add.reduceat(at_most, first, axis=0) if len(first) else at_most
    others = np.exp(whole[g.path] - at_most)
    phi = likelihood[g.factor[g.path]]
    exceeded = phi * np.diff(others, axis=1, prepend=0.0)
    above = exceeded[:, ::-1].cumsum(axis=1)[:, ::-1] - exceeded
    top = most[g.factor[g.path]][:, None]
    alone = np.take_along_axis(others, top, axis=1)
    others = np.where(np.arange(others.shape[1]) > top, alone, others)
    expected = phi * others + above
    of_path = (cavity[g.edge[first]] * expected[first]).sum(axis=1) * share(g)
    return Passed(cavity, others, expected, of_path)


def answered(g: Graph, likelihood: Floats, heard: Passed) -> Floats:
    """What factors say to each of their hops: likelihood by level, as logarithms."""
    weight = share(g)[g.path][:, None]
    through = summed(heard.expected * weight, g.edge, len(g.edge_hop))
    along = np.bincount(g.edge, heard.path[g.path], len(g.edge_hop))
    total = np.bincount(g.factor, heard.path, len(likelihood))[g.edge_factor]
    # Paths that leave the hop out say nothing about its level.
    by_level = through + np.maximum(total - along, 0.0)[:, None]
    by_level /= by_level.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(by_level, LEAST)))


def summed(values: Floats, group: Ints, groups: int) -> Floats:
    """Sums of rows by group."""
    made = np.zeros((groups, values.shape[1]))
    np.add.at(made, group, values)
    return made


def normal(logarithms: Floats) -> Floats:
    """Rows of logarithms as probabilities."""
    raised = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
