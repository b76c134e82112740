"""Units of settings, files and telemetry in the units that columns have (ns, bit/s, bytes)."""

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
DAY = 86_400 * SECOND
GIGABIT = 1_000_000_000
BITS = 8
"""Bits of a byte."""
