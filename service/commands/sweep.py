"""`hopsight replay --sweep`: every point of a grid of parameters, over all cores, resumable."""

import json as json_format
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import typer

from service.axis import Axis, grid
from service.crew import Point, Work, worked
from service.decidable import say
from service.failure import ExitCode, Failure
from service.progress import points_bar
from service.results import POINT, Results, digest
from service.text import Heading, console, several, table
from service.version import version

SHOWN = 10
KEPT_S = 1.0
"""So often results are written while a sweep runs."""
LARGER = ("utilisation", "throughput_bps", "jain", "completed")
"""Measures of which more is better."""
DIGITS = 5
GAP = 3
"""Characters between two columns of a table."""
TOLD = "what_if"


@dataclass(frozen=True)
class Sweep:
    """The command line: axes, fixed changes, the measure that ranks, results, processes."""

    axes: Sequence[str]
    what_if: Sequence[str] = ()
    by: str | None = None
    output: Path | None = None
    jobs: int | None = None
    json: bool = False


def run(
    asked: Sweep, work: Work, needed: Any, told: Sequence[object], ranks: str | None,
    about: Mapping[str, Any],
) -> None:  # fmt: skip
    """Work out what is not known yet, and print the best rows.

    `told` is all that results depend on beside the point; `ranks` ranks where nothing was asked;
    `about` is what the JSON says of all of them.
    """
    axes, points = grid(asked.axes, asked.what_if)
    results = Results(asked.output)
    names = {point: digest(version(), *told, sorted(asked.what_if), point) for point in points}
    missing = [point for point in points if names[point] not in results.rows]
    cells = {f"{each.name}={value}": cell for each in axes
             for value, cell in zip(each.values, each.cells, strict=True)}  # fmt: skip
    kept = time.monotonic()
    try:
        with points_bar("sweeping", len(points), len(points) - len(missing)) as advance:
            for point, rows in worked(work, needed, missing, asked.jobs):
                own = {text.partition("=")[0]: cells[text] for text in point}
                results.add(names[point], [own | row for row in rows])
                advance()
                if time.monotonic() - kept > KEPT_S:
                    results.keep()
                    kept = time.monotonic()
    except KeyboardInterrupt:
        typer.echo(f"hopsight: ended; {going_on(asked)}", err=True)
        raise
    finally:
        if missing:
            results.keep()
    made = results.frame([names[point] for point in points])
    if made.is_empty():
        raise Failure(ExitCode.WRONG, "no point has a result")
    without = fruitless([point for point in points if not results.rows[names[point]]])
    say(without)
    about = {**about, "notes": [*about["notes"], *without]}
    tell(asked, axes, ranked(made, asked.by or ranks), len(missing), about)


def fruitless(points: Sequence[Point]) -> list[str]:
    """What is said of points that no row is of; nothing where there are none."""
    if not points:
        return []
    some = "; ".join(" ".join(point) for point in points[:SHOWN])
    more = f"; and {len(points) - SHOWN:,} more" if len(points) > SHOWN else ""
    return [f"no flow has decisions to compare, and so no row is told, at {some}{more}"]


def going_on(asked: Sweep) -> str:
    """What there is of a sweep that was interrupted."""
    if asked.output is None:
        return "nothing is kept of a sweep without --output"
    return f"the same command goes on from what is in {asked.output}"


def check_measure(by: str | None, axes: Sequence[Axis], measures: Sequence[str]) -> None:
    """Failure for a measure that no row will have, before any of them is worked out."""
    names = [*(each.name for each in axes), *measures]
    if by not in (None, *names):
        raise Failure(ExitCode.USAGE, f"--by: no measure is called {by!r}; there are"
                      f" {', '.join(names)}")  # fmt: skip


def ranked(rows: pl.DataFrame, by: str | None) -> pl.DataFrame:
    """The rows, the best first; Failure for a measure that they do not have."""
    if by is None:
        return rows
    if by not in rows.columns:
        names = ", ".join(name for name in rows.columns if name != POINT)
        raise Failure(ExitCode.USAGE, f"--by: no measure is called {by!r}; there are {names}")
    return rows.sort(by, descending=by in LARGER, nulls_last=True, maintain_order=True)


def tell(
    asked: Sweep, axes: Sequence[Axis], rows: pl.DataFrame, made: int, about: Mapping[str, Any]
) -> None:
    """Print the best rows, or all of them as JSON."""
    if asked.json:
        told = {**about, "points": made, "known": rows.height, "rows": rows.to_dicts()}
        typer.echo(json_format.dumps(told, allow_nan=False))
        return
    swept = [each.name for each in axes]
    names = [*swept, *(name for name in rows.columns if name not in (POINT, *swept))]
    names = [name for name in names if rows[name].null_count() < rows.height]
    best = rows.head(SHOWN)
    names, hidden = fitting(best, names, [*swept, *([asked.by] if asked.by in names else [])])
    best = best.select(names)
    headings = [Heading(name, numeric=best[name].dtype.is_numeric()) for name in names]
    cells = [[shown(value) for value in row] for row in best.iter_rows()]
    said = f"{several(made, 'point')} worked out, {several(rows.height, 'row')} in all"
    title = f"{said}; the best {best.height}" if best.height < rows.height else said
    console().print(table(headings, cells, title))
    if asked.by not in (None, *names):
        console().print(f"{asked.by} is known of no row: they are in no order")
    if hidden:
        wide = f"{len(hidden)} more columns do not fit: {', '.join(hidden)}"
        console().print(
            wide + (" (all are in the file)" if asked.output else " (--output, --json)")
        )
    if asked.output is not None:
        console().print(f"all rows are in {asked.output}")


def fitting(
    rows: pl.DataFrame, names: Sequence[str], first: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Columns that a line of the console holds whole, and the others; `first` are always shown.

    Those that are the same in all rows come last: they tell no point from another.
    """
    wide = {name: max(map(len, [name, *(shown(cell) or "" for cell in rows[name])])) + GAP
            for name in names}  # fmt: skip
    differ = [name for name in names if name not in first and rows[name].n_unique() > 1]
    same = [name for name in names if name not in first and name not in differ]
    room = console().width - sum(wide[name] for name in first)
    kept = set(first)
    for name in (*differ, *same):
        if wide[name] <= room:
            kept.add(name)
            room -= wide[name]
    return [name for name in names if name in kept], [name for name in names if name not in kept]


def shown(value: object) -> str | None:
    """A cell."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return None if value is None else str(value)


def held(rows: pl.DataFrame, folder: str) -> Path:
    """Rows in a file that the processes of a crew map into memory."""
    path = Path(folder) / "rows.arrow"
    rows.write_ipc(path, compression="uncompressed")
    return path


def folder() -> "tempfile.TemporaryDirectory[str]":
    """Where such a file lies while a sweep runs."""
    return tempfile.TemporaryDirectory(prefix="hopsight-sweep-")
