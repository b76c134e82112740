"""A sample of many cases: what it holds, and that `make soak` runs what it leaves out."""

from itertools import product
from pathlib import Path

from sampled import EVERY, spread

ROOT = Path(__file__).resolve().parent.parent


def test_a_sample_has_as_many_cases_as_it_may_the_first_and_the_last_among_them() -> None:
    for count, most in product(range(1, 50), (1, 2, 3, 12)):
        found = spread(count, most)
        assert len(found) == min(count, most)
        assert found <= set(range(count))
        assert 0 in found
        assert most == 1 or count - 1 in found


def test_the_others_are_run_by_the_slow_proofs() -> None:
    soak = (ROOT / "Makefile").read_text().partition("\nsoak:")[2].partition("\n\n")[0]
    assert f"{EVERY} -m sampled" in soak
