"""What can be typed behind `hopsight replay` and `hopsight archive`; they are in `commands/`."""

from pathlib import Path
from typing import Annotated

import typer

from service import completion
from service.argument import Assignments, Json, Store, Tenant, Topology, Vni, Vrf, network_of

From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Begin, of what a store or a bus holds; default: all."
    ),
]
To = Annotated[
    str | None, typer.Option(metavar="TIME", help="End, of what a store or a bus holds.")
]

ReplayedBus = Annotated[
    str | None,
    typer.Option(
        "--bus", metavar="URL", help="What a bus holds: kafka://host:port/topic, to its end."
    ),
]
FromOffset = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of a bus: begin at this offset of each partition; -N: N messages before its end.",
    ),
]
Traces = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CAPTURE...",
        help="pcap or pcapng, plain, .gz, .zst or .lz4, or observations: .parquet, .arrow;"
        " without any, the store",
    ),
]
Flow = Annotated[
    str | None,
    typer.Option(metavar='"SRC:PORT DST:PORT"', help="Only this flow, in the data's direction."),
]
ReplayedPoint = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Observation point, also of captures that name none; default: for each flow the one"
        " that knows best.",
    ),
]


def replay(
    captures: Traces = None,
    *,
    flow: Flow = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="hpcc, dctcp or the name of a companion, which is run then; default: what the"
            " frames carry, and companions in force.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    assignments: Assignments = None,
    topology: Topology = None,
    json: Json = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add the reason of each branch in words.")
    ] = False,
    point: ReplayedPoint = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write decisions as columns: .parquet or .arrow."),
    ] = None,
    pcapng: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the captures once more, as pcapng with each decision as a comment of its"
            " packet.",
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Compare with the decisions under another parameter, setting (pipeline.NAME) or"
            " algorithm (algorithm=NAME), the signals held fixed; repeatable.",
            autocompletion=completion.assignments,
        ),
    ] = None,
    closed_loop: Annotated[
        bool,
        typer.Option(
            "--closed-loop",
            help="Rebuild the fabric from the frames and play it: how well it repeats what was"
            " seen, and with --what-if what changes; there fabric.NAME=VALUE too.",
        ),
    ] = False,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,C",
            help="Work out every point of a grid, of decisions or with --closed-loop; also"
            " NAME=LOW..HIGH:COUNT; repeatable. Goes on where --output (.parquet, .csv) ended.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Of a sweep: what ranks its rows.",
            autocompletion=completion.measures,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Of a sweep: processes; default: all cores.", min=1)
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one self-contained report: .html or .md, with verdicts, charts, the"
            " decisions that mattered, and what it was made of.",
        ),
    ] = None,
    conduct: Annotated[
        bool,
        typer.Option(
            "--conduct",
            help="Of a report: what senders and receivers did too, as hopsight conform has it; it"
            " may take twice as long.",
        ),
    ] = False,
    tenant: Tenant = None,
    vrf: Vrf = None,
    vni: Vni = None,
    store: Store = None,
    bus: ReplayedBus = None,
    from_offset: FromOffset = None,
    from_: From = None,
    to: To = None,
) -> None:
    """Print what congestion control decided at each ACK, and the branch that made it."""
    from service.commands import replay as command

    request = command.Request(
        captures=captures or [],
        flow=flow,
        algorithm=algorithm,
        assignments=assignments or [],
        topology=topology,
        json=json,
        explain=explain,
        point=point,
        output=output,
        what_if=what_if or [],
        closed_loop=closed_loop,
        sweep=sweep or [],
        by=by,
        jobs=jobs,
        report=report,
        conduct=conduct,
        store=store,
        from_=from_,
        to=to,
        pcapng=pcapng,
        bus=bus,
        from_offset=from_offset,
        network=network_of(tenant, vrf, vni),
    )
    command.run(request)


def archive(
    flow: Annotated[
        list[str],
        typer.Option(
            metavar='"SRC:PORT DST:PORT"',
            help="A flow to keep, both its directions, of several with these ends all; repeatable.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to: .parquet or .arrow.")],
    from_: From = None,
    to: To = None,
    tenant: Tenant = None,
    vrf: Vrf = None,
    vni: Vni = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Keep the observations of flows past their retention, in a file that replay reads."""
    from service.commands import archive as command

    command.run(
        flows=flow, output=output, from_=from_, to=to, network=network_of(tenant, vrf, vni),
        store=store, json=json,
    )  # fmt: skip
