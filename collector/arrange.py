"""Where each frame's row is, what its layout alone says, and the frames sorted by layout."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.kernel import borrowing
from collector.recognise import UNKNOWN


@borrowing
def reach(offset: NDArray[np.int64], captured: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
    """Write the first octet of all frames and the one behind the last."""
    ends[0], ends[1] = offset[0], 0
    for row in range(offset.size):
        ends[0] = min(ends[0], offset[row])
        ends[1] = max(ends[1], offset[row] + captured[row])


FACT = np.dtype(
    [("layers", "u8"), ("status", "u1"), ("known", "u1"), ("hops", "u1"), ("rest", "u1", (5,))]
)
"""What a layout alone says of its frames, 16 octets."""


@borrowing
def arrange(
    number: NDArray[np.int32],
    payload: NDArray[np.uint32],
    facts: NDArray[Any],
    first: NDArray[np.int64],
    order: NDArray[np.int32],
    place: NDArray[np.int32],
    row: NDArray[np.int32],
    ended: NDArray[np.uint8],
    status: NDArray[np.uint8],
    layers: NDArray[np.uint64],
    hops: NDArray[np.uint8],
) -> Any:
    """Give every frame that is read a row, in frame order; how many rows there are.

    `first` becomes where each layout's frames begin in `order`, `place` the row of each frame (-1:
    none) and `row` the frame of each row; `ended` is how each frame ended. `number`, the layouts,
    and `payload` become those of the rows.
    """
    first[:] = 0
    for frame in range(number.size):
        first[number[frame] + 1] += 1
    for layout in range(1, first.size):
        first[layout] += first[layout - 1]
    count = 0
    for frame in range(number.size):
        which = number[frame]
        fact = facts[which]
        order[first[which]] = frame
        first[which] += 1
        ended[frame] = fact.status
        place[frame] = -1
        if fact.known != UNKNOWN:
            place[frame], row[count] = count, frame
            status[count], layers[count], hops[count] = fact.status, fact.layers, fact.hops
            number[count], payload[count] = which, payload[frame]
            count += 1
    for layout in range(first.size - 1, 0, -1):
        first[layout] = first[layout - 1]
    first[0] = 0
    return count


@borrowing
def mark(number: NDArray[np.int32], has: NDArray[np.uint8], bits: NDArray[np.uint8]) -> None:
    """Write a validity bitmap: whether the layout of each row has something, lowest bit first."""
    for octet in range(bits.size):
        byte = np.int64(0)
        for bit in range(min(8, number.size - octet * 8)):
            byte |= np.int64(has[number[octet * 8 + bit]]) << bit
        bits[octet] = byte
