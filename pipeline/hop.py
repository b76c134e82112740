"""A hop in answers: one egress port of one device, by its ids and its topology names."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

Row = Mapping[str, Any]
"""A row of a query as plain data."""

HOP = ("node", "port", "device", "interface", "stage", "orientation", "capacity_bps")
GIGABIT = 1e9


def hop_of(row: Row) -> dict[str, Any] | None:
    """The hop of a row, or None where no hop is named. Names that the row lacks are None."""
    if row["node"] is None:
        return None
    known = {name: row.get(name) for name in HOP}
    return known | {"name": f"{row['device']} {row['interface']}"}


def ids(row: Row) -> tuple[int, int]:
    """Node and port, by which hops are compared and sorted; a row without hop comes last."""
    return (NOWHERE, NOWHERE) if row["node"] is None else (row["node"], row["port"])


NOWHERE = 1 << 32
"""More than any id."""


def described(hop: Row) -> str:
    """`leaf2 Ethernet8 (tor, faces a host, 100 Gbit/s)`, as far as the topology knows it."""
    facing = {"host": "faces a host", None: ""}.get(hop["orientation"], hop["orientation"])
    rate = f"{hop['capacity_bps'] / GIGABIT:g} Gbit/s" if hop["capacity_bps"] else ""
    facts = ", ".join(filter(None, (hop["stage"], facing, rate)))
    return f"{hop['name']} ({facts})" if facts else str(hop["name"])


def load(row: Row) -> float:
    """Hop load summed over the samples of a row."""
    return float((row["u_mean"] or 0.0) * row["samples"])


def weighted(rows: Sequence[Row], name: str) -> float | None:
    """Mean of a column weighted by the samples behind each row; None where no row has it."""
    if len(rows) == 1:  # as most often
        value: float | None = rows[0].get(name)
        return None if value is None else float(value)
    known = [(v, row["samples"] or 0) for row in rows if (v := row.get(name)) is not None]
    weight = sum([samples for _, samples in known])
    if weight:
        return fsum([value * samples for value, samples in known]) / weight
    return fsum(value for value, _ in known) / len(known) if known else None
