"""Worlds that several tests look at, played once."""

import pytest

from collector import CollectorSettings
from replay import Run, Truth, scenario, simulate, truth_of

INT_DSCP = 23
MS = 1_000_000


@pytest.fixture(scope="session")
def settings() -> CollectorSettings:
    return CollectorSettings(int_dscp=INT_DSCP)


@pytest.fixture(scope="session")
def demo(settings: CollectorSettings) -> Run:
    """The demo, in a tenth of its time."""
    return simulate(scenario.demo(duration_ns=20 * MS), settings)


@pytest.fixture(scope="session")
def demo_truth(demo: Run) -> Truth:
    return truth_of(demo, 5 * MS)
