"""A run of frames read by the tables: layouts recognised, columns filled, nulls told apart.

Each frame ends in exactly one status. A column is null in a row when no header of its frame wrote
it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.arena import Arena
from collector.arrange import FACT, arrange
from collector.columns import Columns
from collector.frame import Frames
from collector.gather import BLOCK, gather
from collector.graph import build
from collector.layout import COUNT, MOST_LAYOUTS, forget, layouts
from collector.reading import MOST_ROWS
from collector.recognise import KNOWN, UNKNOWN, recognise
from collector.script import SCRIPT
from collector.settings import CollectorSettings
from collector.status import CODE
from collector.walked import Rows, Walked, finished, joined, padded
from collector.wire.place import WORD_LIMIT

BY_LINK = np.empty(0, np.int32)
"""The link types say which headers frames begin with."""
TOO_MANY_ROWS = CODE["too_many_rows"]


class Walk:
    """Reads frames by the tables that settings ask for; remembers the layouts that it has met."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.plan = build(settings)
        self.pool = layouts()
        self.scratch = np.zeros(1, SCRIPT)
        self.arena = Arena()
        self.columns = Columns(self.plan, MOST_LAYOUTS, self.arena)
        self.blocks = np.empty((2, BLOCK), np.int64)

    def walk(self, frames: Frames) -> Walked:
        """What these frames say."""
        frames = padded(frames, WORD_LIMIT)
        found = self._rows(frames, BY_LINK)
        status, parts = found.status, [found]
        while len(rest := found.rest) and len(parts) < MOST_ROWS:
            above, row = found, found.row[rest]
            found = self._rows(above.beginning(frames), above.rest_header[rest])
            fresh = status[row] == 0
            status[row[fresh]] = found.status[fresh]
            found = replace(found, row=row[found.row], **self._deeper(found, above))
            found = found.with_columns_of(above, self.plan.inherited)
            parts.append(found)
        if len(rest):
            parts[-1] = found.left(TOO_MANY_ROWS)
            more = found.row[rest]
            status[more[status[more] == 0]] = TOO_MANY_ROWS
        return finished([part.settled(self.plan.inherited) for part in parts], status)

    @staticmethod
    def _deeper(found: Rows, above: Rows) -> dict[str, Any]:
        """Where more begins and ends behind these rows, from the start of the whole frame."""
        begun = above.rest_at[above.rest][found.row]
        return {
            "rest_at": np.where(found.rest_at > 0, found.rest_at + begun, 0),
            "rest_end": found.rest_end + begun,
        }

    def _rows(self, frames: Frames, first: NDArray[np.int32]) -> Rows:
        """The rows of frames that begin with the headers `first`."""
        size, done = len(frames), 0
        pieces: list[Rows] = []
        while done < size or not pieces:
            part, left = slice(done, size), size - done
            number, payload, ends = self.arena.arrays(left, np.int32, np.uint32, np.uint64)
            rest = ends.view(np.int32).reshape(2, left)
            count = int(recognise(
                frames.data, frames.offset[part], frames.captured[part], frames.length[part],
                frames.link[part], first[part], self.plan.graph, self.pool, self.scratch,
                number, payload, rest, np.zeros(3, np.int64),
            ))  # fmt: skip
            piece = self._read(frames.data, frames.offset[done : done + count], number[:count],
                               payload[:count], rest[:, :count])  # fmt: skip
            pieces.append(replace(piece, row=piece.row + done) if done else piece)
            done += count
            if done < size:
                forget(self.pool)
                self.columns.learnt = 0
        return joined(pieces)

    def _read(
        self,
        data: NDArray[np.uint8],
        offset: NDArray[np.int64],
        number: NDArray[np.int32],
        payload: NDArray[np.uint32],
        rest: NDArray[np.int32],
    ) -> Rows:
        """The columns of frames whose layouts are known."""
        size, layouts = len(number), int(self.pool["n"][0][COUNT])
        table = self.pool["layouts"][0][:layouts]
        self.columns.learn(self.pool, layouts)
        first = np.empty(layouts + 1, np.int64)
        layers, order, place, row, ended, status, hops = self.arena.arrays(
            size, np.uint64, np.int32, np.int32, np.int32, np.uint8, np.uint8, np.uint8
        )
        facts = np.zeros(layouts, FACT)
        for name in ("layers", "status", "known", "hops"):
            facts[name] = table[name]
        count = int(arrange(number, payload, facts, first, order, place, row, ended, status,
                            layers, hops))  # fmt: skip
        row, number = row[:count], number[:count]
        present = np.flatnonzero((np.diff(first) > 0) & (table["known"] != UNKNOWN))
        room = self.columns.room(present, count)
        gather(
            data, offset, order, place, first, self.pool, room.base, room.octets, room.memory,
            room.memory.view(np.uint16), room.memory.view(np.uint32), room.memory.view(np.uint64),
            *self.blocks,
        )  # fmt: skip
        raw = self.columns.frame(room, number, present, {
            "status": status[:count], "layers": layers[:count],
            "hop_count": hops[:count], "payload_bytes": payload[:count],
        })  # fmt: skip
        told = (table["known"][present] == KNOWN).all()
        known = np.broadcast_to(np.True_, count) if told else table["known"][number] == KNOWN
        if not table["rest"][present].any():
            nowhere = np.broadcast_to(np.int32(0), count)
            return Rows(raw, row, ended, known, nowhere, nowhere, nowhere)
        headers = table["rest"].astype(np.int32)[number]
        at = np.where(headers != 0, rest[0][row], 0)
        return Rows(raw, row, ended, known, at, rest[1][row], headers)
