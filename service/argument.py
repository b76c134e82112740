"""Words and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...", help="pcap or pcapng, plain, .gz, .zst or .lz4; - is stdin"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="DSN", help="Store: chdb:///directory. Default: setting store.dsn."
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of congestion control, NAME or ALGORITHM.NAME, or a setting,"
        " collector.NAME or pipeline.NAME; repeatable.",
    ),
]
Topology = Annotated[
    Path | None,
    typer.Option("--topology", metavar="FILE", help="Topology (YAML) that names the hops."),
]
Point = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Observation point of captures that name none."),
]
