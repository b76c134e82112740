"""What flows that only know their path's load say of its hops, against sums over all states."""

from itertools import product

import numpy as np
import pytest

from pipeline.belief import fullest, graph, window

LEVELS = np.array([0.0, 1.0, 2.0])
PRIOR = np.array([0.7, 0.2, 0.1])
ALL = 2
"""The last level: any number of hops may be congested."""


def seen(*loads: float) -> np.ndarray:
    told = np.array(loads)
    return window(LEVELS, told, told, np.full(len(loads), 0.2))


def judged(
    paths: list[list[tuple[int, ...]]], likelihood: np.ndarray, most: int = ALL
) -> dict[tuple[int, int], float]:
    """Probability by (factor, hop) for factors with these possible paths."""
    rows = np.array(
        [(f, p, h) for f, own in enumerate(paths) for p, hops in enumerate(own) for h in hops]
    ).T
    g = graph(*rows)
    prior = np.repeat(PRIOR[None, :], rows[2].max() + 1, axis=0)
    found = fullest(g, likelihood, prior, np.full(len(paths), most))
    edges = zip(g.edge_factor.tolist(), g.edge_hop.tolist(), strict=True)
    return dict(zip(edges, found.tolist(), strict=True))


def summed(
    paths: list[list[tuple[int, ...]]], likelihood: np.ndarray
) -> dict[tuple[int, int], float]:
    """The same by going through every state of the hops and every choice of paths."""
    hops = 1 + max(hop for own in paths for path in own for hop in path)
    found: dict[tuple[int, int], float] = {}
    for state in product(range(len(LEVELS)), repeat=hops):
        for chosen in product(*paths):
            top = [max(state[hop] for hop in path) for path in chosen]
            weight = np.prod(PRIOR[list(state)]) * np.prod(
                [likelihood[f, level] for f, level in enumerate(top)]
            )
            for f, path in enumerate(chosen):
                full = [hop for hop in path if state[hop] == top[f]]
                for hop in full:
                    found[f, hop] = found.get((f, hop), 0.0) + weight / len(full)
    totals = [sum(w for (f, _), w in found.items() if f == at) for at in range(len(paths))]
    return {(f, hop): weight / totals[f] for (f, hop), weight in found.items()}


@pytest.mark.parametrize(
    ("paths", "loads"),
    [
        ([[(0, 1)], [(1, 2)]], (2.0, 2.0)),
        ([[(0, 1)], [(1, 2)]], (2.0, 0.0)),
        ([[(0, 1), (2, 3)], [(1, 4)]], (2.0, 2.0)),
        ([[(0, 1), (0, 2)], [(1,)], [(2,)]], (1.0, 1.0, 0.0)),
    ],
)
def test_messages_agree_with_the_sum_over_all_states(
    paths: list[list[tuple[int, ...]]], loads: tuple[float, ...]
) -> None:
    likelihood = seen(*loads)
    found, exact = judged(paths, likelihood), summed(paths, likelihood)
    assert found.keys() == exact.keys()
    for edge, probability in exact.items():
        assert found[edge] == pytest.approx(probability, abs=0.05), edge


def test_a_calm_flow_clears_the_hops_that_it_surely_crossed() -> None:
    found = judged([[(0, 1)], [(1, 2)]], seen(2.0, 0.0))
    assert found[0, 0] > 0.9


def test_what_nothing_tells_apart_is_equally_likely() -> None:
    found = judged([[(0, 2), (1, 2)], [(0, 3), (1, 3)]], seen(2.0, 2.0))
    assert found[0, 0] == pytest.approx(found[0, 1])
    assert found[0, 0] > found[0, 2]


def test_two_hops_at_one_level_share_the_blame() -> None:
    assert judged([[(0, 1)]], seen(2.0)) == pytest.approx({(0, 0): 0.5, (0, 1): 0.5})


def test_one_congested_hop_at_most_leaves_no_second_one() -> None:
    """Two flows know their own hop to be full; the third crosses both and may have one only."""
    paths, both = [[(0, 1)], [(0,)]], seen(2.0, 2.0)
    free, bound = judged(paths, both), judged(paths, both, most=0)
    assert bound[0, 0] > free[0, 0] > 0.5
    assert sum(bound[0, hop] for hop in (0, 1)) == pytest.approx(1.0)
