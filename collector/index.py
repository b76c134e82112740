"""Index: where the frames of a file lie, filled by the compiled reader of its format."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from collector.arena import Arena
from collector.frame import Frames
from collector.kernel import inlined

FULL: Final = 0
"""A reader stopped because the index is full."""
MORE: Final = 1
"""A reader stopped because what lies at the position is not all in memory."""
CORRUPT: Final = 2
"""A reader stopped because what lies at the position cannot be a record."""

LARGEST_RECORD: Final = 256 << 20
"""Bytes of one frame or block at most; a file that states more is corrupt."""
SMALLEST_RECORD: Final = 16
"""Bytes of the shortest record that holds a frame: a pcap record header, a simple packet block."""
LARGEST_LENGTH: Final = 2**31 - 1

BYTES_1, BYTES_2, BYTES_3 = np.uint64(8), np.uint64(16), np.uint64(24)
"""Bits to shift by."""


class Index:
    """Columns of `Frames` with room for `capacity` frames, of which `count` are filled."""

    def __init__(self, capacity: int, arena: Arena) -> None:
        """Make room."""
        self.count = 0
        self.offset, self.time_ns, self.captured, self.length, self.link, self.interface = (
            arena.arrays(capacity, np.int64, np.int64, np.int32, np.int32, np.uint16, np.uint16)
        )

    def frames(self, data: NDArray[np.uint8], first: int) -> Frames:
        """Give what is filled as frames that lie in `data`, the first one numbered `first`."""
        filled = slice(0, self.count)
        return Frames(
            data=data,
            offset=self.offset[filled],
            captured=self.captured[filled],
            length=self.length[filled],
            time_ns=self.time_ns[filled],
            link=self.link[filled],
            interface=self.interface[filled],
            first=first,
        )


@inlined
def word(data: NDArray[np.uint8], at: int, big: int) -> int:
    """Read the unsigned 32-bit integer at `at`; `big` is 1 when its first octet is the highest."""
    # An index without a sign cannot count from the end, so the four loads become one.
    i, one = np.uint64(at), np.uint64(1)
    a, b = np.uint64(data[i]), np.uint64(data[i + one])
    c, d = np.uint64(data[i + one + one]), np.uint64(data[i + one + one + one])
    if big:
        return int(np.int64((a << BYTES_3) | (b << BYTES_2) | (c << BYTES_1) | d))
    return int(np.int64((d << BYTES_3) | (c << BYTES_2) | (b << BYTES_1) | a))
