"""Timestamps of every resolution become nanoseconds exactly."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from collector.kernel import borrowing
from collector.resolution import LATEST_NS, RESOLUTION, nanoseconds, resolution

MICROS = 1_700_000_000_123_456
NANOS = 1_700_000_000_123_456_789

TICKS = sorted({
    max(0, min(2**64 - 1, ticks + near))
    for ticks in (0, 2**31, 2**32, 2**33, 2**63, 2**64, LATEST_NS, 10**9, 10**10, NANOS, MICROS)
    for near in (-1, 0, 1)
})  # fmt: skip

OFFSETS = (0, 1_700_000_000, -9_223_372_035, -9_223_372_036, -9_223_372_037, -(2**63), 2**63 - 1)


def exactly(ticks: int, code: int, offset_s: int) -> int:
    """Nanoseconds of a timestamp, by rational arithmetic."""
    unit = Fraction(1, (2 if code & 0x80 else 10) ** (code & 0x7F))
    whole = int(ticks * unit * 10**9) + offset_s * 10**9
    return max(-LATEST_NS, min(LATEST_NS, whole))


@borrowing
def convert(ticks: NDArray[np.uint64], units: NDArray[np.void], times: NDArray[np.int64]) -> None:
    """Nanoseconds of timestamps of one clock."""
    for i in range(len(ticks)):
        times[i] = nanoseconds(ticks[i], units, 0)


def converted(ticks: list[int], code: int, offset_s: int) -> list[int]:
    units = np.array([resolution(code, offset_s)], np.dtype(RESOLUTION))
    times = np.zeros(len(ticks), np.int64)
    convert(np.array(ticks, np.uint64), units, times)
    return times.tolist()


def check(code: int, offset_s: int, ticks: list[int]) -> None:
    assert converted(ticks, code, offset_s) == [exactly(t, code, offset_s) for t in ticks]


@pytest.mark.parametrize("exponent", [0, 1, 3, 6, 8, 9, 10, 12, 15, 19, 20, 28, 29, 32, 64, 127])
@pytest.mark.parametrize("binary", [0, 0x80])
@pytest.mark.parametrize("offset_s", OFFSETS)
def test_the_corners_of_every_clock(exponent: int, binary: int, offset_s: int) -> None:
    check(exponent | binary, offset_s, TICKS)


@settings(max_examples=500, deadline=None)
@given(
    st.integers(0, 255),
    st.one_of(st.just(0), st.integers(-(10**10), 10**10), st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.integers(0, 2**64 - 1), min_size=1),
)
@example(0x80 | 63, 0, [2**64 - 1])
def test_any_clock(code: int, offset_s: int, ticks: list[int]) -> None:
    check(code, offset_s, ticks)


def test_known_clocks() -> None:
    check(6, 0, [MICROS])
    assert converted([(5 << 20) + 3], 0x80 | 20, 1_600_000_000) == [1_600_000_005_000_002_861]
