"""What happened to one flow over time: stretches in which kind and hop stay the same. Pure.

Rows are verdicts of one flow in time order. Intervals in which the flow sent nothing have no
verdict and do not end a stretch, which says how much of it is judged: `covered`.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pipeline.hop import Row, hop_of, ids, weighted
from pipeline.question import time_text
from pipeline.revisions import FIRST


def stretches(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Stretches of one kind at one hop, oldest first, each told by what changed.

    `revised` is the number of their intervals whose verdicts late rows have changed.
    """
    told: list[dict[str, Any]] = []
    for _, run in groupby(rows, lambda row: (row["kind"], row["congested"] and ids(row))):
        same = list(run)
        last = same[-1]
        from_ns, to_ns = edges(same)
        stretch = {
            "from_ns": from_ns,
            "to_ns": to_ns,
            "covered": sum(row["interval_ns"] for row in same) / (to_ns - from_ns),
            "kind": last["kind"],
            "hop": hop_of(last) if last["congested"] else None,
            "u_mean": weighted(same, "u_mean"),
            "revised": sum((row.get("revision") or 0) > FIRST for row in same),
        }
        told.append(stretch | {"sentence": change(told[-1] if told else None, stretch)})
    return told


def edges(rows: Sequence[Row]) -> tuple[int, int]:
    """When the intervals of verdicts begin and end."""
    return rows[0]["time_ns"], rows[-1]["time_ns"] + rows[-1]["interval_ns"]


def change(before: Row | None, now: Row) -> str:
    """What a stretch brings against the one before."""
    place, kind, when = _place(now), now["kind"], time_text(now["from_ns"])
    if before is None:
        return f"{place}: {kind}" if place else str(kind)
    was = _place(before)
    if place == was:
        return f"{kind} instead of {before['kind']} at {when}"
    if place and was:
        return f"moved from {was} to {place} at {when}: {kind}"
    return f"came up at {place} at {when}: {kind}" if place else f"left {was} at {when}: {kind}"


def since(rows: Sequence[Row], first_ns: int) -> tuple[int, bool]:
    """Since when the verdict that is `here` in the last such row holds, and whether that is exact.

    A run that has begun before the first row, and not with the flow's first frame at `first_ns`,
    began at some time before what is given here. Nothing holds before that frame.
    """
    runs = [list(run) for here, run in groupby(rows, lambda row: row["here"]) if here]
    from_ns = int(runs[-1][0]["time_ns"])
    exact = from_ns > rows[0]["time_ns"] or from_ns <= first_ns
    return max(from_ns, first_ns), exact


def _place(stretch: Row) -> str:
    return str(stretch["hop"]["name"]) if stretch["hop"] else ""
