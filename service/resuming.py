"""A service that follows files goes on where the one before it ended, whatever ended that."""

import time
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from collector import Frames, Kept, has_frame
from pipeline import Output, OwnerClient, Sink, Store
from service.readings import keep_reading

OBSERVATIONS = "observations"
NOTED_S = 10.0
"""Time between two notes of how far files are stored: they outlast the frames."""
MOST_FILES = 64
"""Files that are read, or were until a moment ago."""
FOLLOWED = '{"followed": "yes"}'
"""What is read as it grows depends on when it is read."""


class Resuming:
    """Knows what the store has of files, and keeps rows from it that it has.

    Rows of frames are stored before the intervals that they belong to have ended: these frames are
    judged again, and their rows are not stored again. Senders are followed anew from there on.
    Frames go before what was summed of them does, by age or with an address that is erased: how
    far a file came is noted now and then, and at the end (`note`).
    """

    def __init__(
        self, store: Store | OwnerClient, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.store = store
        self.kept: dict[str, int] = {}
        """Frames of sources that are stored, where any are."""
        self._clock = clock
        self._noted_s = -NOTED_S
        self._began: dict[str, int] = {}
        self._far: dict[tuple[str, int], tuple[int, int]] = {}
        """Last frame that is stored and its time, of a source that began then."""

    def __call__(self, source: str, epoch: int, begin: Frames) -> Kept:
        """What is stored of a file whose first frame came at `epoch`. Raises StoreError.

        Rows that are not of its frames (`begin` are its first ones) are those of another file.
        """
        self.kept.pop(source, None)
        self._begun(source, epoch)
        asked = {"source": source, "from_ns": epoch}
        told = self.store.query("source_kept", **asked).row(0, named=True)
        noted = self.store.query("reading_kept", **asked).row(0, named=True)
        first, last = told["first_frame"], told["last_frame"] or 0
        known = noted["frame"] is not None and not noted["later"]
        # Where its first frames are not kept any more, no other file has its name.
        own = first is not None and (known or has_frame(begin, first, told["first_ns"]))
        if own and last >= (noted["frame"] or 0):
            self.kept[source] = int(last)
            over = {"from_ns": epoch, "to_ns": int(told["last_ns"])}
            ended_ns = self.store.query("intervals_ended", **over)["ended_ns"][0]
            return Kept(self.kept[source], int(ended_ns or 0))
        if noted["frame"]:
            self.kept[source] = int(noted["frame"])
            return Kept(self.kept[source], int(noted["reached_ns"]) + 1)
        return Kept()

    def keeping(self, sink: Sink) -> Sink:
        """Keeps as `sink` does, but for rows of frames that are stored."""

        def keep(output: Output, token: str) -> None:
            rows = output.tables.get(OBSERVATIONS)
            if self.kept and rows is not None:
                known = pl.col("source").replace_strict(
                    self.kept, default=0, return_dtype=pl.UInt64
                )
                left = rows.filter(pl.col("frame") > known)
                output = replace(output, tables={**output.tables, OBSERVATIONS: left})
            sink(output, token)
            if rows is not None:
                self._reached(rows)

        return keep

    def _begun(self, source: str, epoch: int) -> None:
        """A file is read from here on; of many the oldest are not noted any more."""
        began = {name: at for name, at in self._began.items() if name != source}
        self._began = dict([*began.items(), (source, epoch)][-MOST_FILES:])

    def _reached(self, rows: pl.DataFrame) -> None:
        """Rows are stored: note it, when it is time."""
        began = pl.col("source").replace_strict(self._began, default=None, return_dtype=pl.Int64)
        # What came before a file began is of one that had its name.
        far = (
            rows.filter(pl.col("time_ns") >= began)
            .group_by("source", began.alias("began_ns"))
            .agg(pl.col("frame", "time_ns").max())
        )
        for source, began_ns, frame, time_ns in far.iter_rows():
            self._far[source, began_ns] = frame, time_ns
        if self._clock() - self._noted_s >= NOTED_S:
            self.note()

    def note(self) -> None:
        """Note how far files are stored."""
        self._noted_s = self._clock()
        for (source, began_ns), far in self._far.items():
            keep_reading(self.store, source, began_ns, FOLLOWED, *far)
        self._far.clear()
