"""What can be typed behind `hopsight topology`; what it does is in `service/commands/`."""

from pathlib import Path
from typing import Annotated

import typer

from service.argument import Json

topology = typer.Typer(
    name="topology",
    help="The topology file: checked, shown, made from what operators have.",
    no_args_is_help=True,
)
imports = typer.Typer(
    name="import", help="Make a topology file from another description.", no_args_is_help=True
)
topology.add_typer(imports)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Topology (YAML), or a folder of them.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write here; default: standard output."),
]
Told = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON for machines: what was made and what is unknown; without -o the topology"
        " too.",
    ),
]
Description = Annotated[Path, typer.Argument(metavar="FILE", help="Description, YAML or JSON.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Descriptions, JSON.")]


@topology.command()
def check(file: File, json: Json = False) -> None:
    """Say by line what is inconsistent and what is not told; status 1 if it is inconsistent."""
    from service.commands import topology as command

    command.check(file, json=json)


@topology.command()
def show(
    file: File,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of the version in force then; default: the newest."),
    ] = None,
    json: Json = False,
) -> None:
    """Print devices, ports, hosts and observation points of a topology."""
    from service.commands import topology as command

    command.show(file, at=at, json=json)


@imports.command()
def containerlab(file: Description, output: Output = None, json: Told = False) -> None:
    """From a containerlab topology, *.clab.yml or topology-data.json."""
    from service.commands import topology_import as command

    command.containerlab_file(file, output, json=json)


@imports.command()
def sonic(files: Files, output: Output = None, json: Told = False) -> None:
    """From SONiC's config_db.json of one or more devices."""
    from service.commands import topology_import as command

    command.sonic_files(files, output, json=json)


@imports.command()
def netbox(files: Files, output: Output = None, json: Told = False) -> None:
    """From lists of NetBox, JSON or CSV: devices, interfaces, cables, ip-addresses."""
    from service.commands import topology_import as command

    command.netbox_files(files, output, json=json)
