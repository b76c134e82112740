"""Traces: files of observations, as `hopsight decode` and `hopsight archive` write them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from collector import SCHEMA, TCP, Batch, Bus, beyond, together
from service.failure import ExitCode, Failure
from service.named_once import named_once
from service.rerunning import Feeding, Progress

ENDINGS = (".parquet", ".arrow")
NEEDED = (
    "time_ns", "source", "point", "frame", "flow", "conversation", "direction", "src_hi", "src_lo",
    "dst_hi", "dst_lo", "sport", "dport", "protocol", "payload_bytes", "hop_count",
)  # fmt: skip
"""Columns without which nothing can be decided."""
OF_TCP = ("seq", "ack", "flags")
"""Columns without which nothing of TCP can be decided."""
ALWAYS = ("time_ns", "source", "point", "frame", "flow", "conversation", "direction")
"""Columns that have a value in every row."""
ROWS = 200_000
EPOCH = 0


def is_trace(path: Path) -> bool:
    """Whether a file is a trace, by its name."""
    return path.suffix in ENDINGS


@dataclass(frozen=True)
class TraceSource:
    """Trace files, one behind the other; see `rerunning.Source`."""

    paths: Sequence[Path]

    @contextmanager
    def opened(self) -> Iterator[Feeding]:
        """See `Source`."""
        named_once(self.paths)
        for path in self.paths:
            check(path)
        names = [name for path in self.paths for name in sources_of(path)]
        sources = tuple(dict.fromkeys(names))

        def parts() -> Iterator[pl.DataFrame]:
            for path in self.paths:
                yield from slices(path)

        yield Feeding(
            sources,
            lambda bus, progress: publish(parts, sources, bus, progress),
            files=tuple(self.paths),
        )


async def publish(
    parts: Callable[[], Iterator[pl.DataFrame]],
    sources: Sequence[str],
    bus: Bus,
    progress: Progress,
) -> None:
    """Rows onto a bus, a batch a source; then each source ends."""
    given, done = parts(), 0
    try:
        while (rows := await asyncio.to_thread(next, given, None)) is not None:
            progress(rows.height)
            for (source,), part in rows.group_by("source", maintain_order=True):
                done += part.height
                await bus.publish(Batch(part, str(source), EPOCH, done, done))
        for source in sources:
            nothing = pl.DataFrame(schema=SCHEMA).select("time_ns", "source")
            await bus.publish(Batch(nothing, source, EPOCH, done, done, ended=True))
    finally:
        await bus.close()


def check(path: Path) -> None:
    """Failure for what is no trace, and for columns that it lacks."""
    if not path.exists():
        raise Failure(ExitCode.INPUT, f"{path}: no such file or directory")
    try:
        schema = lazy(path).collect_schema()
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise Failure(ExitCode.INPUT, f"{path}: not a file of observations ({reason})") from None
    lacking = [name for name in NEEDED if name not in schema]
    if lacking:
        raise Failure(ExitCode.INPUT, f"{path}: observations lack {', '.join(lacking)}")
    for name, kind in schema.items():
        if name in SCHEMA and not fits(kind, SCHEMA[name]):
            raise Failure(ExitCode.INPUT, f"{path}: column {name} is {kind}, not {SCHEMA[name]}")
    of_tcp = [name for name in OF_TCP if name not in schema]
    if of_tcp and lazy(path).select((pl.col("protocol") == TCP).any()).collect().item():
        raise Failure(ExitCode.INPUT, f"{path}: observations of TCP lack {', '.join(of_tcp)}")


def fits(kind: pl.DataType, wanted: pl.DataType) -> bool:
    """Whether a column of one type can be read as another: whole numbers of any width may."""
    if wanted.is_integer():
        return kind.is_integer() or kind == pl.Null
    if wanted.is_float():
        return kind.is_numeric() or kind == pl.Null
    texts = (pl.String, pl.Categorical, pl.Enum)
    return kind in (wanted, pl.Null) or (wanted == pl.String and kind in texts)


def lazy(path: Path) -> pl.LazyFrame:
    """The file, not read yet."""
    return pl.scan_parquet(path) if path.suffix == ENDINGS[0] else pl.scan_ipc(path)


def sources_of(path: Path) -> list[str]:
    """The sources whose rows a trace holds."""
    named = lazy(path).select(pl.col("source").cast(pl.String).unique()).collect()
    return named.to_series().drop_nulls().sort().to_list()


def typed_rows(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the types of observations; Failure names a column whose values do not fit."""
    columns = []
    for name in SCHEMA:
        if name not in rows.columns:
            continue
        try:
            columns.append(rows[name].cast(SCHEMA[name]))
        except pl.exceptions.PolarsError:
            reason = f"column {name} holds values that are no {SCHEMA[name]}"
            raise Failure(ExitCode.INPUT, f"{path}: {reason}") from None
        if name in ALWAYS and columns[-1].null_count():
            raise Failure(ExitCode.INPUT, f"{path}: column {name} has rows without a value")
    made = pl.DataFrame(columns)
    if said := beyond(made):
        raise Failure(ExitCode.INPUT, f"{path}: {said}")
    return made


def slices(path: Path) -> Iterator[pl.DataFrame]:
    """Its rows, without columns that say nothing."""
    for batch in batches(path):
        rows = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))
        typed = typed_rows(path, rows)
        yield together(
            typed.select(
                column
                for column in typed
                if column.null_count() < rows.height or column.name in NEEDED
            )
        )


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Its record batches."""
    if path.suffix == ENDINGS[0]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            yield from file.iter_batches(ROWS)
        return
    with pa.ipc.open_file(path) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)
