"""The matrix as text: what was proved, scenario by scenario and bar by bar. No word is left out."""

from collections.abc import Iterator, Sequence

import polars as pl

from replay.campaign import KINDS, Plan, campaign
from replay.proof import Figure, figures, scored, summary
from replay.world import MS

COLUMNS = (
    ("intervals", "scored", 7),
    ("coverage", "cover", 7),
    ("congested", "congested", 10),
    ("top1", "top-1", 7),
    ("ceiling", "ceiling", 8),
    ("covered", "in set", 7),
    ("kind", "kind", 7),
    ("false_calls", "false", 7),
    ("missed", "missed", 7),
)
"""(column of a summary, heading, width)."""
COUNTS = {"intervals", "congested"}
MET = {True: "met", False: "NOT MET", None: "nothing to measure"}

SMALL = Plan("small", duration_ns=3 * MS, casts=(KINDS,))
SMALL_NAMES, SMALL_SEEDS = ("incast", "core hot spot", "calm"), (1,)
"""What the tests keep: three scenarios, 3 ms each, with a seed of development."""


def small() -> str:
    """The piece of the matrix that the tests keep."""
    return "\n".join(lines(campaign(SMALL, SMALL_NAMES, SMALL_SEEDS), KINDS))


def lines(rows: pl.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """Scenario by telemetry, then the bars of each kind of telemetry."""
    yield f"{'scenario':22}{'telemetry':15}" + "".join(f"{h:>{w}}" for _, h, w in COLUMNS)
    for row in summary(rows, ["scenario", "telemetry"]).iter_rows(named=True):
        yield f"{row['scenario']:22}{row['telemetry']:15}" + cells(row)
    yield ""
    for kind in kinds:
        yield f"{kind}: {scored(rows.filter(telemetry=kind)).height} scored flow-intervals"
        yield from (f"  {told(figure)}" for figure in figures(rows, kind))


def cells(row: dict[str, object]) -> str:
    """The figures of one line."""
    return "".join(f"{cell(name, row[name]):>{width}}" for name, _, width in COLUMNS)


def cell(name: str, value: object) -> str:
    """A count as it is, a share in percent; a dash where nothing was to be measured."""
    if value is None:
        return "-"
    return str(value) if name in COUNTS else f"{100 * float(str(value)):.1f}"


def told(figure: Figure) -> str:
    """One figure with its bar."""
    bound = "at least" if figure.least else "at most"
    value = "-" if figure.value is None else percent(figure, figure.value)
    return f"{figure.name}: {value}, {bound} {percent(figure, figure.bar)}: {MET[figure.met]}"


def percent(figure: Figure, value: float) -> str:
    """A share in percent; a skill as it is."""
    return f"{value:.2f}" if figure.name == "Brier skill" else f"{100 * value:.1f} %"


def falls(before: pl.DataFrame, after: pl.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """By how many points a fault lowers each kind's share of its own ceiling."""
    for kind in kinds:
        shares = [share(rows, kind) for rows in (before, after)]
        if None in shares:
            yield f"  {kind}: nothing to measure"
            continue
        was, now = (float(one or 0.0) for one in shares)
        fall = Figure("falls by", was - now, MOST_FALL, least=False)
        yield (
            f"  {kind}: {100 * was:.1f} % of the ceiling, then {100 * now:.1f} %; falls by"
            f" {100 * (was - now):.1f} points, at most {100 * MOST_FALL:g}: {MET[fall.met]}"
        )


MOST_FALL = 0.03
"""What sampling, loss or skew may cost."""


def share(rows: pl.DataFrame, kind: str) -> float | None:
    """Named hops of congested intervals as a share of the ceiling."""
    found = summary(rows.filter(telemetry=kind), ["telemetry"])
    row = found.row(0, named=True) if found.height else {"top1": None}
    return None if row["top1"] is None else row["top1"] / row["ceiling"]
