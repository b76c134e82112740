"""Backup: the tables of a store as Parquet files beside a manifest, and back into an empty store.

Files are made of whole days, cut by time so that none grows too large to be held in memory. Each
has its digest in the manifest, which is written last: a folder without one is no backup. Rows keep
the time at which they were stored, so retention goes on where it was. As an embedded store a backup
is for its owner alone: rows name hosts and what they sent.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import polars as pl

from pipeline.backup_manifest import (
    MANIFEST,
    Manifest,
    Piece,
    Tokens,
    manifest_from,
    manifest_of,
)
from pipeline.backup_tokens import FILE as TOKENS
from pipeline.backup_tokens import engine_of, remember, tokens_of
from pipeline.connection import Connection
from pipeline.room import days_of
from pipeline.store import Store
from pipeline.store_error import StoreError
from pipeline.tables import TABLES, Table
from pipeline.tables.column import STORED_AT
from pipeline.tables.gathered import gathered
from pipeline.unsettled import close, halt, logs_of, named, unsettled

PLAIN = "MergeTree"
"""The engine of tables whose rows are never joined."""
ROWS = 500_000
"""Rows of a file, about."""
Progress = Callable[[str, int], None]
"""Is told a table and its rows, file by file."""
UNSETTLED = (
    "{}: workers ran, or did not end by SIGTERM, and this store does not tell which rows since"
    " their last snapshot are in the backup: no worker goes on from it there; end them by SIGTERM"
    " and back up again"
)
NOT_REPEATED = (
    "{}: which of its rows are stored is not known here, and what was stored would be stored again:"
    " {}; with --repeat it would"
)
Say = Callable[[str], None]
"""Is told in a sentence what is not exact."""


def backup(
    store: Store, folder: Path, progress: Progress = lambda *_: None, say: Say = lambda _: None
) -> list[Piece]:
    """Write everything into a folder that is empty or new. Raises StoreError and OSError."""
    _refuse_cluster(store)
    store.readable()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise StoreError(f"{folder} is not empty; a backup takes a folder of its own")
    with suppress(PermissionError):  # a folder of another owner; the files are for us alone too
        folder.chmod(0o700)
    pieces = []
    before = logs_of(store)
    with store.alone() as connection:
        days = days_of(connection)
    for table in TABLES.values():
        if table.feeds:  # made again out of the others
            continue
        held = sorted({day.partition for day in days if day.table == table.name})
        for partition in held:
            for number, where in enumerate(_cut(store, table, partition)):
                piece = _written(
                    store, table, where, folder / f"{table.name}-{partition}-{number}.parquet"
                )
                if piece is not None:
                    pieces.append(piece)
                    progress(table.name, piece.rows)
    tokens = _tokens(store, folder)
    open_places = unsettled(before, logs_of(store))
    if open_places and tokens is None:
        say(UNSETTLED.format(named(open_places)))
    unfinished = folder / f"{MANIFEST}.part"
    _put(unfinished, manifest_of(pieces, tokens, open_places).encode())
    unfinished.replace(folder / MANIFEST)
    return pieces


def _tokens(store: Store, folder: Path) -> Tokens | None:
    """A file with what the tables remember; None: nobody can tell."""
    with store.alone() as connection:
        octets, engine = tokens_of(connection), engine_of(connection)
    if octets is None:
        return None
    _put(folder / TOKENS, octets)
    return Tokens(file=TOKENS, digest=_digest(octets), engine=engine)


def _refuse_cluster(store: Store) -> None:
    """One node sees its own rows alone."""
    if store.limits.cluster:
        raise StoreError(
            "store.cluster is set: a cluster is backed up by its own BACKUP statement, this one"
            " would have the rows of one node"
        )


def restore(
    store: Store,
    folder: Path,
    progress: Progress = lambda *_: None,
    say: Say = lambda _: None,
    *,
    repeat: bool = False,
) -> list[Piece]:
    """Put a backup into a store without rows; one that was broken off begins with a new store.

    What fills rollups is taken away meanwhile, since the backup has their rows too. Where it is not
    known which inserts the rows are of, nothing is repeated unless `repeat` says so. Raises
    StoreError for a store with rows of its own, and for a damaged or foreign backup.
    """
    _refuse_cluster(store)
    manifest = manifest_in(folder)
    pieces = manifest.pieces
    _refuse_unnamed(folder, pieces)
    store.migrate()
    with store.alone() as connection:
        _refuse_rows(connection)
        for piece in pieces:  # all of them before the first row: half a store helps nobody
            _check_table(folder, piece, _intact(folder, piece))
        tokens = _usable(connection, folder, manifest.tokens)
        for table in TABLES.values():
            if table.fed_by:
                connection.command(f"DROP VIEW IF EXISTS {table.name}_feed SYNC")
            for feed in table.feeds:
                connection.command(f"DROP VIEW IF EXISTS {feed.view(table.name)} SYNC")
        for piece in pieces:
            body = _intact(folder, piece)
            table = TABLES[piece.table]
            with _readable(folder, piece):
                now = _as_now(table, body)
            connection.put(piece.table, _columns(table), now, f"restore/{piece.digest}")
            progress(piece.table, piece.rows)
        if tokens is not None:
            remember(connection, tokens)
    store.migrate()
    if tokens is None and not repeat:
        if halted := halt(store, manifest.unsettled):
            say(NOT_REPEATED.format(named(halted), "no worker goes on there"))
        if closed := close(store):
            say(NOT_REPEATED.format(named(closed), "no command stores it again"))
    return pieces


def _usable(connection: Connection, folder: Path, tokens: Tokens | None) -> bytes | None:
    """Tokens that this store can take: one of the same embedded engine."""
    if tokens is None or connection.address.path is None or tokens.engine != engine_of(connection):
        return None
    return _intact(folder, tokens)


def _refuse_unnamed(folder: Path, pieces: Sequence[Piece]) -> None:
    """Raises StoreError for a file of rows that the manifest does not name: it would be lost."""
    left = {path.name for path in folder.glob("*.parquet")} - {piece.file for piece in pieces}
    if left:
        raise StoreError(f"{folder / min(left)}: {MANIFEST} there does not name it")


def _intact(folder: Path, piece: Piece | Tokens) -> bytes:
    """The octets of a piece. Raises StoreError for others."""
    try:
        body = (folder / piece.file).read_bytes()
    except OSError as error:
        raise StoreError(f"{folder / piece.file} cannot be read: {error.strerror}") from error
    if _digest(body) != piece.digest:
        raise StoreError(f"{folder / piece.file} is damaged: it has another digest")
    return body


@contextmanager
def _readable(folder: Path, piece: Piece) -> Iterator[None]:
    """Says of a piece that is no file of rows that it is none."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise StoreError(f"{folder / piece.file} is no piece of a backup: {said}") from None


