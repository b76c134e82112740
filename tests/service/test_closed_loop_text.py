"""What is said of a change of the closed loop: only what can be seen is to be believed."""

import pytest

from service.closed_loop_text import believed


@pytest.mark.parametrize(
    ("off", "change", "said"),
    [
        (0.02, 0.1, "yes"),
        (0.02, -0.1, "yes"),
        (0.1, 0.02, "no"),
        (0.0, 0.0, "no"),
        (1e-7, 2e-7, "no"),
        (0.0, 0.002, "yes"),
        (None, 0.1, "cannot be told"),
        (0.1, None, "cannot be told"),
    ],
)
def test_a_change_is_believed_that_is_larger_than_what_is_off(
    off: float | None, change: float | None, said: str
) -> None:
    trust = {"kind": "share", "difference": off}
    assert believed(trust, {"kind": "share", "difference": change}) == said
