"""Columns filled layout by layout: one value after the other from the octets that hold it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.kernel import borrowing, inlined
from collector.script import HIGHEST, LITTLE, big, swapped

ONE, TWO, FOUR, EIGHT = 1, 2, 4, 8
BLOCK = 256
"""Frames whose octets stay near while their columns are filled one by one."""


@inlined
def line(
    data: NDArray[np.uint8],
    starts: NDArray[Any],
    first: Any,
    count: Any,
    read: Any,
    out: Any,
) -> None:
    """So many values of a column, from its element `first` on.

    An index without a sign cannot count from the end, and four values at a step hide each other's
    waiting: both together save a third of the time.
    """
    shift, mask, plus = read.shift, read.mask, read.plus
    at: Any = np.uint64(read.at)
    row, one = np.uint64(0), np.uint64(1)
    if mask == np.uint64(0):
        while row < count:
            out[first + row] = plus
            row += one
        return
    two, three, four = np.uint64(2), np.uint64(3), np.uint64(4)
    while row + three < count:
        a = big(data, np.uint64(starts[row]) + at) >> shift & mask | plus
        b = big(data, np.uint64(starts[row + one]) + at) >> shift & mask | plus
        c = big(data, np.uint64(starts[row + two]) + at) >> shift & mask | plus
        d = big(data, np.uint64(starts[row + three]) + at) >> shift & mask | plus
        out[first + row], out[first + row + one] = a, b
        out[first + row + two], out[first + row + three] = c, d
        row += four
    while row < count:
        out[first + row] = big(data, np.uint64(starts[row]) + at) >> shift & mask | plus
        row += one


@inlined
def fill(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    count: int,
    read: Any,
    out: Any,
    base: int,
) -> None:
    """One column of one block."""
    shift, mask, plus, at = read.shift, read.mask, read.plus, read.at
    if read.flags & (LITTLE | HIGHEST) == 0:
        if places[count - 1] - places[0] == count - 1:
            # Rows one behind the other: places rise, so nothing lies between.
            line(data, starts, np.uint64(base + places[0]), np.uint64(count), read, out)
            return
        for row in range(count):
            out[base + places[row]] = big(data, starts[row] + at) >> shift & mask | plus
        return
    for row in range(count):
        place = base + places[row]
        word = big(data, starts[row] + at)
        if read.flags & LITTLE != 0:
            word = swapped(word)
        word = word >> shift & mask | plus
        out[place] = max(np.uint64(out[place]), word) if read.flags & HIGHEST != 0 else word


@borrowing
def gather(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    order: NDArray[np.int32],
    place: NDArray[np.int32],
    first: NDArray[np.int64],
    pools: NDArray[Any],
    base: NDArray[np.int64],
    octets: NDArray[np.int64],
    out8: NDArray[np.uint8],
    out16: NDArray[np.uint16],
    out32: NDArray[np.uint32],
    out64: NDArray[np.uint64],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Fill every column of every frame.

    `order` has the frames sorted by layout, those of layout n from `first[n]` on; `place` is the
    row of each frame (-1: none). Column c has `octets[c]` octets a row (0: it is left out) and
    begins at element `base[c]` of the array of that width. The four arrays are views of one.
    """
    pool = pools[0]
    for number in range(first.size - 1):
        layout = pool.layouts[number]
        if layout.known == 0:
            continue
        for begin in range(first[number], first[number + 1], BLOCK):
            count = min(BLOCK, first[number + 1] - begin)
            for row in range(count):
                frame = order[begin + row]
                starts[row], places[row] = offset[frame], place[frame]
            for at in range(layout.read0, layout.read1):
                read = pool.reads[at]
                width, column = octets[read.column], base[read.column]
                if width == ONE:
                    fill(data, starts, places, count, read, out8, column)
                elif width == TWO:
                    fill(data, starts, places, count, read, out16, column)
                elif width == FOUR:
                    fill(data, starts, places, count, read, out32, column)
                elif width == EIGHT:
                    fill(data, starts, places, count, read, out64, column)