def _check_table(folder: Path, piece: Piece, body: bytes) -> None:
    """Raises StoreError for rows that are none of their table, or not as many as are told."""
    table = TABLES[piece.table]
    with _readable(folder, piece):
        rows = pl.scan_parquet(io.BytesIO(body))
        columns = rows.collect_schema().names()
        found: int = rows.select(pl.len()).collect().item()
    known = {*_columns(table), *table.gone, *_single(table)}
    if foreign := [name for name in columns if name not in known]:
        raise StoreError(f"{folder / piece.file} has {foreign[0]}, which is not of {piece.table}")
    if found != piece.rows:
        raise StoreError(f"{folder / piece.file} has {found} rows; the manifest says {piece.rows}")


def read_manifest(folder: Path) -> list[Piece]:
    """The files of a backup. Raises StoreError."""
    return manifest_in(folder).pieces


def manifest_in(folder: Path) -> Manifest:
    """What the manifest in a folder says. Raises StoreError."""
    try:
        octets = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise StoreError(f"{folder} is no backup: {MANIFEST} there: {error.strerror}") from None
    return manifest_from(octets, str(folder))


def _cut(store: Store, table: Table, partition: str) -> Iterator[str]:
    """Conditions that divide a day of a table."""
    inside = f"_partition_id = '{partition}'"
    bounds = _bounds(store, table, inside)
    edges = [None, *bounds, None]
    for low, high in pairwise(edges):
        above = "" if low is None else f" AND {table.time} >= {low}"
        below = "" if high is None else f" AND {table.time} < {high}"
        yield f"{inside}{above}{below}"


def _bounds(store: Store, table: Table, inside: str) -> list[int]:
    """Times between which about `ROWS` rows lie."""
    with store.alone() as connection:
        [(rows,)] = connection.rows(f"SELECT count() FROM {table.name} WHERE {inside}")  # noqa: S608 - the engine's own names
        parts = -(-int(rows) // ROWS)
        if parts <= 1 or not table.time:
            return []
        at = ", ".join(str(number / parts) for number in range(1, parts))
        [(bounds,)] = connection.rows(
            f"SELECT quantilesExact({at})({table.time}) FROM {table.name} WHERE {inside}"  # noqa: S608 - our own names
        )
    return [*dict.fromkeys(map(int, bounds))]


def _written(store: Store, table: Table, where: str, path: Path) -> Piece | None:
    """A file with the rows of a condition; None: there are none.

    Rows of one key are joined here: by the order of their parts, of which a file tells nothing.
    """
    columns = ", ".join(f"`{name}`" for name in _columns(table))
    rows_of = f"{table.name}{'' if table.engine == PLAIN else ' FINAL'} WHERE {where}"
    with store.alone() as connection:
        body = connection.parquet(f"SELECT {columns} FROM {rows_of}")  # noqa: S608 - our own names
    rows: int = pl.scan_parquet(io.BytesIO(body)).select(pl.len()).collect().item()
    if not rows:
        return None
    _put(path, body)
    return Piece(file=path.name, table=table.name, rows=rows, digest=_digest(body))


def _put(path: Path, body: bytes) -> None:
    """Write a new file that its owner alone may read."""
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(body)


def _refuse_rows(connection: Connection) -> None:
    """Restoring beside rows would add both up."""
    for table in TABLES.values():
        [(rows,)] = connection.rows(f"SELECT count() FROM {table.name}")  # noqa: S608 - our own names
        if rows:
            raise StoreError(
                f"the store has rows in {table.name} already; restore takes an empty one"
            )


def _columns(table: Table) -> list[str]:
    """Columns that hold something, and when it was stored."""
    return [*(column.name for column in table.columns), STORED_AT]


def _single(table: Table) -> set[str]:
    """Columns that backups of before may have, of which each is in an array now."""
    return {name for each in table.gathered for name in each.of}


def _as_now(table: Table, body: bytes) -> bytes:
    """A file in the columns of today: those that are kept as arrays now were single before."""
    if not _single(table) & pl.read_parquet_schema(io.BytesIO(body)).keys():
        return body
    written = io.BytesIO()
    gathered(pl.read_parquet(io.BytesIO(body)), table.gathered).write_parquet(written)
    return written.getvalue()


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
