"""What the walk found in a run of frames, and how what it found piece by piece is joined."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.arrange import reach
from collector.frame import Frames
from collector.register import HANDED


@dataclass(frozen=True, slots=True)
class Walked:
    """The rows of a run.

    `raw` has a row for each flow that is known, in frame order: columns by the names of the wire
    tables, null where no header wrote them (those of the flow's key 0), and `status`, `layers`,
    `hop_count`, `payload_bytes`; `row` is the place of each row's frame in the run; `status` how
    each frame of the run ended.
    """

    raw: pl.DataFrame
    row: NDArray[np.int32]
    status: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Rows(Walked):
    """Rows that are not all of a run: some only hand columns on, some say where more begins.

    `known` tells real rows; `rest_at` is the octet of the frame where another row begins (0: none)
    with the header `rest_header`, and `rest_end` where what holds it ends.
    """

    known: NDArray[np.bool_]
    rest_at: NDArray[np.int32]
    rest_end: NDArray[np.int32]
    rest_header: NDArray[np.int32]

    @property
    def rest(self) -> NDArray[np.int64]:
        """Rows behind which another one begins."""
        return np.flatnonzero(self.rest_at > 0)

    def with_columns_of(self, parent: Self, names: Sequence[str]) -> Self:
        """Take over what the rows hand on behind which these began, where they hand on nothing."""
        rest = parent.rest
        above = rest[np.searchsorted(parent.row[rest], self.row)]
        own = [HANDED + name for name in names]
        handed = parent.raw.select(name for name in own if name in parent.raw.columns)[above]
        return replace(self, raw=filled(self.raw, handed, own))

    def left(self, code: int) -> Self:
        """Rows behind which another one begins end so, unless they ended otherwise."""
        status, rest = self.raw["status"].to_numpy().copy(), self.rest
        status[rest[status[rest] == 0]] = code
        return replace(self, raw=self.raw.with_columns(pl.Series("status", status)))

    def settled(self, names: Sequence[str]) -> Self:
        """Rows that say none of these columns themselves have what is handed on."""
        known = [name for name in names if HANDED + name in self.raw.columns]
        handed = self.raw.select(pl.col(HANDED + name).alias(name) for name in known)
        return replace(self, raw=filled(self.raw, handed, names))

    def beginning(self, frames: Frames) -> Frames:
        """The frames as they begin where the rests of these rows do."""
        rest = self.rest
        row, at, end = self.row[rest], self.rest_at[rest], self.rest_end[rest]
        return replace(
            frames,
            offset=frames.offset[row] + at,
            captured=np.maximum(np.minimum(frames.captured[row], end) - at, 0),
            length=end - at,
            link=frames.link[row],
            time_ns=frames.time_ns[row],
            interface=frames.interface[row],
        )


def filled(raw: pl.DataFrame, others: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns of others where a row has none of those that are named."""
    if not others.columns:
        return raw
    mine = [name for name in names if name in raw.columns]
    if not mine:
        return raw.hstack(others)
    bare = raw.select(pl.all_horizontal(pl.col(mine).is_null())).to_series()
    return raw.with_columns(
        raw[name].zip_with(~bare, others[name]) if name in mine else others[name].set(~bare, None)
        for name in others.columns
    )


def joined(pieces: Sequence[Rows]) -> Rows:
    """Pieces of a run, one behind the other."""
    if len(pieces) == 1:
        return pieces[0]
    return Rows(
        pl.concat([piece.raw for piece in pieces], how="diagonal_relaxed"),
        *(
            np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("row", "status", "known", "rest_at", "rest_end", "rest_header")
        ),
    )


def finished(parts: Sequence[Rows], status: NDArray[np.uint8]) -> Walked:
    """The real rows in frame order; what one frame says more than once stays in its order."""
    found = joined(parts)
    raw, row = found.raw, found.row
    if not found.known.all():
        raw, row = raw.filter(pl.Series(found.known)), row[found.known]
    if len(parts) > 1:
        order = np.argsort(row, kind="stable")
        raw, row = raw[order], row[order]
    return Walked(raw.drop(pl.selectors.starts_with(HANDED)), row, status)


def padded(frames: Frames, octets: int) -> Frames:
    """The same frames with so many octets behind the last one, so that whole words can be read."""
    if len(frames) == 0:
        return frames
    ends = np.empty(2, np.int64)
    reach(frames.offset, frames.captured, ends)
    first, last = ends.tolist()
    if last + octets <= frames.data.size:
        return frames
    data = np.zeros(last - first + octets, np.uint8)
    data[: last - first] = frames.data[first:last]
    data.flags.writeable = False
    return replace(frames, data=data, offset=frames.offset - first)
