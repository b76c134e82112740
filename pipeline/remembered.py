"""Answers of a store to questions about one small table: they hold until something is stored there.

Rows that are too old go by themselves, so that no answer is kept for long.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import polars as pl

TABLE_OF = {
    "extent": "verdicts", "extent_tenants": "verdicts", "flows_known": "flows",
    "flow_of_key": "flows", "flow_of_hash": "flows", "bus_used": "bus_messages",
    "capture_gaps": "capture_gaps", "coverage": "verdicts",
}  # fmt: skip
"""Questions whose answers are kept, and the table that each is answered from."""
MOST = 4096
"""Answers that are kept; the one that was asked for longest ago gives way."""
KEPT_S = 60.0


class Remembered:
    """The newest answers. May be used from any thread; `clock` tells seconds.

    `changed` is called by one thread at a time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changes: Counter[str] = Counter()
        self._answers: dict[Hashable, tuple[int, float, pl.DataFrame]] = {}

    def changed(self, table: str | None) -> None:
        """Something is about to be stored in a table, or was; None: in any of them."""
        self._changes.update(TABLE_OF.values() if table is None else [table])

    def ask(
        self, name: str, parameters: Mapping[str, Any], ask: Callable[[], pl.DataFrame]
    ) -> pl.DataFrame:
        """The answer that is known, or that of `ask`, which is kept then."""
        if name not in TABLE_OF:
            return ask()
        key, now_s = (name, repr(sorted(parameters.items()))), self._clock()
        state = self._changes[TABLE_OF[name]]
        known = self._answers.pop(key, None)
        if known is None or known[0] != state or now_s > known[1]:
            known = (state, now_s + KEPT_S, ask())
        self._answers[key] = known  # behind all others
        while len(self._answers) > MOST:
            self._answers.pop(next(iter(self._answers)), None)
        return known[2]
