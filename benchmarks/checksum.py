"""A sum over every octet of every column: none can be left unmade, and all runs must agree."""

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

OCTET = 8
WRAP = (1 << 64) - 1


class Checksum:
    """Wrapping sum of the values' words and of the null bitmaps, column by column.

    A text that many batches share (the name of the source) lies in one buffer that nobody changes:
    its sum is taken once for each extent.
    """

    def __init__(self) -> None:
        """Nothing is summed yet."""
        self.total = 0
        self.texts: dict[tuple[int, int], tuple[pa.Buffer, int]] = {}

    def add(self, frame: pl.DataFrame) -> None:
        """Sum a batch."""
        for column in frame.to_arrow(compat_level=pl.CompatLevel.newest()).itercolumns():
            array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
            bitmap, values = array.buffers()[:2]
            if pa.types.is_string_view(array.type):
                self.total += self._text(values, len(array))
            else:
                bits = array.type.bit_width
                start, octets = array.offset * bits // OCTET, len(array) * bits // OCTET
                self.total += words(values, start, octets)
            if bitmap is not None:
                self.total += words(bitmap, array.offset // OCTET, len(array) // OCTET)
        self.total &= WRAP

    def _text(self, values: pa.Buffer, rows: int) -> int:
        """Sum of the views of a text column."""
        known = self.texts.get((values.address, rows))
        if known is None:
            # The buffer is kept, so that no other can come to lie at its address.
            known = self.texts[values.address, rows] = values, words(values, 0, 2 * OCTET * rows)
        return known[1]


def words(buffer: Any, start: int, octets: int) -> int:
    """Sum of so many octets of a buffer, eight at a time."""
    part = np.frombuffer(buffer, np.uint8)[start : start + octets]
    whole = octets // OCTET * OCTET
    total = int(part[:whole].view(np.uint64).sum())
    return total if whole == octets else total + int(part[whole:].sum(dtype=np.uint64))
