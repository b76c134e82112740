"""Lengths of intervals: which are judged, and which one answers a question about a window."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pipeline.unit import MILLISECOND

LEAST_MS, MOST_MS = 0.001, 60_000.0
"""Of intervals. Questions look one minute back for those that reach into their window."""
MOST_LENGTHS = 8
PARTS = 10
"""Intervals that the window of a question has at least of the length that answers it. Of lengths
that give so many the longest is taken, which is the least to read; a length that is asked for by
name is always taken."""


def lengths_ns(told_ms: float | Sequence[float]) -> tuple[int, ...]:
    """Lengths as settings tell them, in ns, the shortest first.

    Each must be a whole multiple of the one before, so that its sums are sums of those. ValueError
    says what is wrong.
    """
    named = list(told_ms) if isinstance(told_ms, Sequence) else [told_ms]
    if not 0 < len(named) <= MOST_LENGTHS:
        raise ValueError(f"should be one length or a list of at most {MOST_LENGTHS}")
    for each in named:
        if not each >= LEAST_MS:
            raise ValueError(f"should be greater than or equal to {LEAST_MS:g}")
        if each > MOST_MS:
            raise ValueError(f"should be less than or equal to {MOST_MS:g}")
    lengths = sorted({round(each * MILLISECOND) for each in named})
    for short, long in pairwise(lengths):
        if long % short:
            raise ValueError(
                f"{long / MILLISECOND:g} is no whole multiple of {short / MILLISECOND:g}"
            )
    return tuple(lengths)


def length_bounds(window_ns: int, asked_ns: int | None) -> dict[str, int]:
    """The least and the largest length that suits a question, as parameters of its query."""
    if asked_ns is None:
        return {"least_ns": 0, "most_ns": max(window_ns // PARTS, 1)}
    return {"least_ns": asked_ns, "most_ns": asked_ns}


def fitting(lengths: Iterable[int], window_ns: int, asked_ns: int | None = None) -> int | None:
    """The length that answers; None: the one that was asked for is not there.

    It is the longest that suits the window, or else the shortest (`sql/part/fitting.sql` says the
    same).
    """
    known = sorted(lengths)
    least, most = length_bounds(window_ns, asked_ns).values()
    suit = [length for length in known if least <= length <= most]
    if suit:
        return suit[-1]
    return known[0] if known and asked_ns is None else None
