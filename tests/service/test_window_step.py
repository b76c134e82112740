"""Whether the step by which windows of HPCC++ grow is told: a value that tells nothing is none."""

from typing import Any

import pytest

from service.window_step import step_assumed, step_known


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ({}, False),
        ({"eta": 0.9}, False),
        ({"N": 100}, True),
        ({"W_ai": 0}, False),
        ({"W_ai": 0.0, "N": 4}, True),
        ({"W_ai": 73.5}, True),
        ({"R_ai_bps": 0}, False),
        ({"R_ai_bps": 10**6}, False),
        ({"R_ai_bps": 10**6, "form": "rate"}, True),
        ({"R_ai_bps": 0, "form": "rate"}, False),
        ({"form": "rate"}, False),
    ],
)
def test_a_step_is_known_by_what_gives_it(told: dict[str, Any], known: bool) -> None:
    assert step_known({"hpcc": told}) is known
    assert bool([*step_assumed({"hpcc"}, {"hpcc": told})]) is not known
