"""When a place is cut, when what waits of it is stored, and when its state is kept. Pure.

Both are work beside: a cut that asks for them while the last such work goes on would wait for it,
and all who wait for verdicts with it. So neither begins before that has ended, but where so much
waits that there is room for no more.
"""

from dataclasses import dataclass
from typing import Self

SETTLE_S, SEVERAL_SETTLE_S = 2.0, 4.0
"""How long rows that nobody waits for may wait for those of later cuts, of a partition alone and of
several, whose inserts take as long each for fewer rows."""


@dataclass
class Settling:
    """Of one place: `settle_s` between two whole cuts, `snapshot_s` between two snapshots.

    Time is monotonic.
    """

    settle_s: float
    snapshot_s: float
    settled_s: float
    kept_s: float

    @classmethod
    def begun(cls, now_s: float, snapshot_s: float, place: float, *, several: bool) -> Self:
        """Of a place that lies at 0 to 1 among `several`, which are settled one after the other.

        The store would have the rows of all of them to take at once.
        """
        settle_s = SEVERAL_SETTLE_S if several else SETTLE_S
        return cls(settle_s, snapshot_s, now_s - settle_s * place, now_s)

    def due(self, now_s: float, *, full: bool, busy: bool, promised: bool) -> tuple[bool, bool]:
        """Whether the next cut is whole, and whether the state is kept behind it.

        `full`: there is no room for rows that wait; `busy`: the last ones are being stored;
        `promised`: what is next was decided already, and behind a snapshot no cut is read again.
        """
        keep = now_s - self.kept_s >= self.snapshot_s and not promised
        whole = full or ((keep or now_s - self.settled_s >= self.settle_s) and not busy)
        return whole, whole and keep

    def done(self, began_s: float, *, whole: bool, kept: bool) -> None:
        """A cut that began at a time is behind us."""
        self.settled_s = began_s if whole else self.settled_s
        self.kept_s = began_s if kept else self.kept_s


def rest_s(cut_s: float, since_s: float, clock_s: float | None) -> float:
    """Time until the next cut of a place that is not behind, of which one began `since_s` ago.

    Partitions that are judged together are cut together, at multiples of `cut_s` by the clock, on
    whichever workers they are: else verdicts would wait for the one that has just been cut.
    """
    if clock_s is None or not cut_s:
        return cut_s - since_s
    return cut_s - clock_s % cut_s
