"""Ports that stacks name, as numbers: state of a port is shared by all flows that cross it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.companion import Course

MOST_PORTS = 1 << 16
"""Further ports get no number: made-up ids must not fill the memory."""
UNNUMBERED = -1
KEY = {"point": pl.Int32, "node": pl.UInt32, "port": pl.UInt32}


class PortNumbers:
    """Gives every port, as seen from one point, a number from 0 on."""

    def __init__(self) -> None:
        self.known = pl.DataFrame(schema={**KEY, "number": pl.Int32})

    def __len__(self) -> int:
        """How many ports have a number."""
        return self.known.height

    def of(self, course: Course) -> NDArray[np.int32]:
        """The number of each hop, (hop, row of those with telemetry)."""
        told, hops = course.told, course.batch.stacks.shape[1]
        numbers = np.full((hops, told.height), UNNUMBERED, np.int32)
        points = pl.Series("point", course.rows.point[course.rows.telemetry >= 0], pl.Int32)
        for hop in range(hops):
            if {f"h{hop}_node", f"h{hop}_port"} <= set(told.columns):
                named = told.select(
                    points,
                    pl.col(f"h{hop}_node").alias("node"),
                    pl.col(f"h{hop}_port").alias("port"),
                )
                self._learn(named)
                found = named.join(self.known, on=list(KEY), how="left", maintain_order="left")
                numbers[hop] = found["number"].fill_null(UNNUMBERED).to_numpy()
        return numbers

    def _learn(self, named: pl.DataFrame) -> None:
        """Number the ports that are new, in the order of rows."""
        new = named.drop_nulls().unique(maintain_order=True)
        new = new.join(self.known, on=list(KEY), how="anti", maintain_order="left")
        new = new.head(MOST_PORTS - len(self)).with_row_index("number", len(self))
        self.known = self.known.vstack(new.select(*KEY, pl.col("number").cast(pl.Int32)))
