"""A verdict as the terminal shows it."""

from io import StringIO
from types import ModuleType

import pytest
from rich.console import Console

from pipeline.composed_answer import compose_answer
from service.verdict_text import shown


@pytest.mark.parametrize(
    ("doubts", "load"),
    [
        ([], "2.55 mean, 2.55 peak"),
        (["hop_load_in_part"], "at least 2.55 mean, at least 2.55 peak"),
    ],
)
def test_a_load_that_is_a_bound_is_shown_as_one(
    world: ModuleType, doubts: list[str], load: str
) -> None:
    ends = {"first_ns": world.START_NS, "last_ns": world.START_NS + world.INTERVAL_NS}
    flow = {**world.key(1), "src": "10.0.1.1", "dst": "10.0.2.1", **ends}
    row = world.frames()["verdicts"].row(0, named=True)
    row |= {"u_mean": 2.55, "u_max": 2.55, "contributors": 1, "plausibility": doubts}
    answer = compose_answer(flow, [row], *ends.values())
    page = StringIO()
    Console(file=page, width=200).print(shown(answer | {"integrity": None}))
    lines = [line.strip() for line in page.getvalue().splitlines()]
    assert f"load u         {load}" in lines
    assert "shared by      1 flow" in lines
