"""Tokens of inserts in a backup: by them a store that is put back knows what it has, too.

The embedded engine keeps the tokens that a table remembers in files beside its rows. They say
neither when nor by which table they were made, so another store of the same engine takes them as
its own, and whoever repeats an insert finds it done: all of it, or what a table that was filled by
it still lacks. A server lets nobody at its files.
"""

import io
from pathlib import Path

import polars as pl

from pipeline.connection import Connection
from pipeline.tables import TABLES

FILE = "tokens.arrow"
LOGS = "deduplication_logs"
LOG = "deduplication_log_{}.txt"
ADDED, DROPPED = "1", "2"
"""How the engine says that a part came by a token, and that it went with its day."""
SCHEMA = {"table": pl.String, "part": pl.String, "token": pl.String}


def engine_of(connection: Connection) -> str:
    """The version of the engine: another one may make other tokens of the same words."""
    [(version,)] = connection.rows("SELECT version()")
    return str(version)


def tokens_of(connection: Connection) -> bytes | None:
    """What the tables of an embedded store remember, as Arrow; None: it cannot be known."""
    if connection.address.path is None:
        return None
    told: list[tuple[str, str, str]] = []
    for table, folder in _folders(connection).items():
        known = _known(folder)
        if known is None:
            return None
        told += [(table, part, token) for token, part in known.items()]
    written = io.BytesIO()
    pl.DataFrame(told, SCHEMA, orient="row").write_ipc(written, compression="zstd")
    return written.getvalue()


def remember(connection: Connection, tokens: bytes) -> None:
    """Have the tables of an embedded store remember tokens of another one of the same engine.

    Their engine reads its files when a table is attached.
    """
    folders = _folders(connection)
    rows = pl.read_ipc(io.BytesIO(tokens))
    for (table,), own in rows.group_by("table", maintain_order=True):
        folder = folders[str(table)]
        lines = [f"{ADDED}\t{part}\t{token}\n" for _, part, token in own.iter_rows()]
        connection.command(f"DETACH TABLE {table} SYNC")
        try:
            folder.mkdir(exist_ok=True)
            last = max(map(_number, folder.glob(LOG.format("*"))), default=0)
            (folder / LOG.format(last + 1)).write_text("".join(lines))
        finally:
            connection.command(f"ATTACH TABLE {table}")


def _folders(connection: Connection) -> dict[str, Path]:
    """Where each table keeps its tokens."""
    asked = "SELECT name, data_paths[1] FROM system.tables WHERE database = {database:String}"
    found = connection.rows(asked, database=connection.address.database)
    return {name: Path(path) / LOGS for name, path in found if name in TABLES}


def _known(folder: Path) -> dict[str, str] | None:
    """Tokens of a table with their parts, in order; None: they are written in another way."""
    known: dict[str, str] = {}
    for path in sorted(folder.glob(LOG.format("*")), key=_number):
        for line in path.read_text().splitlines():
            match line.split("\t"):
                case [kind, part, token] if kind == ADDED:
                    known[token] = part
                case [kind, _, token] if kind == DROPPED:
                    known.pop(token, None)
                case _:
                    return None
    return known


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])
