"""Files that an earlier life of this program has followed: what is stored of them counts once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from collector.frame import Frames


class Kept(NamedTuple):
    """What is stored of one life of a file."""

    frame: int = 0
    """The last frame whose row is."""
    before_ns: int = 0
    """Until when the intervals have ended that are."""


NOTHING = Kept()
Known = Callable[[str, int, Frames], Kept]
"""What is stored of a file, by the name of its source, the time of its first frame, and frames that
it begins with: another file may have had its name."""


def nothing_kept(_source: str, _epoch: int, _begin: Frames) -> Kept:
    """Of no file anything is stored."""
    return NOTHING


def has_frame(frames: Frames, number: int, time_ns: int) -> bool:
    """Whether a frame of this number is among them and came at this time."""
    at = number - frames.first
    return 0 <= at < len(frames) and int(frames.time_ns[at]) == time_ns


def behind(frames: Frames, kept: Kept) -> Frames:
    """The frames from the first one on that is not stored, or whose interval is not."""
    numbers = np.arange(frames.first, frames.first + len(frames))
    stored = (numbers <= kept.frame) & (frames.time_ns < kept.before_ns)
    return frames.part(len(frames) if stored.all() else int(stored.argmin()), len(frames))
