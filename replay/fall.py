"""Falls: what a fault of the mirrors costs, in points of what the best possible observer reaches.

Flow-intervals are compared that are scored both before and after, so that a fault is not blamed for
which of them it leaves. Each share is one of its own ceiling: that of what is left under the fault.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from replay.proof import summary

MOST_FALL = 0.03
"""What sampling, loss or skew may cost."""
SAME = ["scenario", "seed", "mixed", "telemetry", "script", "time_ns"]
"""What tells a flow-interval of a campaign."""
OF = (
    ("top-1", "top1", "ceiling"),
    ("in set", "covered", None),
    ("kind", "kind", "kind_ceiling"),
)
"""(figure, its column in a summary, that of its ceiling; none: it is a share as it is)."""


def falls(
    before: pl.DataFrame, after: pl.DataFrame, kinds: Sequence[str]
) -> Iterator[tuple[bool | None, str]]:
    """Whether the bar is met (none: nothing to measure) and a line, kind by kind."""
    both = before.filter("scored").select(SAME).join(after.filter("scored").select(SAME), on=SAME)
    was, now = (rows.join(both, on=SAME, how="semi") for rows in (before, after))
    for kind in kinds:
        mine = after.filter(pl.col("telemetry") == kind, "steady")
        few = mine.height - mine["scored"].sum()
        pair = [summary(rows.filter(telemetry=kind), ["telemetry"]) for rows in (was, now)]
        if pair[0].is_empty():
            yield None, f"  {kind:14} nothing to measure: {few} intervals of fewer than 20 frames"
            continue
        first, then = (found.row(0, named=True) for found in pair)
        parts, met = [], True
        for name, column, ceiling in OF:
            shares = [share(row, column, ceiling) for row in (first, then)]
            if shares[0] is None or shares[1] is None:
                continue
            fall = shares[0] - shares[1]
            met &= fall <= MOST_FALL
            best = "" if ceiling is None else f" of {100 * then[ceiling]:.1f}"
            parts.append(f"{name} {100 * then[column]:.1f}{best} falls by {100 * fall:.1f}")
        told = f"{then['intervals']} scored, {few} under 20: " + ", ".join(parts)
        yield met, f"  {kind:14} {told}: {'met' if met else 'NOT MET'}"


def share(row: dict[str, float | None], column: str, ceiling: str | None) -> float | None:
    """A figure as a share of its ceiling."""
    value = row[column]
    return value if ceiling is None or value is None else value / (row[ceiling] or 1.0)
