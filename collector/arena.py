"""Memory for columns that is used again when nobody holds the columns of an earlier batch."""

import sys

import numpy as np
from numpy.typing import NDArray

KEPT = 3
"""Blocks that are remembered: one being filled, one being looked at, one on its way."""
OURS = 3
"""References to a block that is free: the list's, the loop's, and the one that asks."""


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
        for block in self.blocks:
            # Arrays over a block, and Arrow's buffers over those, each hold a reference to it.
            if octets <= block.size <= 2 * octets and sys.getrefcount(block) == OURS:
                return block
        block = np.empty(octets, np.uint8)
        self.blocks = [block, *self.blocks[: KEPT - 1]]
        return block
