"""Blocks of a pcapng section, walked by compiled code that stops where the section changes.

Source: draft-ietf-opsawg-pcapng (section numbers in brackets). A block [3.1] is its type, its
length, a body of whole 32-bit words, and its length again.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from collector.index import CORRUPT, FULL, LARGEST_LENGTH, LARGEST_RECORD, MORE, word
from collector.kernel import borrowing, inlined
from collector.resolution import RESOLUTION, nanoseconds

SECTION_BLOCK: Final = 0x0A0D0D0A
INTERFACE_BLOCK: Final = 1
OLD_PACKET_BLOCK: Final = 2
SIMPLE_PACKET_BLOCK: Final = 3
PACKET_BLOCK: Final = 6

JOURNAL_BLOCK: Final = 9
CUSTOM_BLOCK: Final = 0xBAD
CUSTOM_BLOCK_NOT_COPIED: Final = 0x40000BAD

SMALLEST_BLOCK: Final = 12
SIMPLE_PACKET_BYTES: Final = 16
"""Octets of a simple packet block around its packet: a head of 12 and the second length."""
PACKET_BYTES: Final = 32
"""Octets of a packet block around its packet: a head of 28 and the second length."""

SECTION: Final = 10
"""The walk stopped at a section header."""
INTERFACE: Final = 11
"""The walk stopped at an interface description, which is whole."""
NUMBERED: Final = 12
"""The walk stopped at a block, which is whole, that Wireshark numbers like a frame: a custom block
or a journal entry."""

CLOCKED_INTERFACE: Final = np.dtype(
    [("point", np.uint16), ("link", np.uint16), ("snaplen", np.int64), *RESOLUTION]
)
"""What packets take from their interface; without a limit snaplen is LARGEST_RECORD."""


@borrowing
def index_blocks(
    data: NDArray[np.uint8],
    start: int,
    big: int,
    interfaces: NDArray[np.void],
    known: int,
    filled: int,
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    link: NDArray[np.uint16],
    interface: NDArray[np.uint16],
) -> tuple[int, int, int, int]:
    """Walk blocks from `start` on, of a section that has described `known` interfaces.

    Fills the columns behind what is filled. Returns why it stopped (FULL, MORE, CORRUPT, SECTION,
    INTERFACE, NUMBERED), where, the frames in the columns, and the frames passed over that name an
    interface which is not known.
    """
    at, i, unknown = start, filled, 0
    while i < len(offset):
        stop, kind, total = block(data, at, big)
        if stop != FULL:
            return stop, at, i, unknown
        if kind in (PACKET_BLOCK, SIMPLE_PACKET_BLOCK, OLD_PACKET_BLOCK):
            which, inside, held, sent = packet(data, at, total, kind, big, interfaces)
            if held < 0:
                return CORRUPT, at, i, unknown
            if which < known:
                offset[i], captured[i], length[i] = inside, held, min(sent, LARGEST_LENGTH)
                link[i], interface[i] = interfaces[which]["link"], interfaces[which]["point"]
                time_ns[i] = 0
                if kind != SIMPLE_PACKET_BLOCK:
                    high, low = word(data, at + 12, big), word(data, at + 16, big)
                    ticks = (np.uint64(high) << np.uint64(32)) | np.uint64(low)
                    time_ns[i] = nanoseconds(ticks, interfaces, which)
                i += 1
            else:
                unknown += 1
        at += total
    return FULL, at, i, unknown


@inlined
def block(data: NDArray[np.uint8], at: int, big: int) -> tuple[int, int, int]:
    """Read type and length of the block at `at`: (FULL when the walk can take it, type, length)."""
    left = len(data) - at
    if left < SMALLEST_BLOCK:
        return MORE, 0, 0
    kind, total = word(data, at, big), word(data, at + 4, big)
    if kind == SECTION_BLOCK:  # its own byte order is still to be read
        return SECTION, kind, 0
    if total < SMALLEST_BLOCK or total % 4 != 0 or total > LARGEST_RECORD:
        return CORRUPT, kind, total
    if left < total:
        return MORE, kind, total
    if word(data, at + total - 4, big) != total:
        return CORRUPT, kind, total
    stop = FULL
    if kind == INTERFACE_BLOCK:
        stop = INTERFACE
    elif kind in (CUSTOM_BLOCK, CUSTOM_BLOCK_NOT_COPIED, JOURNAL_BLOCK):
        stop = NUMBERED
    return stop, kind, total


@inlined
def packet(
    data: NDArray[np.uint8],
    at: int,
    total: int,
    kind: int,
    big: int,
    interfaces: NDArray[np.void],
) -> tuple[int, int, int, int]:
    """Read the head of a packet block: (interface, first octet of the packet, captured, length).

    Captured is -1 when the block cannot hold what it states.
    """
    if kind == SIMPLE_PACKET_BLOCK:  # [4.4]: no interface, no time, as much as the snap length
        sent = word(data, at + 8, big) if total >= SIMPLE_PACKET_BYTES else LARGEST_LENGTH
        held = min(sent, int(interfaces[0]["snaplen"]))
        return 0, at + 12, held if held <= total - SIMPLE_PACKET_BYTES else -1, sent
    if total < PACKET_BYTES:
        return 0, at, -1, 0
    which = word(data, at + 8, big)
    if kind == OLD_PACKET_BLOCK:  # [A.1]: 16 bits of interface, 16 of drops
        which = which >> 16 if big else which & 0xFFFF
    held, sent = word(data, at + 20, big), word(data, at + 24, big)
    return which, at + 28, held if held <= total - PACKET_BYTES else -1, sent
