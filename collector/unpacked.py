"""How large an Arrow IPC stream becomes as it is read, by what it says of itself.

A message of a broker has at most a megabyte, of which compression makes any number of gigabytes.
Each message of a stream says in its metadata (a FlatBuffer, `Message.fbs` of Arrow's columnar
format) where its buffers lie, and a compressed one begins with the octets that it becomes.
"""

import struct
from collections.abc import Iterator

import pyarrow as pa

MOST_BYTES = 1 << 29
"""Octets that may become of a stream. All columns of 65,536 frames need half of it."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
"""Kinds of messages with a body (`MessageHeader`)."""
HEADER_TYPE, HEADER = 1, 2
"""Fields of a message."""
LENGTH, NODES, BUFFERS, COMPRESSION = 0, 1, 2, 3
"""Fields of a record batch: its rows, a node for each column, its buffers, how they are packed."""
DATA = 1
"""The field of a dictionary batch that is its record batch."""
WORD = 8
AS_IT_IS = -1
"""Said in place of a size where a buffer of a compressed batch is not compressed."""


class Table:
    """A table of a FlatBuffer. struct.error where it points out of its octets."""

    def __init__(self, octets: memoryview, at: int) -> None:
        self.octets, self.at = octets, at

    def place(self, field: int) -> int | None:
        """Where a field's value lies; None: it has its default."""
        [back] = struct.unpack_from("<i", self.octets, self.at)
        layout = self.at - back
        [size] = struct.unpack_from("<H", self.octets, layout)
        at = 4 + 2 * field
        [shift] = struct.unpack_from("<H", self.octets, layout + at) if at < size else (0,)
        return self.at + shift if shift else None

    def pointed(self, field: int) -> int | None:
        """Where what a field refers to begins."""
        if (place := self.place(field)) is None:
            return None
        [further] = struct.unpack_from("<I", self.octets, place)
        return place + int(further)

    def table(self, field: int) -> "Table | None":
        """A table within this one."""
        place = self.pointed(field)
        return None if place is None else Table(self.octets, place)


def unpacked_bytes(stream: bytes) -> int:
    """Octets that the columns of a stream need when it is read. ValueError where it is none."""
    try:
        return sum(map(_needed, pa.ipc.MessageReader.open_stream(stream)))
    except (pa.ArrowException, struct.error, IndexError, OSError) as error:
        raise ValueError(str(error).partition("\n")[0]) from None


def _needed(message: pa.ipc.Message) -> int:
    """Octets of the columns of one message: of its buffers, and of what has none at least a word.

    A column of nulls has no buffer, however long it is.
    """
    metadata = memoryview(message.metadata)
    [root] = struct.unpack_from("<I", metadata, 0)
    told = Table(metadata, root)
    kind, batch = told.place(HEADER_TYPE), told.table(HEADER)
    if batch is not None and kind is not None and metadata[kind] == DICTIONARY_BATCH:
        batch = batch.table(DATA)
    elif kind is None or metadata[kind] != RECORD_BATCH:
        return 0
    if batch is None:
        return 0
    length, nodes = batch.place(LENGTH), batch.pointed(NODES)
    rows, columns = 0, 0
    if length is not None and nodes is not None:
        [rows] = struct.unpack_from("<q", metadata, length)
        [columns] = struct.unpack_from("<I", metadata, nodes)
    return max(sum(_buffers(batch, message.body)), rows * columns * WORD)


def _buffers(batch: Table, body: pa.Buffer | None) -> Iterator[int]:
    """Octets of each buffer of a record batch."""
    if (vector := batch.pointed(BUFFERS)) is None:
        return
    octets, packed = memoryview(body or b""), batch.place(COMPRESSION) is not None
    [count] = struct.unpack_from("<I", batch.octets, vector)
    for number in range(count):
        begin, size = struct.unpack_from("<qq", batch.octets, vector + 4 + 16 * number)
        if packed and size > 0:
            [becomes] = struct.unpack_from("<q", octets, begin)
            size = size - WORD if becomes == AS_IT_IS else becomes
        yield max(size, 0)
