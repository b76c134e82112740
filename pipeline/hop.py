"""A hop in answers: one egress port of one device, by its ids and its topology names."""

from collections.abc import Mapping, Sequence
from math import fsum
from operator import mul
from typing import Any

Row = Mapping[str, Any]
"""A row of a query as plain data."""

HOP = ("node", "port", "device", "interface", "stage", "orientation", "capacity_bps")
GIGABIT = 1e9


def hop_of(row: Row) -> dict[str, Any] | None:
    """The hop of a row, or None where no hop is named. Names that the row lacks are None."""
    if row["node"] is None:
        return None
    known = dict(zip(HOP, map(row.get, HOP), strict=True))
    known["name"] = f"{row['device']} {row['interface']}"
    return known


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
    values, samples = [], []
    for row in rows:
        if (each := row.get(name)) is not None:
            values.append(each)
            samples.append(row["samples"] or 0)
    if weight := sum(samples):
        return fsum(map(mul, values, samples)) / weight
    return fsum(values) / len(values) if values else None
