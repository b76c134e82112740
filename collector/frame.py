"""Frames: captured bytes with their receive times, the first thing every source delivers."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

UNNAMED = "unknown"
"""Name of an observation point that its source leaves without one."""


@dataclass(frozen=True, slots=True)
class Frames:
    """A run of captured frames of one source, as columns of equal length over one block of bytes.

    Frame `i` is `data[offset[i] : offset[i] + captured[i]]`, which always lies inside `data`.
    """

    data: NDArray[np.uint8]
    """Bytes that hold the frames (a memory map or a buffer), read only, contiguous."""
    offset: NDArray[np.int64]
    """First byte of each frame in `data`."""
    captured: NDArray[np.int32]
    """Bytes captured, 0 or more."""
    length: NDArray[np.int32]
    """Bytes on the wire as the file states them; 2^31 - 1 stands for that and anything above."""
    time_ns: NDArray[np.int64]
    """Receive time, ns since 1970; 0 where the file holds no time (pcapng simple packets)."""
    link: NDArray[np.uint16]
    """LINKTYPE_ number of each frame (1 = Ethernet)."""
    interface: NDArray[np.uint16]
    """Observation point of each frame: an index into `Capture.points`."""
    first: int
    """Number of the first frame in its file, from 1 as Wireshark counts; the others follow it."""

    def __len__(self) -> int:
        """Count the frames."""
        return len(self.offset)

    def nothing(self) -> Self:
        """The run without frames that may follow this one: that there are none yet."""
        none = slice(0, 0)
        return replace(
            self,
            offset=self.offset[none],
            captured=self.captured[none],
            length=self.length[none],
            time_ns=self.time_ns[none],
            link=self.link[none],
            interface=self.interface[none],
            first=self.first + len(self),
        )

    def part(self, start: int, stop: int) -> "Frames":
        """The frames from `start` up to `stop`, with their numbers."""
        kept = slice(start, stop)
        return Frames(
            self.data,
            self.offset[kept],
            self.captured[kept],
            self.length[kept],
            self.time_ns[kept],
            self.link[kept],
            self.interface[kept],
            self.first + start,
        )
