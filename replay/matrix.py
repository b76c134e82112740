"""The matrix as text: what was proved, scenario by scenario and bar by bar. No word is left out."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from replay.campaign import KINDS, Plan, campaign
from replay.proof import (
    Figure,
    calibration,
    candidate_skill,
    figures,
    headline_skill,
    summary,
)
from replay.signal_score import by_signal
from replay.world import MS

Columns = Sequence[tuple[str, str, int]]

COLUMNS = (
    ("intervals", "scored", 7),
    ("coverage", "cover", 7),
    ("congested", "congested", 10),
    ("top1", "top-1", 7),
    ("ceiling", "ceiling", 8),
    ("covered", "in set", 7),
    ("kind", "kind", 7),
    ("kind_ceiling", "ceiling", 8),
    ("false_calls", "false", 7),
    ("missed", "missed", 7),
)
"""(column of a summary, heading, width) of a scenario's line."""
TOTALS = (
    ("intervals", "scored", 7), ("few", "under 20", 9), *COLUMNS[2:-1], ("off", "off by", 7),
    ("bins", "bins", 5), ("skill", "skill", 7), ("wrong", "wrong", 7),
    ("ranked", "of set", 7), ("listed", "hops", 8),
)  # fmt: skip
"""The same of a kind of telemetry, with calibration and both skills (`proof`)."""
OF_SIGNALS = (("rows", "told", 7), ("signals_first", "top-1", 7), ("signals_held", "in set", 7))
"""The same of a signal."""
COUNTS = {"rows", "intervals", "few", "congested", "bins", "wrong", "listed"}
SKILLS = {"skill", "ranked"}

SMALL = Plan("small", duration_ns=3 * MS, casts=(KINDS,))
SMALL_NAMES, SMALL_SEEDS = ("incast", "core hot spot", "calm"), (1,)
"""What the tests keep: three scenarios, 3 ms each, with a seed of development."""


def small() -> str:
    """The piece of the matrix that the tests keep."""
    return "\n".join(lines(campaign(SMALL, SMALL_NAMES, SMALL_SEEDS), KINDS))


def lines(rows: pl.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """Scenario by telemetry, then each kind of telemetry, then the bars that are not met."""
    yield f"{'scenario':22}{'telemetry':15}" + heading(COLUMNS)
    for row in summary(rows, ["scenario", "telemetry"]).iter_rows(named=True):
        yield f"{row['scenario']:22}{row['telemetry']:15}" + cells(row, COLUMNS)
    yield ""
    yield f"{'telemetry':15}" + heading(TOTALS)
    for row in totals(rows, kinds):
        yield f"{row['telemetry']!s:15}" + cells(row, TOTALS)
    yield ""
    yield from signals(rows, kinds)
    yield ""
    yield from verdict(rows, kinds)


def totals(rows: pl.DataFrame, kinds: Sequence[str]) -> Iterator[dict[str, object]]:
    """All figures of each kind of telemetry."""
    found = {row["telemetry"]: row for row in summary(rows, ["telemetry"]).iter_rows(named=True)}
    for kind in kinds:
        mine = rows.filter(telemetry=kind)
        if kind in found:
            names = ("off", "bins", "skill", "wrong", "ranked", "listed")
            more = (*calibration(mine), *headline_skill(mine), *candidate_skill(mine))
            yield {**found[kind], **dict(zip(names, more, strict=True))}


def signals(rows: pl.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """Hops that each signal by itself points at, of flow-intervals where the truth has one."""
    yield f"{'telemetry':15}{'signal':18}{'about':11}" + heading(OF_SIGNALS)
    found = by_signal(rows)
    for kind in kinds:
        for row in found.filter(telemetry=kind).iter_rows(named=True):
            names = f"{row['telemetry']:15}{row['signals']:18}{row['about']:11}"
            yield names + cells(row, OF_SIGNALS)


def verdict(rows: pl.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """Every bar that is not met, and those of which nothing could be measured."""
    every = [(kind, figure) for kind in kinds for figure in figures(rows, kind)]
    missed = unmet(rows, kinds)
    yield f"bars not met: {len(missed)} of {len(every)}"
    yield from (f"  {line}" for line in missed)
    open_ = [f"  {kind}: {told(figure)}" for kind, figure in every if figure.met is None]
    yield f"nothing to measure: {len(open_)} of {len(every)}"
    yield from open_


def unmet(rows: pl.DataFrame, kinds: Sequence[str]) -> list[str]:
    """One line a bar that is not met."""
    every = ((kind, figure) for kind in kinds for figure in figures(rows, kind))
    return [f"{kind}: {told(figure)}" for kind, figure in every if figure.met is False]


def heading(columns: Columns) -> str:
    """Names over the figures."""
    return "".join(f"{name:>{width}}" for _, name, width in columns)


def cells(row: Mapping[str, object], columns: Columns) -> str:
    """The figures of one line."""
    return "".join(f"{cell(name, row[name]):>{width}}" for name, _, width in columns)


def cell(name: str, value: object) -> str:
    """A count or a skill as it is, a share in percent; a dash where nothing was to be measured."""
    if value is None:
        return "-"
    number = float(str(value))
    if name in COUNTS:
        return f"{number:.0f}"
    return f"{number:.2f}" if name in SKILLS else f"{100 * number:.1f}"


def told(figure: Figure) -> str:
    """One figure with its bar."""
    bound = "at least" if figure.least else "at most"
    value = "-" if figure.value is None else percent(figure, figure.value)
    why = f" ({figure.why})" if figure.why else ""
    return f"{figure.name}: {value}, {bound} {percent(figure, figure.bar)}{why}"


def percent(figure: Figure, value: float) -> str:
    """A share in percent; a skill as it is."""
    return f"{value:.2f}" if figure.name.startswith("Brier") else f"{100 * value:.1f} %"
