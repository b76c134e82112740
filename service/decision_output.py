"""Where decisions go: lines for people, JSON lines for programs, or a Parquet or Arrow file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from replay import TOLD, known, lines, trace
from service.column_file import ColumnFile
from service.decision_text import texts
from service.failure import ExitCode, Failure

SUFFIXES = {".parquet": True, ".arrow": False}
"""Names of files, and whether they are Parquet."""


@dataclass(frozen=True)
class Told:
    """What sentences are written with: parameters in force, algorithms that act on the upper U."""

    eta: float
    max_stage: int
    upper: tuple[str, ...] = ()
    explain: bool = False


class Output:
    """Takes decisions, counts them; what was opened is closed with it."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.decisions = 0

    def put(self, decisions: pl.DataFrame, keys: pl.DataFrame) -> None:
        """Take decisions with the keys of their flows, in order."""
        self.decisions += decisions.height
        if decisions.height:
            told = self.told
            self.show(trace(decisions, keys, told.eta, told.max_stage, told.upper))

    def show(self, traced: pl.DataFrame) -> None:
        """Take decisions with their reasons."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what was opened."""


class Lines(Output):
    """Lines for people, or JSON objects."""

    def __init__(self, told: Told, *, json: bool) -> None:
        super().__init__(told)
        self.json = json

    def show(self, traced: pl.DataFrame) -> None:
        """Print."""
        explain = self.told.explain
        if self.json:
            said = lines(traced, TOLD if explain else ())
        else:
            said = texts(traced, explain=explain)
        sys.stdout.write("\n".join(said) + "\n")
        sys.stdout.flush()


class File(Output):
    """A file with every column of a decision; its columns are those of the first batch."""

    def __init__(self, told: Told, path: Path, *, parquet: bool) -> None:
        super().__init__(told)
        self.path, self.parquet = path, parquet
        self.writer: ColumnFile | None = None
        self.schema: pl.Schema | None = None

    def show(self, traced: pl.DataFrame) -> None:
        """Write."""
        kept = traced if self.told.explain else traced.drop("sentence", "standing")
        kept = known(kept, kept.columns)
        if self.schema is None or self.writer is None:
            self.schema = kept.schema
            schema = kept.to_arrow().schema
            self.writer = ColumnFile(self.path, schema, parquet=self.parquet)
        absent = [pl.lit(None, kind).alias(name) for name, kind in self.schema.items()
                  if name not in kept.columns]  # fmt: skip
        self.writer.write(kept.with_columns(absent).select(self.schema.names()).to_arrow())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.writer is not None:
            self.writer.close()


def written(rows: pl.DataFrame, path: Path) -> None:
    """Write all rows to a file of decisions; Failure says why it cannot be."""
    with File(Told(0.0, 0, explain=True), path, parquet=parquet(path)) as file:
        file.show(rows)


def parquet(path: Path) -> bool:
    """Whether a file of that name is Parquet; Failure for a name that says nothing."""
    if path.suffix not in SUFFIXES:
        accepted = " or ".join(SUFFIXES)
        raise Failure(ExitCode.USAGE, f"--output {path}: the name must end in {accepted}")
    return SUFFIXES[path.suffix]


def output_of(told: Told, path: Path | None, *, json: bool) -> Output:
    """Where decisions go; Failure for a file of another kind."""
    if path is None:
        return Lines(told, json=json)
    return File(told, path, parquet=parquet(path))
