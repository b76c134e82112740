"""Tests of one claim over many cases: `make test` runs some of the cases, `make soak` all of them.

`@pytest.mark.sampled(3)` beside `parametrize` says how many, of those that were collected: the
first, the last and others at equal distance between. Those are the same on every machine and in
every process, and a case that is asked for by name is run.
"""

from collections.abc import Sequence

import pytest

EVERY = "--every-case"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--every-case`."""
    parser.addoption(EVERY, action="store_true", help="run all cases of tests that are sampled")


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for whoever asks pytest for its marks."""
    config.addinivalue_line(
        "markers", f"sampled(cases): so many of its cases, with {EVERY} all of them"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not in the sample of those that are asked for."""
    if config.getoption(EVERY):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out = {id(each) for those in cases.values() for each in left_out(those)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in out])
    items[:] = [item for item in items if id(item) not in out]


def left_out(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of one test that its mark leaves out."""
    [marker] = cases[0].iter_markers("sampled")
    kept = spread(len(cases), *marker.args)
    return [case for place, case in enumerate(cases) if place not in kept]


def spread(count: int, most: int) -> set[int]:
    """At most so many of so many places, the first and the last among them."""
    if count <= most:
        return set(range(count))
    return {each * (count - 1) // max(most - 1, 1) for each in range(most)}
