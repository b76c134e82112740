"""Where observations go: a terminal, lines for other programs, or a file."""

import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa

from collector import OBSERVATION, SCHEMA, UNNAMED
from service.column_file import ColumnFile
from service.observation_text import addressed, shown

FIRST_ROWS = 256
"""Rows that are printed before the rest of their run is put into words."""


class Output:
    """Takes runs of observations; what was opened is closed with it."""

    def __init__(self, columns: tuple[str, ...] = ()) -> None:
        """`columns` of the observation, or none for those that this form shows by itself."""
        self.columns = columns

    def put(self, rows: pl.DataFrame) -> None:
        """Take one run."""
        raise NotImplementedError

    def picked(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The columns that were asked for; those that a run left out are null."""
        missing = [name for name in self.columns if name not in rows.columns]
        nulls = (pl.lit(None, SCHEMA[name]).alias(name) for name in missing)
        return rows.with_columns(nulls).select(self.columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what was opened."""


class Screen(Output):
    """Observations on a terminal: two lines each, or tables of the columns that were asked for."""

    def put(self, rows: pl.DataFrame) -> None:
        """Print one run."""
        from service.text import console

        screen = console()
        if self.columns:
            screen.print(_table(self.picked(rows)))
            return
        from rich.text import Text

        for row in shown(rows).iter_rows(named=True):
            head = Text(f"{row['source']} {row['frame']}", "bold")
            if row["point"] != UNNAMED:
                head.append(f" at {row['point']}", "not bold")
            head.append(f"  {row['time']}  ", "not bold dim").append(row["flow"], "not bold cyan")
            screen.print(head, soft_wrap=True)
            said = Text(f"  {row['layers']}: ", "dim").append(row["observation"], "not dim")
            screen.print(said, soft_wrap=True)


def _table(frame: pl.DataFrame) -> Any:
    """A table of columns as they are."""
    from service.text import Heading, table

    headings = [Heading(name, numeric=dtype.is_numeric()) for name, dtype in frame.schema.items()]
    return table(headings, frame.iter_rows())


class Lines(Output):
    """Tab-separated lines below one of names, or JSON objects, for other programs."""

    def __init__(self, columns: tuple[str, ...], *, json: bool) -> None:
        """JSON leaves out the columns that are null in all rows of a run."""
        super().__init__(columns)
        self.json = json
        self.headed = False

    def put(self, rows: pl.DataFrame) -> None:
        """Print the first rows at once, then the others."""
        for part in (rows.head(FIRST_ROWS), rows.slice(FIRST_ROWS)):
            if part.height:
                sys.stdout.buffer.write(self._octets(part))
                sys.stdout.buffer.flush()

    def _octets(self, rows: pl.DataFrame) -> bytes:
        """Rows as they are printed."""
        if self.json:
            frame = self.picked(rows) if self.columns else addressed(rows)
            return frame.write_ndjson().encode()
        frame = self.picked(rows) if self.columns else shown(rows)
        headed, self.headed = self.headed, True
        return frame.write_csv(separator="\t", include_header=not headed).encode()


class File(Output):
    """A Parquet or an Arrow file, with every column of the observation or those asked for."""

    def __init__(self, columns: tuple[str, ...], path: Path, *, parquet: bool) -> None:
        """Raises Failure when the file cannot be written."""
        super().__init__(columns or tuple(SCHEMA))
        self.rows = 0
        self.path = path
        schema = told(self.picked(pl.DataFrame(schema=SCHEMA)).to_arrow().schema)
        self.writer = ColumnFile(path, schema, parquet=parquet)

    def put(self, rows: pl.DataFrame) -> None:
        """Write one run."""
        self.rows += rows.height
        self.writer.write(self.picked(rows).to_arrow())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.writer.close()


def told(schema: pa.Schema) -> pa.Schema:
    """A schema whose fields say their unit and meaning themselves."""
    columns = {column.name: column for column in OBSERVATION}
    return pa.schema(
        field.with_metadata({"unit": columns[field.name].unit, "meaning": columns[field.name].doc})
        for field in schema
    )
