"""Which rows of what was made are stored at once, and which with later ones. Pure.

Of flows those wait that were met before: they tell how long a flow was seen, and nobody finds a
flow by them.
"""

from collections.abc import Collection

import polars as pl

from pipeline.judging import Tables
from pipeline.tables.flows import FLOWS

FIRST = "first"
"""Ends the token of rows that do not wait: others of the same table may go with the cut later."""


def parted(
    tables: Tables, at_once: Collection[str], new: pl.Series | None
) -> tuple[Tables, Tables]:
    """The rows of the tables `at_once` that do not wait, and all that do.

    `new` are the flows that were met for the first time; None: nobody says, so that none wait.
    """
    waits = dict(tables)
    now = {name: waits.pop(name) for name in at_once if name in waits}
    if FLOWS.name in now and new is not None:
        flows = now[FLOWS.name]
        met = pl.col("flow").is_in(new.implode())
        now[FLOWS.name], waits[FLOWS.name] = flows.filter(met), flows.filter(~met)
    return _some(now), _some(waits)


def _some(tables: Tables) -> Tables:
    """The tables that have rows."""
    return {name: rows for name, rows in tables.items() if rows.height}
