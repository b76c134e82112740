"""Where each frame's row is, what its layout alone says, and the frames sorted by layout."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.kernel import borrowing
from collector.recognise import KNOWN, UNKNOWN

ROW = np.dtype(
    [("frame", "i8"), ("layout", "i4"), ("rest_at", "i4"), ("rest_end", "i4"), ("known", "u1")]
)
"""What is kept of each row beside its columns."""


@borrowing
def reach(offset: NDArray[np.int64], captured: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
    """Write the first octet of all frames and the one behind the last."""
    ends[0], ends[1] = offset[0], 0
    for row in range(offset.size):
        ends[0] = min(ends[0], offset[row])
        ends[1] = max(ends[1], offset[row] + captured[row])


@borrowing
def arrange(
    number: NDArray[np.int32],
    rest: NDArray[np.int32],
    payload: NDArray[np.uint32],
    layouts: NDArray[Any],
    first: NDArray[np.int64],
    order: NDArray[np.int64],
    place: NDArray[np.int64],
    rows: NDArray[Any],
    ended: NDArray[np.uint8],
    status: NDArray[np.uint8],
    layers: NDArray[np.uint64],
    hops: NDArray[np.uint8],
) -> Any:
    """Give every frame that is read a row, in frame order; how many rows there are.

    `first` becomes where each layout's frames begin in `order`, `place` the row of each frame (-1:
    none), `ended` how each frame ended; `payload` moves to the front.
    """
    first[:] = 0
    for frame in range(number.size):
        first[number[frame] + 1] += 1
    for layout in range(1, first.size):
        first[layout] += first[layout - 1]
    count = 0
    for frame in range(number.size):
        layout = layouts[number[frame]]
        order[first[number[frame]]] = frame
        first[number[frame]] += 1
        ended[frame] = layout.status
        place[frame] = -1
        if layout.known != UNKNOWN:
            place[frame] = count
            row = rows[count]
            row.frame, row.layout = frame, number[frame]
            row.rest_at, row.rest_end = rest[0, frame], rest[1, frame]
            row.known = 1 if layout.known == KNOWN else 0
            status[count], layers[count], hops[count] = layout.status, layout.layers, layout.hops
            payload[count] = payload[frame]
            count += 1
    for layout in range(first.size - 1, 0, -1):
        first[layout] = first[layout - 1]
    first[0] = 0
    return count


@borrowing
def mark(rows: NDArray[Any], has: NDArray[np.uint8], bits: NDArray[np.uint8]) -> None:
    """Write a validity bitmap: whether the layout of each row has something, lowest bit first."""
    for octet in range(bits.size):
        byte = 0
        for bit in range(min(8, rows.size - octet * 8)):
            byte |= np.int64(has[rows[octet * 8 + bit].layout]) << bit
        bits[octet] = byte
