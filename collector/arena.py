"""Memory for columns that is used again when nobody holds the columns of an earlier batch."""

import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

KEPT = 16
"""Blocks that are remembered: those of the batches that are filled, looked at and on their way."""
OURS = 4
"""References to a block that is free: the lists', the loop's, and the one that asks."""
ALIGNED = 64


class Arena:
    """Gives out blocks; a block whose columns are all gone is given out again.

    New memory has to be cleared by the system before it is filled, which costs as much as filling
    it.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.blocks: list[NDArray[np.uint8]] = []

    def block(self, octets: int) -> NDArray[np.uint8]:
        """At least so many octets, whose values are left over from before."""
        for block in sorted(self.blocks, key=len):  # the least that will do
            # Arrays over a block, and Arrow's buffers over those, each hold a reference to it.
            if octets <= block.size <= 2 * octets and sys.getrefcount(block) == OURS:
                return block
        block = np.empty(octets, np.uint8)
        self.blocks = [block, *self.blocks[: KEPT - 1]]
        return block

    def arrays(self, rows: int, *kinds: DTypeLike) -> list[NDArray[Any]]:
        """An array of so many rows of each kind, all in one block."""
        sizes = [np.dtype(kind).itemsize * rows for kind in kinds]
        starts = np.cumsum([0, *(-(-size // ALIGNED) * ALIGNED for size in sizes)]).tolist()
        block = self.block(starts[-1] + ALIGNED)
        first = -block.__array_interface__["data"][0] % ALIGNED
        return [
            block[first + start : first + start + size].view(kind)
            for kind, size, start in zip(kinds, sizes, starts[:-1], strict=True)
        ]
