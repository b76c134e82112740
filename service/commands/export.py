"""`hopsight export --anonymised`: loads between prefixes for another autonomous system, as JSON."""

import json as json_format
import os
from pathlib import Path

import polars as pl
import typer

from pipeline import MOST_GAPS, OwnerClient, Store, StoreError, open_or_ask
from service.anonymous import Anonymiser, anonymised, exported
from service.commands.settings import chosen
from service.coverage import captured_share
from service.export_key import ExportKeyError, export_key
from service.failure import ExitCode, Failure
from service.routes.span import Span
from service.routes.te import MOST_ALL, WIDTHS, Covering, covered
from service.typed import moment


def run(
    *,
    anonymous: bool,
    interval: str,
    from_: str | None,
    to: str | None,
    key_file: Path | None,
    store: str | None,
) -> None:
    """Print the export; nothing else can be exported, so `--anonymised` has to be said."""
    if not anonymous:
        raise Failure(ExitCode.USAGE, "--anonymised: only an anonymised export exists; say so")
    if interval not in WIDTHS:
        raise Failure(ExitCode.USAGE, f"--interval: accepted are {', '.join(WIDTHS)}")
    settings = chosen(store={"dsn": store}, service={"export_key_file": key_file})
    ends = from_ns, to_ns = moment("--from", from_), moment("--to", to)
    if from_ns is not None and to_ns is not None and to_ns <= from_ns:
        raise Failure(ExitCode.USAGE, "--to: is not after --from")
    try:
        key = export_key(os.environ, settings.service.export_key_file)
        with open_or_ask(settings.store.dsn, settings.store) as opened:
            found = document(opened, Anonymiser(key), interval, *ends)
    except ExportKeyError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"--from, --to: {error}") from None
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    typer.echo(json_format.dumps(found, allow_nan=False))


def document(
    store: Store | OwnerClient,
    anonymiser: Anonymiser,
    interval: str,
    from_ns: int | None,
    to_ns: int | None,
) -> dict[str, object]:
    """The export of the cells of a time; without one, of the latest."""
    word, width = WIDTHS[interval]
    rollup = f"path_{word}"
    extent = store.query("te_extent", rollup=rollup).row(0, named=True)
    if not extent["rows"]:
        raise Failure(ExitCode.WRONG, "the store holds no loads of paths")
    end = extent["last_ns"] + width if to_ns is None else -(-to_ns // width) * width
    start = end - width if from_ns is None else from_ns // width * width
    rows: pl.DataFrame = store.query(
        "te_paths", rollup=rollup, from_ns=start, to_ns=end, dscp=-1, rows=MOST_ALL,
        scope="prefix", src="", dst="",
    )  # fmt: skip
    share = captured_share((start, end), store.query("capture_gaps", rows=MOST_GAPS))
    about = covered(rows, Covering(Span(start, end), width, share))
    return exported(anonymised(rows, anonymiser), about)
