"""What an answer says of a flow's feedback."""

import polars as pl
import pytest

from pipeline.feedback_integrity import COUNTS, doubt, integrity


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


def test_a_doubt_is_a_sentence_with_its_counts() -> None:
    counts = {"feedback": 9, "feedback_valid": 6, "feedback_invalid": 1, "feedback_replayed": 2}
    rows = pl.DataFrame({name: [counts.get(name, 0)] for name in COUNTS})
    said = "feedback to the sender is replayed: of 9 1 with a wrong checksum, 2 seen again"
    assert doubt(integrity(rows)) == said
    assert doubt(integrity(rows.with_columns(pl.lit(0).alias(name) for name in COUNTS))) is None
    assert doubt(integrity(rows.clear())) is None
