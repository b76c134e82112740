"""The pcapng format: sections of blocks, read; and written with nanosecond times.

Source: draft-ietf-opsawg-pcapng (section numbers in brackets). A section header [4.1] gives the
byte order of what follows and forgets the interfaces; an interface description [4.2] gives link
type, name and clock of the packets that name its number. Other blocks are passed over.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from collector.block import (
    CLOCKED_INTERFACE,
    INTERFACE,
    INTERFACE_BLOCK,
    NUMBERED,
    PACKET_BLOCK,
    PACKET_BYTES,
    SECTION,
    SECTION_BLOCK,
    SMALLEST_BLOCK,
    index_blocks,
)
from collector.frame import UNNAMED, Frames
from collector.index import CORRUPT, FULL, LARGEST_RECORD, MORE, Index
from collector.kernel import kernel
from collector.resolution import resolution
from collector.window import CaptureError, Window

BYTE_ORDER: Final = 0x1A2B3C4D
SECTION_BYTES: Final = 28
"""Octets of a section header without options."""

OPTION_NAME: Final = 2
OPTION_RESOLUTION: Final = 9
OPTION_OFFSET: Final = 14
MICROSECONDS: Final = b"\x06"
NANOSECONDS: Final = b"\x09"

LINK_ETHERNET: Final = 1
MOST_POINTS: Final = 1 << 16
WRITTEN_AT_ONCE: Final = 1 << 14


class Pcapng:
    """Reader of one pcapng file."""

    def __init__(self) -> None:
        """Know nothing: the file begins with a section header."""
        self.points: list[str] = []
        self.unknown_interface = 0
        self.numbered = 0
        self._point_numbers: dict[str, int] = {}
        self._big = 0
        self._interfaces = np.zeros(1, CLOCKED_INTERFACE)
        self._known = 0

    @classmethod
    def recognise(cls, window: Window) -> Self | None:
        """Look at the beginning of a file; None when it is of another format."""
        head = window.data[:SMALLEST_BLOCK].tobytes()
        if len(head) < SMALLEST_BLOCK or _order(head) is None:
            return None
        return cls() if struct.unpack("<I", head[:4])[0] == SECTION_BLOCK else None

    def fill(self, window: Window, index: Index) -> int:
        """Index the packets from the window's position on; say why it stopped."""
        while True:
            stop, window.position, index.count, unknown = index_blocks(
                window.data, window.position, self._big, self._interfaces, self._known,
                index.count, index.offset, index.captured, index.length, index.time_ns,
                index.link, index.interface,
            )  # fmt: skip
            self.unknown_interface += unknown
            if stop == SECTION:
                stop = self._begin_section(window)
            elif stop == INTERFACE:
                stop = self._add_interface(window)
            elif stop == NUMBERED:
                if index.count:
                    return FULL  # the numbers of the frames that follow do not join
                stop = self._pass_numbered(window)
            if stop != FULL or index.count == len(index.offset):
                return stop

    def _begin_section(self, window: Window) -> int:
        """Read a section header [4.1]: the byte order, and that interfaces count from 0 again."""
        head = window.data[window.position : window.position + 16].tobytes()
        order = _order(head)
        if order is None:
            return CORRUPT
        (total,) = struct.unpack(order + "I", head[4:8])
        left = len(window.data) - window.position
        if total < SECTION_BYTES or total % 4 or total > LARGEST_RECORD:
            return CORRUPT
        if left < total:
            return MORE
        block = window.data[window.position : window.position + total].tobytes()
        if struct.unpack(order + "H", block[12:14])[0] != 1 or block[4:8] != block[-4:]:
            return CORRUPT
        self._big = int(order == ">")
        self._interfaces = np.zeros(1, CLOCKED_INTERFACE)
        self._known = 0
        window.position += total
        return FULL

    def _pass_numbered(self, window: Window) -> int:
        """Pass over a block that holds no frame but takes a number."""
        self.numbered += 1
        window.position += self._total(window)
        return FULL

    def _total(self, window: Window) -> int:
        """Length of the block at the window's position."""
        at = window.position + 4
        return int.from_bytes(window.data[at : at + 4].tobytes(), "big" if self._big else "little")

    def _add_interface(self, window: Window) -> int:
        """Read an interface description [4.2], which the reader has found to be whole."""
        order = ">" if self._big else "<"
        at = window.position
        total = self._total(window)
        body = window.data[at + 8 : at + total - 4].tobytes()
        try:
            link, snaplen = struct.unpack_from(order + "HxxI", body)
            options = _options(body[8:], order)
            (offset_s,) = struct.unpack(order + "q", options.get(OPTION_OFFSET, bytes(8)))
            (code,) = struct.unpack("B", options.get(OPTION_RESOLUTION, MICROSECONDS))
        except struct.error:
            return CORRUPT
        name = options.get(OPTION_NAME, b"").rstrip(b"\0").decode(errors="replace") or UNNAMED
        point = self._point_numbers.setdefault(name, len(self.points))
        if point == MOST_POINTS:
            return CORRUPT
        if point == len(self.points):
            self.points.append(name)
        if self._known == len(self._interfaces):
            self._interfaces = np.concatenate([self._interfaces, np.zeros_like(self._interfaces)])
        limit = snaplen or LARGEST_RECORD
        self._interfaces[self._known] = (point, link, limit, *resolution(code, offset_s))
        self._known += 1
        window.position += total
        return FULL


