"""One header of a frame: its fields, its length and its checks, read by the arrays of a graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.graph import Graph
from collector.kernel import Record, inlined
from collector.wire.table import OCTET, WORD_LIMIT


@inlined
def signed(value: Any) -> Any:
    """An unsigned 64-bit number as a signed one: the two together would become a float."""
    return np.int64(value)


@inlined
def word(data: NDArray[np.uint8], at: int) -> Any:
    """Eight octets as one number, the first one highest; this compiles to a single load."""
    start = np.uint64(at)
    value = np.uint64(data[start]) << np.uint64(56)
    value |= np.uint64(data[start + np.uint64(1)]) << np.uint64(48)
    value |= np.uint64(data[start + np.uint64(2)]) << np.uint64(40)
    value |= np.uint64(data[start + np.uint64(3)]) << np.uint64(32)
    value |= np.uint64(data[start + np.uint64(4)]) << np.uint64(24)
    value |= np.uint64(data[start + np.uint64(5)]) << np.uint64(16)
    value |= np.uint64(data[start + np.uint64(6)]) << np.uint64(8)
    return value | np.uint64(data[start + np.uint64(7)])


@inlined
def read(data: NDArray[np.uint8], at: int, field: Record) -> Any:
    """Value of one field of the header that starts at octet `at`; data holds eight or more."""
    start = at + field.first
    # The last field of all is read by the last word of all.
    back = max(start + WORD_LIMIT - data.size, 0)
    return word(data, start - back) >> np.uint64(field.shift - OCTET * back) & field.mask


@inlined
def octets(data: NDArray[np.uint8], at: int, size: Record) -> Any:
    """Octets by a length rule; one without a unit is a constant."""
    if size.unit == 0:
        return size.add
    value = read(data, at, size.field)
    if size.flags != 0:
        bits = value & size.flags
        value = np.uint64(0)
        while bits != 0:
            bits &= bits - np.uint64(1)
            value += np.uint64(1)
    return signed(value) * size.unit + size.add


@inlined
def judge(data: NDArray[np.uint8], at: int, node: Record, graph: Graph) -> Any:
    """0 when the header's checks hold, else the reason's code; NONE to skip the header."""
    for row in range(node.check0, node.check1):
        check = graph.checks[row]
        value = read(data, at, check.field)
        if value < check.low or value > check.high:
            return check.reason
    return 0


@inlined
def keep(
    data: NDArray[np.uint8], at: int, node: Record, graph: Graph, out: NDArray[np.uint64], row: int
) -> None:
    """Write the header's kept fields and constants."""
    for number in range(node.field0, node.field1):
        field = graph.fields[number]
        out[field.column, row] = read(data, at, field) | field.plus
    for number in range(node.mark0, node.mark1):
        mark = graph.marks[number]
        out[mark.column, row] = mark.value
