"""Resolution: how the 64-bit timestamps of one pcapng interface become nanoseconds, exactly.

Source: draft-ietf-opsawg-pcapng, section 4.2 (options if_tsresol and if_tsoffset): ticks of 10^-v
or 2^-v seconds since 1970, to which an interface may add a number of seconds. Everything is integer
arithmetic; what is finer than a nanosecond is dropped (floor), and a time before 1677 or after
2262, which 64 bits of nanoseconds cannot hold, becomes -LATEST_NS or LATEST_NS.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from collector.kernel import inlined

LATEST_NS: Final = 9_223_372_035_999_999_999
"""End of the last second of which every nanosecond fits in 64 bits."""

WORD_BITS: Final = 64
HALF_BITS: Final = 32
LATEST_SECOND: Final = LATEST_NS // 1_000_000_000

RESOLUTION: Final = [
    ("binary", np.uint64),
    ("exponent", np.uint64),
    ("per_second", np.uint64),
    ("multiplier", np.uint64),
    ("divisor", np.uint64),
    ("direct", np.uint64),
    ("offset_s", np.int64),
]
"""Fields of a resolution. Ticks below `direct` are only multiplied. A `per_second` or `divisor` of
0 is a power of ten beyond 64 bits, larger than any number of ticks."""


def resolution(code: int, offset_s: int) -> tuple[int, ...]:
    """Make a resolution of if_tsresol (one octet, high bit = power of two) and if_tsoffset."""
    binary, exponent = code >> 7, code & 0x7F
    per_second = 10**exponent
    divisor = 10 ** max(exponent - 9, 0)
    direct = not binary and divisor == 1 and offset_s == 0
    return (
        binary,
        exponent,
        per_second if per_second < 1 << WORD_BITS else 0,
        10 ** max(9 - exponent, 0),
        divisor if divisor < 1 << WORD_BITS else 0,
        LATEST_SECOND * per_second if direct else 0,
        offset_s,
    )


@inlined
def nanoseconds(ticks: np.uint64, units: NDArray[np.void], i: int) -> np.int64:
    """Convert a timestamp by the resolution in record `i`."""
    unit = units[i]
    if ticks < unit["direct"]:
        return np.int64(ticks * unit["multiplier"])
    if unit["binary"] != 0:
        seconds, fraction = split_binary(ticks, unit["exponent"])
    else:
        per_second, divisor = unit["per_second"], unit["divisor"]
        seconds = ticks // per_second if per_second != 0 else np.uint64(0)
        rest = ticks - seconds * per_second
        fraction = rest * unit["multiplier"] // divisor if divisor != 0 else np.uint64(0)
    return shifted(seconds, fraction, unit["offset_s"])


@inlined
def split_binary(ticks: np.uint64, exponent: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Split ticks of 2^-exponent seconds into whole seconds and nanoseconds."""
    half, billion = np.uint64(HALF_BITS), np.uint64(1_000_000_000)
    seconds = ticks >> exponent if exponent < WORD_BITS else np.uint64(0)
    rest = ticks - (seconds << exponent) if exponent < WORD_BITS else ticks
    if exponent < HALF_BITS:
        return seconds, (rest * billion) >> exponent
    # rest * billion takes up to 94 bits: its low 32 are dropped by every shift of 32 or more.
    low = rest & np.uint64(0xFFFFFFFF)
    upper = (rest >> half) * billion + ((low * billion) >> half)
    shift = exponent - half
    return seconds, upper >> shift if shift < WORD_BITS else np.uint64(0)


@inlined
def shifted(seconds: np.uint64, fraction: np.uint64, offset_s: np.int64) -> np.int64:
    """Add an offset to an unsigned number of seconds and give nanoseconds, bounded."""
    latest = np.uint64(LATEST_SECOND)
    if offset_s < 0:
        # -(offset + 1) fits where -offset may not.
        back = np.uint64(-(offset_s + 1)) + np.uint64(1)
        if seconds < back:
            if back - seconds > latest + np.uint64(1):
                return np.int64(-LATEST_NS)
            whole = np.int64(back - seconds) * 1_000_000_000
            return max(np.int64(fraction) - whole, np.int64(-LATEST_NS))
        total = seconds - back
    else:
        if seconds > latest or np.uint64(offset_s) > latest:
            return np.int64(LATEST_NS)
        total = seconds + np.uint64(offset_s)
    if total > latest:
        return np.int64(LATEST_NS)
    return np.int64(total) * 1_000_000_000 + np.int64(fraction)
