"""The `hopsight` command: what can be typed. What each command does is in `service/commands/`.

Only typer is imported here, so that help and completion come at once; a command loads its engines
when it runs.
"""

import atexit
import faulthandler
import gc
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from service import completion
from service.alerts_words import alerts
from service.analyze_words import analyze
from service.argument import (
    Assignments,
    At,
    Host,
    Interval,
    Json,
    Port,
    Server,
    Store,
    Tenant,
    Vni,
    Vrf,
    Window,
    network_of,
)
from service.bus_words import collect, pipeline
from service.conform_words import conform
from service.decoding import decode
from service.doctor_words import doctor
from service.ending import ended
from service.failure import EXIT_CODES, ExitCode, Failure
from service.hangup import wait_to_reload
from service.health_words import health
from service.plugin import wireshark
from service.replay_words import archive, replay
from service.spans_words import spans
from service.store_words import backup, erase, migrate, restore
from service.token_words import token
from service.top_words import top, watch
from service.topology_words import topology as topology_words
from service.up_words import up

EPILOG = (
    "Exit codes: "
    + "; ".join(f"{code.value} {meaning}" for code, meaning in EXIT_CODES.items())
    + "."
)

COLLECT_AFTER = 1_000_000
"""New objects before Python looks for garbage: engines load many, which stay."""

app = typer.Typer(
    name="hopsight",
    help="Where is this flow bottlenecked, and what did its congestion control make of it?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(wireshark)
app.add_typer(topology_words)
app.add_typer(alerts)
app.command()(decode)
app.command()(analyze)
app.command()(up)
app.command()(doctor)
app.command()(top)
app.command()(watch)
app.command()(health)
app.command()(collect)
app.command()(pipeline)
app.command()(migrate)
app.command()(erase)
app.command()(backup)
app.command()(restore)
app.command()(replay)
app.command()(conform)
app.command()(archive)
app.command()(token)
app.command()(spans)

Protocol = Annotated[
    str,
    typer.Option("--proto", help="tcp, udp, … or a number.", autocompletion=completion.protocols),
]


def _version(wanted: bool) -> None:
    if wanted:
        from service.version import version

        typer.echo(f"hopsight {version()}")
        raise typer.Exit


@app.callback()
def settings_of_all(
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="TOML file of settings.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answer where flows are bottlenecked, from packets that a network already sends."""
    from service.logs import unheard

    del version
    unheard()
    if settings is not None:
        if not settings.is_file():
            why = "is a directory" if settings.is_dir() else "there is no such file"
            raise Failure(ExitCode.USAGE, f"--settings {settings}: {why}")
        os.environ["HOPSIGHT_SETTINGS"] = str(settings)


@app.command()
def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End after the table; status 1 if answers are wrong.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the fabric's traffic.", min=0)] = 1,
    directory: Annotated[
        Path, typer.Option(help="Where capture, truth and store are written.")
    ] = Path("demo"),
    port: Port = None,
    json: Json = False,
) -> None:
    """Run a fabric with known bottlenecks through everything, then serve the console."""
    from service.commands import demo as command

    command.run(once=once, seed=seed, directory=directory, port=port, json=json)


@app.command()
def export(
    anonymised: Annotated[
        bool, typer.Option("--anonymised", help="Ratios and changed addresses only; must be said.")
    ] = False,
    interval: Annotated[
        str, typer.Option(metavar="1s|1m|1h", help="Width of a cell of time.")
    ] = "1m",
    from_: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Begin; default: one cell.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="TIME", help="End; default: the latest that is stored.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key; default: HOPSIGHT_EXPORT_KEY."),
    ] = None,
    store: Store = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, as without it: there is no other form.")
    ] = False,
) -> None:
    """Print loads between prefixes for another autonomous system: ratios, addresses anonymised."""
    from service.commands import export as command

    del json
    command.run(
        anonymous=anonymised,
        interval=interval,
        from_=from_,
        to=to,
        key_file=key_file,
        store=store,
    )


@app.command()
def where(
    src: Annotated[
        str,
        typer.Argument(metavar="SRC:PORT", help="Sender, 10.0.0.1:40000 or [2001:db8::1]:40000."),
    ],
    dst: Annotated[str, typer.Argument(metavar="DST:PORT", help="Receiver.")],
    proto: Protocol = "tcp",
    at: At = None,
    window: Window = "10s",
    interval: Interval = None,
    tenant: Tenant = None,
    vrf: Vrf = None,
    vni: Vni = None,
    store: Store = None,
    server: Server = None,
    json: Json = False,
) -> None:
    """Say where one flow is bottlenecked, since when, and on what evidence."""
    from service.commands import where as command

    command.run(
        src=src, dst=dst, proto=proto, at=at, window=window, interval=interval,
        network=network_of(tenant, vrf, vni), store=store, server=server, json=json,
    )  # fmt: skip


@app.command()
def serve(store: Store = None, host: Host = None, port: Port = None, json: Json = False) -> None:
    """Serve API and console, and own the embedded store."""
    wait_to_reload()
    from service.commands import serve as command

    command.run(store=store, host=host, port=port, json=json)


@app.command()
def dissect(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="pcap or pcapng.")],
    frame: Annotated[int, typer.Argument(metavar="FRAME", help="Number of the frame, from 1.")],
    json: Json = False,
    assignments: Assignments = None,
) -> None:
    """Print one packet: what hopsight reads of it, and what Wireshark does with hopsight's help."""
    from service.commands import dissect as command

    command.run(capture, frame, assignments or [], json=json)


@app.command()
def settings(
    check: Annotated[
        bool, typer.Option("--check", help="Say whether they can be used, as without an option.")
    ] = False,
    dump: Annotated[
        bool, typer.Option("--dump", help="Print every setting with its value and meaning.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the settings in force, or print them; status 2 where one is wrong."""
    from service.commands import settings as command

    command.run(check=check, dump=dump, json=json)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `hopsight`: ends with a documented exit code, never with a traceback."""
    if sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)  # what native code does to the process is told
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # memory goes back whole; to look through it takes 0.3 s
    if isinstance(sys.stdout, TextIOWrapper):  # an arrow that a locale lacks costs no answer
        sys.stdout.reconfigure(errors="replace")
    try:
        code = ended(typer.main.get_command(app), arguments)
    except Exception as error:
        if os.environ.get("PYTHONDEVMODE"):
            raise
        kind = type(error).__name__
        typer.echo(
            f"hopsight: a fault of hopsight itself ({kind}: {error}); PYTHONDEVMODE=1 shows where",
            err=True,
        )
        code = ExitCode.INTERNAL
    sys.exit(int(code))


if __name__ == "__main__":
    main()
