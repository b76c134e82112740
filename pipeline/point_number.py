"""Observation points as numbers, in the order in which they were first seen."""

import numpy as np
import polars as pl
from numpy.typing import NDArray


class PointNumbers:
    """Gives every name of a point a number, from 0 on."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, points: pl.Series) -> NDArray[np.int32]:
        """The number of each row's point."""
        if points.is_empty() or (points == points[0]).all():
            names = list(points[:1])
            number = self.known.setdefault(names[0], len(self.known)) if names else 0
            return np.full(len(points), number, np.int32)
        for point in points.unique(maintain_order=True):
            self.known.setdefault(point, len(self.known))
        return points.replace_strict(self.known, return_dtype=pl.Int32).to_numpy()