def _order(head: bytes) -> str | None:
    """Byte order of a section header, as struct names it, or None when it is none."""
    for order in "<>":
        if struct.unpack(order + "I", head[8:12])[0] == BYTE_ORDER:
            return order
    return None


def _options(octets: bytes, order: str) -> dict[int, bytes]:
    """Options of a block [3.5] by code; raises struct.error where one leaves the block."""
    options = {}
    at = 0
    while at < len(octets):
        code, size = struct.unpack_from(order + "HH", octets, at)
        if code == 0:
            break
        (options[code],) = struct.unpack_from(f"{size}s", octets, at + 4)
        at += 4 + (size + 3) // 4 * 4
    return options


def write_pcapng(path: str | Path, interfaces: list[str], frames: Iterable[Frames]) -> None:
    """Write Ethernet frames with nanosecond times; `Frames.interface` indexes into `interfaces`.

    Raises CaptureError when the file cannot be written, and ValueError for a frame that is not
    Ethernet, names no interface or lies before 1970.
    """
    try:
        with Path(path).open("wb") as file:
            file.write(section_block())
            file.writelines(interface_block(name, LINK_ETHERNET) for name in interfaces)
            for run in frames:
                file.writelines(_packet_blocks(run, len(interfaces)))
    except OSError as error:
        raise CaptureError(f"{path}: cannot be written ({error.strerror})") from error


def section_block() -> bytes:
    """Begin a section of unknown length in the writer's own byte order."""
    form = struct.Struct("=IIIHHqI")
    assert form.size == SECTION_BYTES
    return form.pack(SECTION_BLOCK, form.size, BYTE_ORDER, 1, 0, -1, form.size)


def interface_block(name: str, link: int) -> bytes:
    """Describe an interface [4.2] that has a nanosecond clock and no snap length."""
    options = b"".join(
        struct.pack("=HH", code, len(value)) + value + bytes(-len(value) % 4)
        for code, value in (
            (OPTION_NAME, name.encode()),
            (OPTION_RESOLUTION, NANOSECONDS),
            (0, b""),
        )
    )
    total = 20 + len(options)
    head = struct.pack("=IIHxxI", INTERFACE_BLOCK, total, link, 0)
    return head + options + struct.pack("=I", total)


def _packet_blocks(run: Frames, interfaces: int) -> Iterator[memoryview]:
    """Encode a run of frames, a bounded part at a time."""
    if (run.link != LINK_ETHERNET).any():
        raise ValueError("only Ethernet frames can be written")
    if (run.interface >= interfaces).any():
        raise ValueError(f"a frame names an interface that is not among {interfaces}")
    if (run.time_ns < 0).any():
        raise ValueError("a frame lies before 1970")
    for at in range(0, len(run), WRITTEN_AT_ONCE):
        part = slice(at, at + WRITTEN_AT_ONCE)
        padded = (run.captured[part].astype(np.int64) + 3) // 4 * 4
        words = np.zeros(int((padded + PACKET_BYTES).sum()) // 4, np.uint32)
        encode_packets(
            run.data, run.offset[part], run.captured[part], run.length[part], run.time_ns[part],
            run.interface[part], words, words.view(np.uint8),
        )  # fmt: skip
        yield words.data


@kernel
def encode_packets(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    interface: NDArray[np.uint16],
    words: NDArray[np.uint32],
    octets: NDArray[np.uint8],
) -> None:
    """Write enhanced packet blocks [4.3] into `words`, zero so far, of which `octets` is a view."""
    at = 0
    for i in range(len(offset)):
        held = int(captured[i])
        total = PACKET_BYTES + (held + 3) // 4 * 4
        words[at], words[at + 1], words[at + 2] = PACKET_BLOCK, total, interface[i]
        words[at + 3], words[at + 4] = time_ns[i] >> 32, time_ns[i] & 0xFFFFFFFF
        words[at + 5], words[at + 6] = held, length[i]
        begin = at * 4 + 28
        for j in range(held):
            octets[begin + j] = data[offset[i] + j]
        at += total // 4
        words[at - 1] = total
