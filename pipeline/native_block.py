"""A frame as one block of ClickHouse's Native format: the engine's own columns, one after another.

The engine copies such columns as they are. Of Arrow's it builds its own value by value, which takes
the most of what an insert costs but for compressing. The layout, numbers in little-endian order
(ClickHouse, docs/en/interfaces/formats/Native; without a protocol revision):

    columns (LEB128), rows (LEB128), then of each column: name, type, values
    text                  length (LEB128), octets
    Nullable(T)           an octet a row, 1: null; then T, of which nulls have any value
    Array(T)              the end of each row's values (UInt64), then all values
    Tuple(T, ...)         the values of each element
    LowCardinality(T)     version, 1 (UInt64); flags and width of a place (UInt64); texts and how
                          many (UInt64); places of rows and how many (UInt64). Of Nullable(T) the
                          first text stands for null.

The engine turns a column into the type that its table has, as it does for any format. A column
without nulls is told as one that knows none.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

KINDS = {
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.uint8(): "UInt8",
    pa.uint16(): "UInt16",
    pa.uint32(): "UInt32",
    pa.uint64(): "UInt64",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.bool_(): "Bool",
    pa.large_string(): "String",
    pa.large_binary(): "String",
    pa.null(): "UInt8",
}
"""ClickHouse types of Arrow types that have no types inside."""
SHARED_DICTIONARY = 1
"""Version of the layout of words."""
OWN_WORDS = 1 << 9 | 1 << 10
"""Flags: a block brings its words, and they replace those of the block before."""
WIDTHS = {1: 0, 2: 1, 4: 2, 8: 3}
"""How an octet tells the width of a place."""
SEVEN_BITS = 7
Part = bytes | NDArray[Any]


def block(frame: pl.DataFrame) -> Iterator[memoryview]:
    """The parts of a frame's block, whose octets follow each other."""
    yield memoryview(length(frame.width) + length(frame.height))
    for column in frame.get_columns():
        array = column.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
        kind, values = told(array)
        yield memoryview(text(column.name) + text(kind))
        for part in values:
            if len(part):
                yield (part.data if isinstance(part, np.ndarray) else memoryview(part)).cast("B")


def told(array: pa.Array) -> tuple[str, list[Part]]:
    """Type and values of an array. Raises TypeError for types that no table has."""
    if pa.types.is_dictionary(array.type):
        return words(array)
    if pa.types.is_large_list(array.type):
        return lists(array)
    if pa.types.is_struct(array.type):
        inner = [told(each) for each in array.flatten()]
        return (
            f"Tuple({', '.join(kind for kind, _ in inner)})",
            [part for _, values in inner for part in values],
        )
    if array.type not in KINDS:
        raise TypeError(f"columns of {array.type} are not stored")
    kind, values = KINDS[array.type], list(plain(array))
    if not array.null_count:
        return kind, values
    return f"Nullable({kind})", [nulls(array), *values]


def plain(array: pa.Array) -> Iterator[Part]:
    """Values of numbers, of truths as octets, and texts, of which nulls are empty."""
    if pa.types.is_null(array.type):
        yield np.zeros(len(array), np.uint8)
    elif pa.types.is_boolean(array.type):
        yield bits(np.frombuffer(array.buffers()[1], np.uint8), array)
    elif pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type):
        yield texts(array)
    else:
        width = array.type.bit_width // 8
        octets = np.frombuffer(array.buffers()[1], np.uint8)
        yield octets[array.offset * width : (array.offset + len(array)) * width]


def numbers(array: pa.Array) -> NDArray[Any]:
    """Whole numbers of an array, anything where one is null."""
    [octets] = plain(array)
    return np.frombuffer(octets, array.type.to_pandas_dtype())


def nulls(array: pa.Array) -> NDArray[np.uint8]:
    """An octet for each value: 1 where there is none."""
    if pa.types.is_null(array.type):
        return np.ones(len(array), np.uint8)
    return bits(~np.frombuffer(array.buffers()[0], np.uint8), array)


def bits(packed: NDArray[np.uint8], array: pa.Array) -> NDArray[np.uint8]:
    """The bits of an array's rows as octets."""
    begin = array.offset // 8
    octets = packed[begin : -(-(array.offset + len(array)) // 8)]
    first = array.offset - 8 * begin
    return np.unpackbits(octets, bitorder="little")[first : first + len(array)]


def lists(array: pa.Array) -> tuple[str, list[Part]]:
    """Arrays; a null is an empty one."""
    counted = array.value_lengths()
    lengths = numbers(counted)
    if counted.null_count:
        lengths = np.where(nulls(counted), 0, lengths)
    kind, values = told(array.flatten())
    return f"Array({kind})", [np.cumsum(lengths, dtype=np.uint64), *values]


def words(array: pa.DictionaryArray) -> tuple[str, list[Part]]:
    """Texts of which there are few different ones."""
    places = numbers(array.indices)
    known = array.dictionary.cast(pa.large_string())
    kind = "String"
    if array.null_count:
        kind = "Nullable(String)"
        known = pa.concat_arrays([nothing().cast(pa.large_string()), known])
        places = np.where(nulls(array.indices), 0, places.astype(np.uint32) + 1)
    width = WIDTHS[places.itemsize]
    head = np.array([SHARED_DICTIONARY, OWN_WORDS | width, len(known)], np.uint64)
    rows = np.array([len(array)], np.uint64)
    return f"LowCardinality({kind})", [head, texts(known), rows, places]


def texts(array: pa.Array) -> NDArray[np.uint8]:
    """Each text behind its length."""
    ends = np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]
    lengths = np.diff(ends)
    # As many octets as its number of sevens of bits, all but the last with the upper bit set.
    sevens = np.maximum(1, -(-np.frexp(lengths.astype(np.float64))[1] // SEVEN_BITS))
    first = np.concatenate([[0], np.cumsum(sevens)])
    place = np.arange(first[-1]) - np.repeat(first[:-1], sevens)
    octets = np.repeat(lengths, sevens) >> (SEVEN_BITS * place) & 0x7F
    octets |= (place + 1 < np.repeat(sevens, sevens)) << SEVEN_BITS
    told = octets_of(first, octets.astype(np.uint8))
    letters = octets_of(ends, array.buffers()[2] or b"")
    whole = pc.binary_join_element_wise(told, letters, nothing()[0])
    end = int(ends[-1] - ends[0] + first[-1])
    return np.frombuffer(whole.buffers()[2] or b"", np.uint8)[:end]


def octets_of(ends: NDArray[np.int64], octets: NDArray[np.uint8] | pa.Buffer | bytes) -> pa.Array:
    """Pieces of some octets; element n ends at `ends[n + 1]`."""
    held = octets if isinstance(octets, pa.Buffer) else pa.py_buffer(octets)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), held]
    )


def nothing() -> pa.Array:
    """One piece without octets; `pa.array` and `pa.scalar` would load pandas to make it."""
    return octets_of(np.zeros(2, np.int64), b"")


def length(number: int) -> bytes:
    """A number as LEB128."""
    octets = bytearray()
    while number >> SEVEN_BITS:
        octets.append(number & 0x7F | 0x80)
        number >>= SEVEN_BITS
    return bytes([*octets, number])


def text(told: str) -> bytes:
    """One text."""
    octets = told.encode()
    return length(len(octets)) + octets
