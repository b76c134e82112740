"""What can be typed about a whole store; what it does is in `service/commands/store_life.py`."""

from pathlib import Path
from typing import Annotated

import typer

from service.argument import Json, Store

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup.")]


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the statements and run none.")
    ] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Make or complete the store's tables; may be repeated, and refuses a newer schema."""
    from service.commands import store_life

    store_life.run_migrate(store=store, dry_run=dry_run, json=json)


def erase(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="IPv4 or IPv6 address.")],
    store: Store = None,
    json: Json = False,
) -> None:
    """Take an address out of every table, and say how many rows went."""
    from service.commands import store_life

    store_life.run_erase(address, store=store, json=json)


def backup(folder: Folder, store: Store = None, json: Json = False) -> None:
    """Write all tables into an empty folder, as Parquet files beside a manifest."""
    from service.commands import store_life

    store_life.run_backup(folder, store=store, json=json)


def restore(
    folder: Folder,
    repeat: Annotated[
        bool,
        typer.Option(
            "--repeat",
            help="Workers and commands repeat what the backup may have: it may count twice.",
        ),
    ] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Put a backup into an empty store."""
    from service.commands import store_life

    store_life.run_restore(folder, store=store, repeat=repeat, json=json)
