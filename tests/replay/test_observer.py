"""The best possible observer: it knows what is left, and how far that may be off."""

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings
from replay import Run, scenario, simulate, truth_of
from replay.campaign import SCENARIOS, SETTINGS
from replay.cast import cast
from replay.ceiling import ceiling
from replay.observer import known, observer
from replay.taps import Taps
from replay.world import MS


@pytest.fixture(scope="module")
def run(settings: CollectorSettings) -> Run:
    return simulate(scenario.demo(duration_ns=3 * MS), settings)


def test_the_best_observer_knows_all_that_is_not_sampled(run: Run) -> None:
    truth, ports = truth_of(run, MS), ceiling(run, Taps())
    best = observer(run, Taps(), truth, MS, ports)
    both = truth.verdicts.filter("congested").join(best, on=["script", "time_ns"])
    both = both.join(ports, on=["device", "interface"])
    assert (both["best"] == both["ceiling"]).sum() > 0.99 * both.height > 10
    assert set(both["best_kind"]) == {1.0}


def test_what_is_left_says_how_far_it_may_be_off(run: Run) -> None:
    """Half of the packets: the mean of them all is as far off as their errors say."""
    # At the end of the run some packets are under way, and nobody has seen them arrive.
    whole = known(run, Taps(), MS).filter(pl.col("at") < 1)
    assert set(whole["depth_error"]) == {0.0}
    off: list[float] = []
    for seed in range(8):
        half = known(run, Taps(one_in=2, choice="packet", seed=seed), MS).filter(pl.col("at") < 1)
        unsure = (half["depth_error"] > 0).to_numpy()
        errors = ((half["depth"] - whole["depth"]) / half["depth_error"]).to_numpy()[unsure]
        off += errors.tolist()
    assert len(off) > 40
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 2


def test_a_sample_lowers_the_ceiling_where_queues_come_and_go() -> None:
    world = cast(SCENARIOS["microbursts"](("csig_expanded",), 3 * MS), 3)
    run, thin = simulate(world, SETTINGS), Taps(one_in=20)
    best = observer(run, thin, truth_of(run, MS), MS, ceiling(run, thin))
    assert best["best"].is_between(0.0, 1.0).all()
    assert best["best_kind"].is_between(0.0, 1.0).all()
    assert (best["best_kind"] < 1.0).any()
