"""Where companions keep the state of each sender: by slot, direction and life of the trail."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record, state_dtype
from pipeline.memory import Ints

BOOK = state_dtype(("i4", "place"), ("u2", "life"))
"""Of one sender its place plus one (0: none yet), and the life that the state there is of."""


class Book:
    """The places of a companion's senders and one or more arrays of their state."""

    def __init__(self, **kinds: tuple[Any, int]) -> None:
        """Name each array, with its type and how many elements a sender has of it."""
        self.kinds = kinds
        self.book = np.zeros(0, BOOK)
        self.used = np.zeros(1, np.int64)
        self.arrays = {name: np.zeros(0, kind) for name, (kind, _) in kinds.items()}

    def room(self, slots: int, rows: int) -> None:
        """Room for so many slots, and for as many new senders as the rows may bring."""
        if 2 * slots > self.book.size:
            self.book = longer(self.book, 2 * slots)
        # A row brings no more senders than two, and all rows no more than there are slots.
        wanted = min(int(self.used[0]) + 2 * rows, 2 * slots)
        for name, (_, each) in self.kinds.items():
            if wanted * each > self.arrays[name].size:
                self.arrays[name] = longer(self.arrays[name], wanted * each)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One of the arrays of state."""
        return self.arrays[name]


def longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The same array with at least so many elements, those behind blank."""
    more = np.zeros(max(size - array.size, array.size // 2), array.dtype)
    return np.concatenate([array, more])


@inlined
def holder(book: NDArray[Any], used: Ints, mark: Record, d: int) -> tuple[int, bool]:
    """The place of sender d of a slot, and whether it is a new sender there."""
    own = book[2 * mark.slot + d]
    fresh = own.place == 0 or own.life != mark.life[d]
    if own.place == 0:
        used[0] += 1
        own.place = used[0]
    own.life = mark.life[d]
    return int(own.place) - 1, bool(fresh)
