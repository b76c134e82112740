"""Which observation point speaks for a flow."""

import polars as pl

from replay import from_best, vantage

ROWS = [
    ("near", "exact", 1), ("far", "estimated", 1), ("near", "exact", 2), ("far", "exact", 2),
    ("far", "estimated", 3),
]  # fmt: skip


def test_the_point_with_most_exact_decisions_speaks_and_order_is_kept() -> None:
    decisions = pl.DataFrame(ROWS, schema=["point", "quality", "ack"], orient="row").with_columns(
        flow=pl.lit(7, pl.UInt64), algorithm=pl.lit("hpcc")
    )
    best = vantage(decisions)
    assert best["point"].to_list() == ["near"]
    assert from_best(decisions, best)["ack"].to_list() == [1, 2]
