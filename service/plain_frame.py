"""One frame of Ethernet, IPv4 and TCP, as any mirror brings it: what a decoder is tried with."""

import polars as pl

from collector import Frames

FRAME = bytes.fromhex(
    "02000000000202000000000108004500002800010000400666cd0a0000010a000002"
    "03e80050000000010000000050100200000000000000"
)


def one_frame() -> Frames:
    """`FRAME` as a source gives it."""
    capture = pl.Series([len(FRAME)], dtype=pl.Int32).to_numpy()
    zero = pl.Series([0], dtype=pl.Int64).to_numpy()
    octets = pl.Series(list(FRAME), dtype=pl.UInt8).to_numpy()
    one, none = (pl.Series([n], dtype=pl.UInt16).to_numpy() for n in (1, 0))
    return Frames(octets, zero, capture, capture, zero, one, none, 1)
