"""`hopsight decode`: the observations of captures, as they are found."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import typer

from collector import SCHEMA, Capture, CaptureError, Decoder, Follow, Frames, is_compiled
from service.accounting_text import accounting_line
from service.assigned import value_of
from service.assignment import told_once
from service.captures import name_points, open_all, written_apart
from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.near_name import meant
from service.observation_output import File, Lines, Output, Screen

ON_TERMINAL = 100
"""Observations on a terminal, when no limit is given."""
COMPILING = "compiling the decoder for this machine, once; later runs start at once"
FIRST_FRAMES = 200
"""Frames that are shown before the others are decoded."""
SECTION = "collector."

Told = Callable[[int], None]


@dataclass(frozen=True)
class Request:
    """The command line of `decode`."""

    captures: Sequence[Path]
    json: bool = False
    parquet: Path | None = None
    arrow: Path | None = None
    columns: str | None = None
    where: str | None = None
    limit: int | None = None
    follow: bool = False
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None


def run(request: Request) -> None:
    """Print or write the observations; how the frames ended goes to standard error."""
    columns, condition = listed(request.columns), condition_of(request.where)
    if sum(map(bool, (request.json, request.parquet, request.arrow))) > 1:
        raise Failure(ExitCode.USAGE, "--json, --parquet and --arrow: only one of them at a time")
    for option, path in {"--parquet": request.parquet, "--arrow": request.arrow}.items():
        written_apart(option, path, request.captures)
    settings = chosen(collector=assigned(request.assignments)).collector
    captures = open_all(request.captures, Follow() if request.follow else None)
    taken = 0
    try:
        name_points(captures, request.point)
        if not is_compiled():
            typer.echo(f"hopsight: {COMPILING}", err=True)
        decoder = Decoder(settings)
        with output_of(request, columns) as output, progress(output) as told:
            limit = request.limit or (ON_TERMINAL if isinstance(output, Screen) else None)
            for rows in first(limit, found(captures, decoder, condition, told)):
                output.put(rows)
                taken += rows.height
    except CaptureError as error:
        raise Failure(ExitCode.INPUT, str(error)) from None
    except KeyboardInterrupt:
        # What is followed has no end of its own.
        if not request.follow:
            raise
    finally:
        for capture in captures:
            capture.close()
    account(decoder, stopped=taken == limit)
    if isinstance(output, File):
        typer.echo(f"{output.path}: {taken:,} observations", err=True)


def found(
    captures: Iterable[Capture], decoder: Decoder, condition: pl.Expr | None, told: Told
) -> Iterator[pl.DataFrame]:
    """Observations run by run, one capture behind the other."""
    first = True
    for capture in captures:
        for frames in capture.chunks(decoder.settings.frames_per_batch):
            for rows in decoded(frames, decoder, capture, first=first):
                wanted = rows if condition is None else kept(rows, condition)
                if wanted.height:
                    yield wanted
            told(len(frames))
            first = False
        decoder.accounting.add(capture.reasons)


def decoded(
    frames: Frames, decoder: Decoder, capture: Capture, *, first: bool
) -> Iterator[pl.DataFrame]:
    """Observations of one run; of the first one, the first frames come before the others.

    They are read plainly where the compiled walk would have to be waited for.
    """
    if first:
        decode = decoder.decode if is_compiled() else decoder.decode_plainly
        yield decode(frames.part(0, FIRST_FRAMES), capture.points, capture.source)
        frames = frames.part(FIRST_FRAMES, len(frames))
    yield decoder.decode(frames, capture.points, capture.source)


def kept(rows: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Rows for which the condition holds; columns that the run left out are null there."""
    missing = [name for name in condition.meta.root_names() if name not in rows.columns]
    nulls = (pl.lit(None, SCHEMA[name]).alias(name) for name in missing)
    return rows.with_columns(nulls).filter(condition).drop(missing)


def first(limit: int | None, runs: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The first `limit` rows of all runs, or all rows."""
    left = limit
    for rows in runs:
        yield rows if left is None else rows.head(left)
        if left is not None:
            left -= rows.height
            if left <= 0:
                return


def output_of(request: Request, columns: tuple[str, ...]) -> Output:
    """Where the observations go."""
    if request.parquet or request.arrow:
        path = request.parquet or request.arrow
        assert path is not None
        return File(columns, path, parquet=request.parquet is not None)
    if request.json or not sys.stdout.isatty():
        return Lines(columns, json=request.json)
    return Screen(columns)


def progress(output: Output) -> AbstractContextManager[Told]:
    """A bar, unless rows are printed where it would stand."""
    if sys.stderr.isatty() and (isinstance(output, File) or not sys.stdout.isatty()):
        from service.progress import frames_bar

        return frames_bar("decoding")
    return nullcontext(lambda _: None)


def account(
    decoder: Decoder, *, stopped: bool, why: str = "; stopped at the limit of rows (--limit)"
) -> None:
    """How the frames ended, on standard error."""
    counted = accounting_line(decoder.accounting.numbers)
    typer.echo(f"{counted}{why if stopped else ''}", err=True)


def listed(columns: str | None) -> tuple[str, ...]:
    """Names of `--columns`; Failure for one that no observation has."""
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    for name in names:
        if name not in SCHEMA:
            raise Failure(ExitCode.USAGE, f"--columns: {unknown(name)}")
    return names


def unknown(name: str) -> str:
    """A sentence about a column that does not exist."""
    hint = meant(name, SCHEMA, "the reference page of observations lists them")
    return f"no column is called {name!r}; {hint}"


def condition_of(text: str | None) -> pl.Expr | None:
    """The condition of `--where`, in SQL over the columns; Failure when it cannot be read."""
    if text is None:
        return None
    try:
        condition = pl.sql_expr(text)
        names = condition.meta.root_names()
        pl.DataFrame(schema=SCHEMA).filter(condition)
    except pl.exceptions.ColumnNotFoundError:
        name = next(name for name in names if name not in SCHEMA)
        raise Failure(ExitCode.USAGE, f"--where: {unknown(name)}") from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise Failure(ExitCode.USAGE, f"--where {text!r}: {reason}") from None
    return condition


def assigned(assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of the collector that `--set collector.NAME=VALUE` gives."""
    told_once("--set", assignments)
    given: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith(SECTION):
            raise Failure(ExitCode.USAGE, f"--set {text!r} is not of the form {SECTION}NAME=VALUE")
        given[name.removeprefix(SECTION)] = value_of(value)
    return given
