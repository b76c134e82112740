"""Words and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from service import completion

Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...", help="pcap or pcapng, plain, .gz, .zst or .lz4; - is stdin"
    ),
]
Inputs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[CAPTURE...]",
        help="pcap or pcapng, plain, .gz, .zst or .lz4; - is stdin; a directory stands for its"
        " files",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="DSN", help="Store: chdb:///directory. Default: setting store.dsn."
    ),
]
Bus = Annotated[
    str | None,
    typer.Option(
        "--bus", metavar="URL", help="Bus: kafka://host:port/topic. Default: setting bus.url."
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of congestion control, NAME or ALGORITHM.NAME, or a setting,"
        " collector.NAME or pipeline.NAME; repeatable.",
        autocompletion=completion.assignments,
    ),
]
CollectorAssignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="collector.NAME=VALUE",
        help="Set a setting; repeatable.",
        autocompletion=completion.collector_settings,
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Of flows with these ends that of this tenant."),
]
Vrf = Annotated[
    str | None, typer.Option("--vrf", metavar="NAME", help="Of flows with these ends that of it.")
]
Vni = Annotated[
    int | None, typer.Option("--vni", help="Of flows with these ends that of it.", min=0)
]

Topology = Annotated[
    Path | None,
    typer.Option("--topology", metavar="FILE", help="Topology (YAML) that names the hops."),
]
Point = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Observation point of captures that name none."),
]
Interfaces = Annotated[
    list[str] | None,
    typer.Option(
        "--interface",
        "-i",
        metavar="IF",
        help="Capture this interface by dumpcap; repeatable.",
        autocompletion=completion.interfaces,
    ),
]
Expression = Annotated[
    str | None,
    typer.Option(
        "--filter", metavar="EXPRESSION", help="Of interfaces: frames that pcap-filter(7) keeps."
    ),
]
IntReports = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST:PORT", help="Listen for INT telemetry reports; repeatable."),
]
Sflow = Annotated[
    list[str] | None, typer.Option(metavar="HOST:PORT", help="Listen for sFlow; repeatable.")
]
Following = Annotated[
    bool,
    typer.Option("--follow", help="Read files as they grow, directories as files arrive in them."),
]
Server = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Ask the service there instead of a store; HOPSIGHT_TOKEN is the token it is sent.",
    ),
]
Host = Annotated[
    str | None, typer.Option(help="Address to listen on; any but loopback needs a login.")
]
Port = Annotated[
    int | None, typer.Option(help="TCP port to listen on; 0 takes a free one.", min=0, max=65_535)
]
At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="End of the window; default: when the flow was last seen."),
]
Window = Annotated[str, typer.Option(metavar="DURATION", help="How far back from TIME to look.")]
Interval = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="Length of the intervals that answer, such as 1ms, 100ms or 1s; default: the longest"
        " that suits the window.",
    ),
]


def network_of(tenant: str | None, vrf: str | None, vni: int | None) -> dict[str, str | int | None]:
    """What tells flows with the same ends apart; None of what may be any."""
    return {"tenant": tenant, "vrf": vrf, "vni": vni}
