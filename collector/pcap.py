"""The pcap format: one header, then records of (seconds, fraction, captured, length) and bytes.

Source: draft-ietf-opsawg-pcap; the record header of 24 octets is A. Kuznetsov's patched libpcap;
the two lengths stand in the other order before version 2.3 and sometimes at 2.3, as libpcap reads.
"""

import struct
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from collector.frame import UNNAMED
from collector.index import CORRUPT, FULL, LARGEST_LENGTH, LARGEST_RECORD, MORE, Index, word
from collector.kernel import borrowing
from collector.window import Window

HEADER_BYTES: Final = 24
MAGIC_BYTES: Final = 4
MAJOR: Final = 2

MAGICS: Final = {
    0xA1B2C3D4: (16, 1000),
    0xA1B23C4D: (16, 1),
    0xA1B2CD34: (24, 1000),
}
"""Magic number: octets of a record header, nanoseconds of one unit of the fraction."""

LENGTHS_IN_ORDER: Final = 0
LENGTHS_SWAPPED: Final = 1
LENGTHS_SWAPPED_WHEN_LARGER: Final = 2
LENGTHS: Final = dict.fromkeys(range(3), LENGTHS_SWAPPED) | {3: LENGTHS_SWAPPED_WHEN_LARGER}
"""Minor version: order of the two lengths; in order in every later one."""


@dataclass(slots=True)
class Pcap:
    """Reader of one pcap file."""

    big: int
    record_bytes: int
    fraction_ns: int
    lengths: int
    link: int
    points: list[str]
    unknown_interface: int = 0
    numbered: int = 0

    @classmethod
    def recognise(cls, window: Window) -> Self | None:
        """Read the file header at the beginning of a window; None when it is of another format.

        Raises ValueError, with a half sentence, when it is of this format and cannot be used.
        """
        head = window.data[:HEADER_BYTES].tobytes()
        for big, order in enumerate("<>"):
            magic = int.from_bytes(head[:MAGIC_BYTES], "big" if big else "little")
            if magic not in MAGICS:
                continue
            if len(head) < HEADER_BYTES:
                raise ValueError(f"pcap header is cut after {len(head)} bytes")
            major, minor, link = struct.unpack(order + "HH12xI", head[MAGIC_BYTES:])
            if major != MAJOR:
                raise ValueError(f"pcap version {major}.{minor} is not known")
            window.position = HEADER_BYTES
            lengths = LENGTHS.get(minor, LENGTHS_IN_ORDER)
            # The upper half of the link field tells about frame check sequences.
            return cls(big, *MAGICS[magic], lengths, link & 0xFFFF, [UNNAMED])
        return None

    def fill(self, window: Window, index: Index) -> int:
        """Index the records from the window's position on; say why it stopped."""
        stop, window.position, index.count = index_records(
            window.data, window.position, self.big, self.record_bytes, self.fraction_ns,
            self.lengths, index.offset, index.captured, index.length, index.time_ns,
        )  # fmt: skip
        index.link[: index.count] = self.link
        index.interface[: index.count] = 0
        return stop


@borrowing
def index_records(
    data: NDArray[np.uint8],
    start: int,
    big: int,
    record_bytes: int,
    fraction_ns: int,
    lengths: int,
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    time_ns: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Fill the columns from the record at `start` on: (why it stopped, where, frames)."""
    at = start
    for i in range(len(offset)):
        left = len(data) - at - record_bytes
        if left < 0:
            return MORE, at, i
        held, sent = word(data, at + 8, big), word(data, at + 12, big)
        if lengths == LENGTHS_SWAPPED or (lengths == LENGTHS_SWAPPED_WHEN_LARGER and held > sent):
            held, sent = sent, held
        if held > LARGEST_RECORD:
            return CORRUPT, at, i
        if held > left:
            return MORE, at, i
        offset[i] = at + record_bytes
        captured[i] = held
        length[i] = min(sent, LARGEST_LENGTH)
        time_ns[i] = word(data, at, big) * 1_000_000_000 + word(data, at + 4, big) * fraction_ns
        at += record_bytes + held
    return FULL, at, len(offset)
