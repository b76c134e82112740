"""A service that follows files goes on where the one before it ended, whatever ended that."""

from dataclasses import replace

import polars as pl

from collector import Frames, Kept, has_frame
from pipeline import Asked, Output, Sink

OBSERVATIONS = "observations"


class Resuming:
    """Knows what the store has of files, and keeps rows from it that it has.

    Rows of frames are stored before the intervals that they belong to have ended: these frames are
    judged again, and their rows are not stored again. Senders are followed anew from there on.
    """

    def __init__(self, store: Asked) -> None:
        self.store = store
        self.kept: dict[str, int] = {}
        """Frames of sources that are stored, where any are."""

    def __call__(self, source: str, epoch: int, begin: Frames) -> Kept:
        """What is stored of a file whose first frame came at `epoch`. Raises StoreError.

        Rows that are not of its frames (`begin` are its first ones) are those of another file.
        """
        self.kept.pop(source, None)
        told = self.store.query("source_kept", source=source, from_ns=epoch).row(0, named=True)
        first, first_ns = told["first_frame"], told["first_ns"]
        if first is None or not has_frame(begin, first, first_ns):
            return Kept()
        self.kept[source] = int(told["last_frame"])
        asked = {"from_ns": epoch, "to_ns": int(told["last_ns"])}
        ended_ns = self.store.query("intervals_ended", **asked)["ended_ns"][0]
        return Kept(self.kept[source], int(ended_ns or 0))

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

        return keep
