"""Questions about one flow each, and the question about many whose answer has all of theirs. Pure.

What the engine takes for a statement hardly grows with the flows that it is about: eight flows take
it twice the time of one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

Parameters = Mapping[str, Any]
MOST_RUNS = 64
MORE_SLICES = 1
"""Slices that the question about many may have beyond those of the one that it is asked for."""


@dataclass(frozen=True, slots=True)
class Joined:
    """How several questions are asked as one.

    `name` is that of the question about many, `whole` makes its parameters of theirs, and `parts`
    cuts its answer into theirs.
    """

    name: str
    whole: Callable[[Sequence[Parameters]], dict[str, Any]]
    parts: Callable[[pl.DataFrame, Sequence[Parameters]], list[pl.DataFrame]]


def fits(first: Parameters, other: Parameters) -> bool:
    """Whether a question may be asked with another: for the same people, about the same time."""
    if first.get("tenants") != other.get("tenants"):
        return False
    slices = set(first.get("slices", ()))
    return len(slices | set(other.get("slices", ()))) <= len(slices) + MORE_SLICES


def of_keys(asked: Sequence[Parameters]) -> dict[str, Any]:
    """The parameters of `flows_of_keys`."""
    return {"ends": [one["ends"] for one in asked], "tenants": asked[0]["tenants"]}


def of_flows(asked: Sequence[Parameters]) -> dict[str, Any]:
    """The parameters of a question about flows in a window, of which each asker has its own."""
    return {
        "flows": sorted({flow for one in asked for flow in flows_of(one)}),
        "slices": sorted({each for one in asked for each in one["slices"]}),
        "from_ns": min(one["from_ns"] for one in asked),
        "to_ns": max(one["to_ns"] for one in asked),
        "rows": sum(one["rows"] for one in asked),
    }


def flows_of(one: Parameters) -> list[int]:
    """The flows that a question is about."""
    return [one["flow"], *([one["reverse"]] if "reverse" in one else [])]


def by_key(found: pl.DataFrame, asked: Sequence[Parameters]) -> list[pl.DataFrame]:
    """The flows of each asker's ends."""
    ends, rows = found["ends"].to_numpy(), found.clone()
    rows.drop_in_place("ends")
    return [_taken(rows, ends == one["ends"]) for one in asked]


def by_flow(
    found: pl.DataFrame, asked: Sequence[Parameters], *, flow: bool, intervals: bool
) -> list[pl.DataFrame]:
    """The rows of each asker's flows and window, with or without the column `flow`.

    With `intervals` a row counts that begins before the window and reaches into it.
    """
    flows, times = found["flow"].to_numpy(), found["time_ns"].to_numpy()
    ends = times + found["interval_ns"].to_numpy() if intervals else times + 1
    rows, parts = found.clone(), []
    if not flow:
        rows.drop_in_place("flow")
    for one in asked:
        own = (flows == one["flow"]) | (flows == one.get("reverse", one["flow"]))
        here = own & (ends > one["from_ns"]) & (times <= one["to_ns"])
        parts.append(_taken(rows, here).head(one["rows"]))
    return parts


def _taken(rows: pl.DataFrame, here: "np.ndarray[Any, np.dtype[np.bool_]]") -> pl.DataFrame:
    """Some rows, in runs of neighbours: to sift them waits for the threads that judge."""
    numbers = np.flatnonzero(here)
    ends = np.flatnonzero(np.diff(numbers) != 1) + 1
    runs = [(int(run[0]), len(run)) for run in np.split(numbers, ends) if len(run)]
    if len(runs) > MOST_RUNS:
        return rows[numbers]
    taken = rows.clear()
    for first, length in runs:
        taken = taken.vstack(rows.slice(first, length))
    return taken


JOINED = {
    "flow_of_key": Joined("flows_of_keys", of_keys, by_key),
    "flow_told": Joined("flows_told", of_flows, partial(by_flow, flow=False, intervals=True)),
    "flow_frames": Joined("flows_frames", of_flows, partial(by_flow, flow=True, intervals=False)),
}
"""Questions that are asked together, by their names."""
