"""The pseudo-code: every branch lights its lines, and those are the lines that its step names."""

import re

import pytest

from replay import pseudocode
from replay.step import STEPS, Step

NUMBERED = {"hpcc": r"^lines (.*)$", "dctcp": r"^3\.3, steps? (.*)$"}


def lit(step: Step) -> set[int]:
    return {line.number for line in pseudocode(step.algorithm) if step.branch in line.branches}


def told(step: Step) -> set[int]:
    """Lines that the table of steps names."""
    found = re.match(NUMBERED[step.algorithm], step.line)
    spans = found[1].split(", ") if found else []
    return {
        number
        for span in spans
        if re.fullmatch(r"[\d-]+", span)
        for number in range(int(span.split("-")[0]), int(span.split("-")[-1]) + 1)
    }


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.algorithm}-{step.branch}")
def test_every_branch_lights_a_line(step: Step) -> None:
    assert lit(step) or step.branch in {"within_rtt", "not_taken", "hold"}


@pytest.mark.parametrize("step", [step for step in STEPS if step.algorithm in NUMBERED])
def test_lit_lines_are_those_of_the_document(step: Step) -> None:
    assert told(step) <= lit(step)


def test_every_line_is_reached_and_names_only_branches_that_there_are() -> None:
    for algorithm in ("hpcc", "dctcp", "swift", "poseidon"):
        branches = {step.branch for step in STEPS if step.algorithm.startswith(algorithm)}
        for line in pseudocode(algorithm):
            assert set(line.branches) & branches
        numbers = [line.number for line in pseudocode(algorithm)]
        assert numbers == list(range(1, len(numbers) + 1))


def test_an_algorithm_without_lines_of_its_own_has_its_steps() -> None:
    assert [line.branches for line in pseudocode("dctcp_receiver")][:2] == [
        ("nothing",), ("expected",),
    ]  # fmt: skip
