"""Whom questions are put to, wherever the store is."""

from typing import Any, Protocol

import polars as pl


class Asked(Protocol):
    """Whatever answers queries by name: a store of this process, or its owner elsewhere."""

    def query(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to `pipeline/sql/<name>.sql`."""
