"""Damage in bulk: millions of frames from a few thousand, by whole arrays.

Each frame is the beginning of one frame and the end of another (or of the same: a repetition or a
gap), at headers' borders or anywhere; then octets that lead a reader are attacked, bits are
flipped, and the captured or the whole length is cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from generate import Growing
from numpy.typing import NDArray

from collector import Frames

SPLICED, AT_BORDERS, ATTACKED, FLIPPED, CUT, STATED, LENGTHENED = 0.4, 0.7, 0.6, 0.3, 0.2, 0.3, 0.1
"""Shares of frames that each kind of damage befalls; of borders among splices."""
MOST_ATTACKS, MOST_FLIPS = 4, 4
ATTACKS = 6
GAP = 8
"""Octets behind the last frame."""


@dataclass(frozen=True)
class Corpus:
    """Whole frames as arrays; rows of `borders` and `points` are drawn by their counts."""

    data: NDArray[np.uint8]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    link: NDArray[np.uint16]
    border: NDArray[np.int64]
    border_at: NDArray[np.int64]
    borders: NDArray[np.int64]
    point: NDArray[np.int64]
    mask: NDArray[np.uint8]
    point_at: NDArray[np.int64]
    points: NDArray[np.int64]


def starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run begins when runs of so many stand one behind the other."""
    return np.cumsum(counts) - counts


def corpus(frames: Sequence[Growing]) -> Corpus:
    """Arrays of frames that a generator grew."""
    size = np.array([len(frame.octets) for frame in frames], np.int64)
    borders = np.array([len(frame.starts) for frame in frames], np.int64)
    points = np.array([len(frame.points) for frame in frames], np.int64)
    attacked = [point for frame in frames for point in frame.points]
    return Corpus(
        np.frombuffer(b"".join(bytes(frame.octets) for frame in frames), np.uint8),
        starts(size),
        size,
        np.array([frame.link for frame in frames], np.uint16),
        np.array([at for frame in frames for at in frame.starts], np.int64),
        starts(borders),
        borders,
        np.array([at for at, _ in attacked], np.int64),
        np.array([mask for _, mask in attacked], np.uint8),
        starts(points),
        points,
    )


def framed(data: NDArray[np.uint8], size: NDArray[np.int64], link: NDArray[np.uint16]) -> Frames:
    """Frames that stand one behind the other."""
    return Frames(
        data=data,
        offset=starts(size),
        captured=size.astype(np.int32),
        length=size.astype(np.int32),
        time_ns=np.arange(len(size), dtype=np.int64),
        link=link,
        interface=np.zeros(len(size), np.uint16),
        first=1,
    )


def whole(frames: Sequence[Growing]) -> Frames:
    """The frames as they were grown."""
    found = corpus(frames)
    return framed(np.append(found.data, np.zeros(GAP, np.uint8)), found.size, found.link)


def border(source: Corpus, row: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.int64]:
    """An octet of each frame: where a header of it begins, or any."""
    number = draw.integers(0, source.borders[row])
    header = source.border[source.border_at[row] + number]
    anywhere = draw.integers(0, source.size[row] + 1)
    return np.where(draw.random(len(row)) < AT_BORDERS, np.minimum(header, source.size[row]),
                    anywhere)  # fmt: skip


def spliced(
    source: Corpus, count: int, draw: np.random.Generator
) -> tuple[Frames, NDArray[np.int64]]:
    """Frames of two parts, and the frame that each begins with."""
    first = draw.integers(0, len(source.size), count)
    second = np.where(draw.random(count) < 0.5, first, draw.integers(0, len(source.size), count))
    joined = draw.random(count) < SPLICED
    until = np.where(joined, border(source, first, draw), source.size[first])
    behind = np.where(joined, border(source, second, draw), source.size[second])
    lengths = np.stack([until, source.size[second] - behind], axis=1).ravel()
    origins = np.stack([source.offset[first], source.offset[second] + behind], axis=1).ravel()
    index = np.arange(lengths.sum()) + np.repeat(origins - starts(lengths), lengths)
    size = lengths.reshape(-1, 2).sum(axis=1)
    data = np.empty(len(index) + GAP, np.uint8)
    data[:-GAP], data[-GAP:] = source.data[index], 0xFF
    return framed(data, size, source.link[first]), first


def attacked(
    frames: Frames, source: Corpus, first: NDArray[np.int64], draw: np.random.Generator
) -> None:
    """Set octets that lead a reader to the least, the most, one more, one less, or any number."""
    for _ in range(MOST_ATTACKS):
        chosen = (draw.random(len(frames)) < ATTACKED / 2) & (source.points[first] > 0)
        row = np.flatnonzero(chosen)
        number = source.point_at[first[row]] + draw.integers(0, source.points[first[row]])
        at, mask = source.point[number], source.mask[number]
        inside = at < frames.captured[row]
        place = frames.offset[row][inside] + at[inside]
        mask = mask[inside]
        old = frames.data[place]
        any_one = draw.integers(0, 256, len(place)).astype(np.uint8)
        nothing = np.zeros_like(old)
        choices = [nothing, ~nothing, old + np.uint8(1), old - np.uint8(1), any_one, ~old]
        new = np.choose(draw.integers(0, ATTACKS, len(place)), choices)
        frames.data[place] = old & ~mask | new & mask


def flipped(frames: Frames, draw: np.random.Generator) -> None:
    """Flip single bits anywhere."""
    for _ in range(MOST_FLIPS):
        chosen = (draw.random(len(frames)) < FLIPPED / 2) & (frames.captured > 0)
        row = np.flatnonzero(chosen)
        place = frames.offset[row] + draw.integers(0, frames.captured[row])
        frames.data[place] ^= (1 << draw.integers(0, 8, len(row))).astype(np.uint8)


def cut(frames: Frames, draw: np.random.Generator) -> None:
    """End frames early, some of them by the snap length alone; state more than there is."""
    count = len(frames)
    short = draw.integers(0, frames.captured + 1).astype(np.int32)
    frames.captured[:] = np.where(draw.random(count) < CUT, short, frames.captured)
    stated = draw.random(count) < STATED
    frames.length[:] = np.where(stated, frames.length, frames.captured)
    more = (draw.random(count) < LENGTHENED) * draw.integers(0, 1 << 31, count)
    frames.length[:] = np.maximum(frames.length, np.where(draw.random(count) < 0.1, more, 0))


def mutated(source: Corpus, count: int, seed: int) -> Frames:
    """So many damaged frames."""
    draw = np.random.default_rng(seed)
    frames, first = spliced(source, count, draw)
    attacked(frames, source, first, draw)
    flipped(frames, draw)
    cut(frames, draw)
    frames.data.flags.writeable = False
    return frames


def packets(frames: Frames) -> list[bytes]:
    """The captured octets of each frame."""
    data = frames.data.tobytes()
    ends = frames.offset + frames.captured
    return [data[start:end] for start, end in zip(frames.offset, ends, strict=True)]
