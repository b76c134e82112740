"""When what waits of a place is stored, and when its state is kept. Pure; time is monotonic.

Both are work beside: a cut that asks for them while the last such work goes on would wait for it,
and all who wait for verdicts with it. So neither begins before that has ended, but where so much
waits that there is room for no more.
"""

from dataclasses import dataclass


@dataclass
class Settling:
    """Of one place: `settle_s` between two whole cuts, `snapshot_s` between two snapshots."""

    settle_s: float
    snapshot_s: float
    settled_s: float
    kept_s: float

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
