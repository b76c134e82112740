"""Frames written once more as pcapng, each with what was found out about it as a comment.

Source: draft-ietf-opsawg-pcapng (section numbers in brackets). A comment is option 1 [3.5] of an
enhanced packet block [4.3]; Wireshark shows it on the packet, as `frame.comment`. Times are kept to
the nanosecond, and the names and link types of interfaces, each pair with a description of its own
[4.2] in front of its first frame. Other blocks and options of a pcapng file are not carried over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from collector.block import PACKET_BLOCK, PACKET_BYTES
from collector.frame import UNNAMED, Frames
from collector.kernel import kernel
from collector.pcapng import interface_block, section_block
from collector.window import CaptureError

OPTION_COMMENT = 1
MOST_OCTETS = 65_000
"""A comment is cut off there; an option holds 65,535 octets."""
OPTION_BYTES = 8
"""Octets of the head of a comment and of the end of options."""
WRITTEN_AT_ONCE = 1 << 14
Commented = tuple[Frames, pl.Series]
"""A run of frames, and the comment of each; null for none."""


def write_commented(
    path: str | Path, captures: Iterable[tuple[list[str], Iterable[Commented]]]
) -> None:
    """Write captures behind each other: of each the names of its points, and its runs.

    All is one section, for Wireshark names interfaces by the first one's.

    Raises CaptureError when the file cannot be written, ValueError for a frame from before 1970.
    """
    try:
        with Path(path).open("wb") as file:
            file.write(section_block())
            count = 0
            for points, runs in captures:
                known = Interfaces(count)
                for frames, comments in runs:
                    file.writelines(blocks(frames, comments, points, known))
                count += len(known)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be written ({error.strerror})") from error


class Interfaces(dict[tuple[int, int], int]):
    """Numbers of the interfaces of one capture, by point and link type, from `first` on."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.first = first


def blocks(
    frames: Frames, comments: pl.Series, points: list[str], known: Interfaces
) -> Iterator[bytes | memoryview]:
    """A run as blocks, interfaces that are new before it; `known` numbers (point, link type)."""
    if (frames.time_ns < 0).any():
        raise ValueError("a frame lies before 1970")
    pair = frames.interface.astype(np.int64) << 16 | frames.link
    for each in np.unique(pair).tolist():
        point, link = each >> 16, each & 0xFFFF
        if (point, link) not in known:
            known[point, link] = known.first + len(known)
            name = points[point] if point < len(points) else UNNAMED
            yield interface_block(name, link)
    codes = np.array(sorted((point << 16 | link) for point, link in known), np.int64)
    numbers = np.array([known[each >> 16, each & 0xFFFF] for each in codes.tolist()], np.uint32)
    interface = numbers[np.searchsorted(codes, pair)]
    for at in range(0, len(frames), WRITTEN_AT_ONCE):
        part = frames.part(at, at + WRITTEN_AT_ONCE)
        said = comments.slice(at, len(part))
        yield packet_blocks(part, interface[at : at + len(part)], said)


def packet_blocks(frames: Frames, interface: NDArray[np.uint32], comments: pl.Series) -> memoryview:
    """Encode some frames."""
    texts = pa.array(comments.fill_null("").cast(pl.Binary).bin.head(MOST_OCTETS).to_arrow())
    texts = texts.cast(pa.large_binary())
    _, ends, octets = texts.buffers()
    starts = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    told = np.frombuffer(octets, np.uint8) if octets is not None else np.zeros(0, np.uint8)
    sizes = np.diff(starts)
    said = np.where(sizes > 0, (sizes + 3) // 4 * 4 + OPTION_BYTES, 0)
    padded = (frames.captured.astype(np.int64) + 3) // 4 * 4
    words = np.zeros(int((padded + said + PACKET_BYTES).sum()) // 4, np.uint32)
    encode(
        frames.data, frames.offset, frames.captured, frames.length, frames.time_ns, interface,
        told, starts, words, words.view(np.uint8),
    )  # fmt: skip
    return words.data


@kernel
def encode(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    interface: NDArray[np.uint32],
    comments: NDArray[np.uint8],
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    octets: NDArray[np.uint8],
) -> None:
    """Write enhanced packet blocks [4.3] into `words`, zero so far, of which `octets` is a view."""
    at = 0
    for i in range(len(offset)):
        held = int(captured[i])
        size = int(starts[i + 1] - starts[i])
        padded = (held + 3) // 4 * 4
        total = PACKET_BYTES + padded
        if size > 0:
            total += (size + 3) // 4 * 4 + OPTION_BYTES
        words[at], words[at + 1], words[at + 2] = PACKET_BLOCK, total, interface[i]
        words[at + 3], words[at + 4] = time_ns[i] >> 32, time_ns[i] & 0xFFFFFFFF
        words[at + 5], words[at + 6] = held, length[i]
        begin = at * 4 + 28
        for j in range(held):
            octets[begin + j] = data[offset[i] + j]
        if size > 0:
            words[(begin + padded) // 4] = OPTION_COMMENT | size << 16
            for j in range(size):
                octets[begin + padded + 4 + j] = comments[starts[i] + j]
        at += total // 4
        words[at - 1] = total
