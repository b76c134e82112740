"""Results of a sweep: a row a point, kept in a file from which an interrupted sweep goes on.

Every row has the digest of what it is a result of: frames, settings, parameters, the version and
the point itself. A row that is there is not worked out again; rows of other captures stay.
"""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from service.failure import ExitCode, Failure
from service.whole_file import write

POINT = "point"
"""The column of the digest."""


def digest(*told: object) -> str:
    """Stands for what is told, 16 hexadecimal digits."""
    text = "\x00".join(each if isinstance(each, str) else repr(each) for each in told)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class Results:
    """Rows in memory and, with a path, in a file: .parquet or .csv."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, list[dict[str, Any]]] = {}
        if path is None:
            return
        if path.suffix not in (".parquet", ".csv"):
            raise Failure(ExitCode.USAGE, f"--output {path}: the name must end in .parquet or .csv")
        if path.exists():
            for row in read(path).iter_rows(named=True):
                self.rows.setdefault(str(row[POINT]), []).append(row)

    def add(self, point: str, rows: Sequence[dict[str, Any]]) -> None:
        """Take the rows of a point."""
        self.rows[point] = [{POINT: point, **row} for row in rows]

    def frame(self, wanted: Sequence[str]) -> pl.DataFrame:
        """The rows of points, in the points' order."""
        rows = [row for point in wanted for row in self.rows.get(point, [])]
        return pl.DataFrame(rows, infer_schema_length=None)

    def keep(self) -> None:
        """Write all rows, so that the file is whole at every moment; Failure says why it is not."""
        if self.path is None or not self.rows:
            return
        whole = self.frame(list(self.rows))
        octets = io.BytesIO()
        if self.path.suffix == ".parquet":
            whole.write_parquet(octets)
        else:
            whole.write_csv(octets)
        write(self.path, octets.getvalue())


def read(path: Path) -> pl.DataFrame:
    """Rows of a file of results; Failure where it is none."""
    try:
        rows = (
            pl.read_parquet(path)
            if path.suffix == ".parquet"
            else pl.read_csv(path, infer_schema_length=None, schema_overrides={POINT: pl.String})
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise Failure(ExitCode.INPUT, f"{path}: no results of a sweep ({error})") from None
    if POINT not in rows.columns:
        raise Failure(ExitCode.INPUT, f"{path}: no results of a sweep (no column {POINT})")
    return rows
