"""The same question asked of a store again and again, as long as somebody watches."""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline import Asked, StoreLimits, left_at, open_or_ask

Found = Mapping[str, Any]


class Looks:
    """Looks at one store, each of which may raise StoreError.

    An embedded store that nobody has open stays as it is. So it is opened for the first look, and
    then when somebody has had it open: the engine keeps something of every time it is opened.
    """

    def __init__(self, dsn: str, limits: StoreLimits, ask: Callable[[Asked], Found]) -> None:
        self.dsn, self.limits, self.ask = dsn, limits, ask
        self._found: Found = {}
        self._left_at: int | None = None

    def look(self) -> Found:
        """What the store, or whoever has it open, says now."""
        if self._left_at is None or left_at(self.dsn) != self._left_at:
            with open_or_ask(self.dsn, self.limits) as store:
                self._found = self.ask(store)
            self._left_at = left_at(self.dsn)
        return self._found
