"""What is stored of times that have not come yet, by the clock here."""

from typing import NamedTuple

from pipeline import Asked

MOST_AHEAD_NS = 60_000_000_000
"""How far ahead of the clock here what is stored may be, so that no clock is doubted."""


class Reached(NamedTuple):
    """Until when verdicts are stored, ns since 1970; 0: there are none.

    - `to_ns`: of those that are not ahead of the clock by more than `MOST_AHEAD_NS`;
    - `newest_ns`: of all of them.
    """

    to_ns: int
    newest_ns: int


def reached(store: Asked, now_ns: int) -> Reached:
    """How far what is stored goes, where the clock here tells `now_ns`."""
    extent = store.query("extent").row(0, named=True)
    newest_ns, latest_ns = int(extent["to_ns"] or 0), now_ns + MOST_AHEAD_NS
    if not extent["verdicts"]:
        return Reached(0, 0)
    if newest_ns <= latest_ns:
        return Reached(newest_ns, newest_ns)
    to_ns = int(store.query("extent_before", before_ns=latest_ns)["to_ns"][0])
    return Reached(to_ns, newest_ns)
