"""Which headers the frames of a batch have: a column is null where none of them wrote it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.graph import Plan


class Walked:
    """Conditions on the column `layers` of a batch, for expressions over the walk's columns."""

    def __init__(self, plan: Plan, layers: NDArray[np.uint64]) -> None:
        """`layers` of the frames that are kept."""
        self.plan = plan
        self.seen = int(np.bitwise_or.reduce(layers)) if layers.size else 0
        self.everywhere = int(np.bitwise_and.reduce(layers)) if layers.size else 0

    def seen_any(self, *names: str) -> bool:
        """Whether any frame has one of these headers."""
        return self.seen & self.plan.layer(*names) != 0

    def written(self, column: str) -> bool:
        """Whether any frame has a header that writes this column."""
        return self.seen & self.plan.layers.get(column, 0) != 0

    def told(self, column: str, *conditions: pl.Expr, values: pl.Expr | None = None) -> pl.Expr:
        """A column, or other `values`, null where no header wrote it or a condition fails."""
        found = pl.col(column) if values is None else values
        bits = self.plan.layers[column]
        if not bits & self.everywhere:
            walked = pl.col("layers") & pl.lit(bits, pl.UInt64) != 0
            conditions = (walked, *conditions)
        return pl.when(*conditions).then(found) if conditions else found
