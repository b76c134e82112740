"""What a worker of a place knows, as octets in the store, and back.

Snapshots lie in the store and not in a topic: there they stand behind the same fence as rows and
log, need no broker that compacts, and are no larger a message than any other rows.
"""

import io
import json
from collections.abc import Iterator

import polars as pl
import pyarrow as pa
import zstandard

from collector import Repeats
from pipeline.fence import Fence
from pipeline.handed_message import Pieces
from pipeline.meeting import Meeting
from pipeline.snapshot_error import SnapshotError
from pipeline.state_codec import PACKED, StateReader, StateWriter
from pipeline.store import Store
from pipeline.track import Tracker
from pipeline.worker import Worker

PART_BYTES = 4 << 20
LEVEL = 1
"""Of compression: arrays that are nearly empty become small, others cost little time."""
SKIPPED = frozenset({".worker.tracker", ".worker.paths", ".worker.hints", ".worker.rescaled"})
"""The tracker takes snapshots of its own; the others are settings' alone."""


class Kept:
    """All state of a place: its worker or meeting, and what tells repeats (`repeats`)."""

    def __init__(self, worker: Worker | Meeting, repeats: Repeats | Pieces) -> None:
        self.worker = worker
        self.repeats = repeats

    @property
    def tracker(self) -> Tracker | None:
        """What takes snapshots of its own; a meeting has none."""
        return self.worker.tracker if isinstance(self.worker, Worker) else None


def octets_of(kept: Kept, writer: StateWriter, *, full: bool) -> bytes:
    """A snapshot."""
    state = writer.write(kept, full=full)
    buffer = io.BytesIO()
    table = kept.tracker.snapshot(full=full) if kept.tracker else pa.table({})
    with pa.ipc.new_stream(buffer, table.schema, options=PACKED) as stream:
        stream.write_table(table)
    heading = json.dumps([len(state), buffer.tell()]).encode()
    pieces: list[bytes | memoryview] = [
        len(heading).to_bytes(4, "little"),
        heading,
        state,
        buffer.getbuffer(),
    ]
    packer = zstandard.ZstdCompressor(LEVEL, write_checksum=True).compressobj(sum(map(len, pieces)))
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def restore(kept: Kept, reader: StateReader, octets: bytes) -> None:
    """Put a snapshot back, after the one before it. Raises SnapshotError."""
    try:
        whole = memoryview(zstandard.decompress(octets))
        at = 4 + int.from_bytes(whole[:4], "little")
        state, tracker = json.loads(bytes(whole[4:at]))
        table = pa.ipc.open_stream(whole[at + state : at + state + tracker]).read_all()
    except (zstandard.ZstdError, ValueError, pa.ArrowException) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from None
    reader.read(kept, whole[at : at + state])
    if kept.tracker:
        kept.tracker.restore(table)


def parts(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """A snapshot in parts that are no larger than rows should be."""
    for number, at in enumerate(range(0, len(octets), PART_BYTES)):
        yield number, octets[at : at + PART_BYTES]


def write(store: Store, fence: Fence, number: int, octets: bytes) -> None:
    """Keep a snapshot that knows the log up to `number`; it counts once a step says so."""
    for part, body in parts(octets):
        row = pl.DataFrame(
            {
                "place": [fence.place], "number": [number], "epoch": [fence.epoch],
                "part": [part], "body": [body],
            }
        )  # fmt: skip
        token = f"{fence.place}/{number}/{fence.epoch}/{part}"
        store.insert("group_snapshots", row, token, fence)


def read(store: Store, place: str, chain: int) -> Iterator[bytes]:
    """The snapshots of a place from a full one on, in order."""
    rows = store.query("group_chain", place=place, chain=chain)
    for _, found in rows.group_by("number", maintain_order=True):
        yield b"".join(found["body"])
