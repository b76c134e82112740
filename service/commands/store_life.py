"""`hopsight migrate`, `erase`, `backup`, `restore`: what is done to a whole store."""

import json as json_format
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from pipeline import (
    Piece,
    Store,
    StoreError,
    backup,
    erase,
    files_of_before,
    may_be,
    read_manifest,
    restore,
)
from service.commands.settings import chosen
from service.failure import ExitCode, Failure

STATE = "group_snapshots"
"""Of this table the snapshots that are kept are told, not rows that went."""
FILES_S, LOOK_S = 90.0, 0.5
"""How long is waited for the engine, which looks for files to remove twice a minute."""
LEFT = (
    "parts from before are still on the disk, with what was in them; the engine removes them while"
    " the store is open"
)


@contextmanager
def opened(dsn: str | None, *, dry: bool = False, there: bool = False) -> Iterator[Store]:
    """The store of the settings or of the flag; its errors become failures.

    In a `dry` run a directory that does not exist is not made: an empty store elsewhere stands for
    it. One that has to be `there` is not made either: what is done to a store whose name is wrong
    would seem done.
    """
    settings = chosen(store={"dsn": dsn})
    with told_of_errors(), ExitStack() as ends:
        place = settings.store.dsn
        if there and not may_be(place):
            raise StoreError(f"there is no store at {place}")
        if dry and not may_be(place):
            place = f"chdb://{ends.enter_context(TemporaryDirectory())}/store"
        yield ends.enter_context(Store(place, settings.store))


@contextmanager
def told_of_errors() -> Iterator[None]:
    """Errors of a store and of files as failures."""
    try:
        yield
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        raise Failure(ExitCode.INPUT, f"{named}{error.strerror}") from None


def run_migrate(*, store: str | None, dry_run: bool, json: bool) -> None:
    """Bring the tables up to date, or say what would be done."""
    with opened(store, dry=dry_run) as held:
        statements = held.pending() if dry_run else held.migrate()
    if json:
        typer.echo(json_format.dumps({"dry_run": dry_run, "statements": statements}))
        return
    for statement in statements:
        typer.echo(f"{statement};" if dry_run else statement.partition("\n")[0][:100])
    told = f"{len(statements)} statement{'' if len(statements) == 1 else 's'}"
    typer.echo(f"{told} would be run" if dry_run else f"{told} run; the tables are up to date")


def run_erase(address: str, *, store: str | None, json: bool) -> None:
    """Take an address out of every table."""
    try:
        known = ip_address(address)
    except ValueError:
        raise Failure(ExitCode.USAGE, f"{address!r} is no IPv4 or IPv6 address") from None
    with opened(store, there=True) as held:
        held.migrate()
        gone = erase(held, known)
        left = _waited_for(held)
    if left:
        typer.echo(f"{left} {LEFT}", err=True)
    state = gone.pop(STATE)
    if json:
        typer.echo(
            json_format.dumps({"address": str(known), "rows": gone, "snapshots_kept": state})
        )
        return
    for table, rows in gone.items():
        typer.echo(f"{table}: {rows} rows erased")
    typer.echo(f"{known}: {sum(gone.values())} rows erased from {len(gone)} tables")
    if state:
        typer.echo(f"{state} snapshots of workers' state are kept; a flow leaves them when it ends")


def _waited_for(store: Store) -> int:
    """Files of before that an embedded store has kept after all the time that it is given.

    A server keeps them for longer than somebody waits, and removes them whoever is there.
    """
    until_s = time.monotonic() + FILES_S
    while (left := files_of_before(store)) and store.address.path and time.monotonic() < until_s:
        time.sleep(LOOK_S)
    return left


def run_backup(folder: Path, *, store: str | None, json: bool) -> None:
    """Write a backup."""
    with opened(store, there=True) as held:
        try:
            pieces = backup(held, folder, _told(), _said)
        except OSError as error:
            said = f"{error.filename or folder}: {error.strerror}"
            raise Failure(ExitCode.UNAVAILABLE, said) from None
    if json:
        typer.echo(_moved(folder, pieces))
        return
    typer.echo(f"{folder}: {sum(piece.rows for piece in pieces)} rows in {len(pieces)} files")


def run_restore(folder: Path, *, store: str | None, repeat: bool, json: bool) -> None:
    """Put a backup into an empty store."""
    with told_of_errors():
        read_manifest(folder)  # or a store would be made for nothing
    with opened(store) as held:
        pieces = restore(held, folder, _told(), _said, repeat=repeat)
    if json:
        typer.echo(_moved(folder, pieces))
        return
    typer.echo(f"{sum(piece.rows for piece in pieces)} rows of {len(pieces)} files restored")


def _moved(folder: Path, pieces: Sequence[Piece]) -> str:
    """What was written or put back, as JSON: rows of each table."""
    rows = Counter[str]()
    for piece in pieces:
        rows[piece.table] += piece.rows
    return json_format.dumps({"folder": str(folder), "files": len(pieces), "rows": rows})


def _told() -> Callable[[str, int], None]:
    """Says on standard error how far it has come, file by file."""

    def tell(table: str, rows: int) -> None:
        typer.echo(f"{table}: {rows} rows", err=True)

    return tell


def _said(sentence: str) -> None:
    """Says on standard error what is not exact."""
    typer.echo(sentence, err=True)
