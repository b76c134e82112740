"""What a reader has seen of each source, so that a repeat is told from news whoever sends it.

A message covers frames `first` to `last` of its source and epoch, as far as they fall into its
partition. What is covered twice is taken once, also where a restarted collector cut its messages at
other frames; what a lost message left out is a hole until it comes.
"""

from dataclasses import replace

import polars as pl

from collector.bus import Batch

MOST_HOLES = 1024
"""Of one source; of more the oldest counts as seen."""
MOST_STREAMS = 4096
"""Sources with their epochs that are remembered; of more the one first heard of is forgotten."""
Stream = tuple[str, int]


class Repeats:
    """Covered frames of every (source, epoch), as ranges in order that do not touch."""

    def __init__(self) -> None:
        self.covered: dict[Stream, list[tuple[int, int]]] = {}
        self.ended: set[Stream] = set()

    @property
    def holes(self) -> int:
        """Ranges of frames that were passed over and have not come yet."""
        return sum(
            len(ranges) - 1 + (ranges[0][0] > 1) for ranges in self.covered.values() if ranges
        )

    def fresh(self, batch: Batch) -> Batch | None:
        """The batch without what was seen before; None when nothing is left."""
        stream = batch.stream
        if batch.quiet:  # to hear it twice changes nothing
            return None if self._is_over(batch) else batch
        if batch.ended:
            news = stream not in self.ended
            self.ended.add(stream)
            return batch if news else None
        ranges = self.covered.pop(stream, [])  # put back as the newest: the oldest goes first
        again = [(first, last) for first, last in ranges
                 if first <= batch.last and last >= batch.first]  # fmt: skip
        if any(first <= batch.first and batch.last <= last for first, last in again):
            self.covered[stream] = ranges
            return None
        self.ended.discard(stream)  # it has grown: whoever ends it now says something new
        made = joined([*ranges, (batch.first, batch.last)])
        over = max(len(made) - MOST_HOLES, 0)
        self.covered[stream] = [(made[0][0], made[over][1]), *made[over + 1 :]]
        while len(self.covered) > MOST_STREAMS:
            oldest = next(iter(self.covered))
            del self.covered[oldest]
            self.ended.discard(oldest)
        if not again:
            return batch
        seen = pl.any_horizontal(pl.col("frame").is_between(*each) for each in again)
        left = batch.frame.filter(~seen)
        return replace(batch, frame=left) if left.height else None

    def _is_over(self, batch: Batch) -> bool:
        """Whether a batch without rows is of a file that is brought again: nobody waits for it.

        A file that only begins does not know its epoch yet.
        """
        if batch.begins:
            return any(batch.source == source for source, _ in (*self.covered, *self.ended))
        return batch.stream in self.ended


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch as one."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if made and first <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(made[-1][1], last)
        else:
            made.append((first, last))
    return made
