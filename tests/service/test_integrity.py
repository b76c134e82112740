"""What an answer says of a flow's feedback."""

import polars as pl
import pytest

from service.integrity import COUNTS, integrity


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        ({}, "unchecked"),
        ({"feedback_valid": 3}, "valid"),
        ({"feedback_valid": 3, "feedback_invalid": 1}, "invalid"),
        ({"feedback_backwards": 1}, "invalid"),
        ({"feedback_valid": 3, "feedback_invalid": 1, "feedback_replayed": 1}, "replayed"),
    ],
)
def test_integrity_is_the_worst_that_was_found(counts: dict[str, int], value: str) -> None:
    rows = pl.DataFrame({name: [counts.get(name, 0), 0] for name in COUNTS})
    assert integrity(rows) == {"value": value} | {name: counts.get(name, 0) for name in COUNTS}
