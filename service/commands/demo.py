"""`hopsight demo`: a fabric with known bottlenecks through everything, truth beside answers."""

import json as json_format
import sys
from collections.abc import Callable, Mapping
from functools import partial
from os.path import relpath
from pathlib import Path
from shutil import rmtree, which
from typing import Any

import polars as pl
import typer

from collector import write_pcapng
from pipeline import Output, Store, StoreError, StoreOwned, Topology, Worker, address_text
from replay import (
    Score,
    Truth,
    World,
    frames_of,
    points,
    scenario,
    score,
    simulate,
    topology,
    truth_of,
)
from service.accounting_text import accounting_line
from service.commands.serve import serve_store, told_json
from service.commands.settings import chosen, toml_value
from service.failure import ExitCode, Failure
from service.keeping import store_sink
from service.run import Job, Sink, run_job
from service.server import bind
from service.settings import Settings
from service.text import NONE, Heading, console, flow, load, progress_console, share, table
from service.topology_source import read_topology, store_topology
from service.warming import warming

INT_DSCP = 23
"""DSCP value by which the demo's INT sources announce INT over TCP."""
INTERVAL_MS = 10.0
MILLION = 1_000_000
AGREEMENT = 0.95
"""Share of flow-intervals that must agree with the truth."""
CAPTURE, TOPOLOGY, SETTINGS, STORE = "capture.pcapng", "topology.yaml", "hopsight.toml", "store"
TRUTH = "truth.parquet"
Tell = Callable[[str], None]
HEADINGS = (
    Heading("flow"),
    Heading("telemetry"),
    Heading("truth"),
    Heading("hopsight"),
    Heading("kind"),
    Heading("u", numeric=True),
    Heading("confidence", numeric=True),
    Heading("intervals", numeric=True),
)


def run(*, once: bool, seed: int, directory: Path, port: int | None, json: bool) -> None:
    """Make the fabric, analyze its capture, print the table, then serve unless `once`."""
    world = scenario.demo(seed)
    settings = settings_for(directory, port, world)
    tell = partial(typer.echo, err=json)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(ExitCode.UNAVAILABLE, f"{directory}: {error.strerror}") from None
    with opened(settings, directory) as store:
        # The fabric's code is compiled here, the worker's beside it.
        with warming("judge") as ready:
            truth, fabric = make(directory, settings, world, seed, tell)
            found, frames = analyze(directory, settings, fabric, store, ready)
        tell(accounting_line(frames))
        result = score(truth, found)
        if json:
            typer.echo(
                json_format.dumps(plain(directory, settings, frames, result), allow_nan=False)
            )
        else:
            show(result)
        if once:
            if not result.measured_right or result.agreement < AGREEMENT:
                raise Failure(ExitCode.WRONG, failing(result))
            return
        explain(directory, world, result, tell)
        with bind(settings.service.host, settings.service.port) as listener:
            source = read_topology(directory / TOPOLOGY, None)
            serve_store(settings, store, listener, told_json if json else told, source)


def told(url: str) -> None:
    """Where to look, and how to end."""
    typer.echo(f"console and API: {url}  (Ctrl-C ends)")


def settings_for(directory: Path, port: int | None, world: World) -> Settings:
    """The demo's settings: its own telemetry numbers, a short interval, a store of its own.

    And what the fabric's senders were told beyond their documents' defaults.
    """
    return chosen(
        collector={"int_dscp": INT_DSCP},
        pipeline={"interval_ms": INTERVAL_MS, **world_parameters(world)},
        store={"dsn": f"chdb://{(directory / STORE).resolve()}"},
        service={"port": port},
    )


def opened(settings: Settings, directory: Path) -> Store:
    """A new store in the demo's directory; the one of an earlier demo is removed."""
    place = directory / STORE
    try:
        if place.exists():
            # Opening first proves that no running demo owns it.
            Store(settings.store.dsn, settings.store).close()
            rmtree(place)
        store = Store(settings.store.dsn, settings.store)
    except StoreOwned as error:
        raise Failure(ExitCode.STORE, f"{error}; end it or choose another --directory") from None
    except (StoreError, OSError) as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    store.migrate()
    return store


def make(
    directory: Path, settings: Settings, world: World, seed: int, tell: Tell
) -> tuple[Truth, Topology]:
    """Simulate the fabric; write capture, topology, settings and truth."""
    with progress_console().status("simulating a leaf-spine fabric"):
        ran = simulate(world, settings.collector)
    with progress_console().status("writing what its mirrors saw"):
        frames = frames_of(ran, settings.collector)
        write_pcapng(str(directory / CAPTURE), points(world), [frames])
        truth = truth_of(ran, settings.pipeline.lengths_ns[0])
        truth.verdicts.write_parquet(directory / TRUTH)
        fabric = topology(world)
        (directory / TOPOLOGY).write_text(fabric.to_yaml(), encoding="utf-8")
        (directory / SETTINGS).write_text(settings_text(directory, settings), encoding="utf-8")
    tell(
        f"fabric: {len(world.flows)} flows, {world.duration_ns / MILLION:g} ms, seed {seed};"
        f" {len(frames):,} mirrored frames in {directory / CAPTURE}"
    )
    return truth, fabric


def settings_text(directory: Path, settings: Settings) -> str:
    """Settings by which any other command reads the demo's capture, wherever it is typed."""
    place = directory.resolve()
    return (
        "# What the demo's fabric uses where the documents leave numbers open.\n"
        f"[collector]\nint_dscp = {INT_DSCP}\n\n"
        f"[pipeline]\ninterval_ms = {INTERVAL_MS}\n"
        f'dctcp_dialect = "{settings.pipeline.dctcp_dialect}"\n'
        f"parameters = {toml_value(settings.pipeline.parameters)}\n"
        f'topology = "{place / TOPOLOGY}"\n\n'
        f'[store]\ndsn = "chdb://{place / STORE}"\n'
    )


def analyze(
    directory: Path,
    settings: Settings,
    fabric: Topology,
    store: Store,
    ready: Callable[[], None],
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Collector, bus, pipeline, store; gives the verdicts with addresses as text, and the frames.

    Of frames it gives how they ended.
    """
    kept: list[pl.DataFrame] = []
    store_topology(store, fabric)

    def sink(worker: Worker) -> Sink:
        del worker
        keep = store_sink(store)

        def take(output: Output, token: str) -> None:
            keep(output, token)
            if "verdicts" in output.tables:
                kept.append(output.tables["verdicts"])

        return take

    job = Job((directory / CAPTURE,), settings.collector, settings.pipeline, fabric)
    accounting = run_job(job, sink, "collector → bus → pipeline → store", ready)
    return with_text(pl.concat(kept)) if kept else pl.DataFrame(), accounting.numbers


def with_text(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Verdicts with src and dst as text."""
    flows = verdicts.unique("flow").select("flow", "src_hi", "src_lo", "dst_hi", "dst_lo")
    names = [
        {"flow": row["flow"], "src": address_text(row, "src"), "dst": address_text(row, "dst")}
        for row in flows.iter_rows(named=True)
    ]
    keys = pl.DataFrame(names, schema={"flow": pl.UInt64, "src": pl.String, "dst": pl.String})
    return verdicts.join(keys, on="flow", how="left", maintain_order="left")


def show(result: Score) -> None:
    """The bottlenecked flows beside the truth, and how many flow-intervals agree."""
    screen = console()
    held = result.flows.filter((pl.col("truth") != "none") | (pl.col("seen") != "none"))
    screen.print(table(HEADINGS, map(_row, held.iter_rows(named=True))))
    free = result.flows.height - held.height
    screen.print(f"{free} more flows are limited by their senders only, and are said to be.")
    agreeing, scored = result.intervals["agrees"].sum(), result.intervals.height
    screen.print(
        f"agreement with the truth: {agreeing} of {scored} flow-intervals"
        f" ({share(result.agreement)});"
        f" INT flows {'all right' if result.measured_right else 'NOT all right'}"
    )


def plain(
    directory: Path, settings: Settings, frames: Mapping[str, Any], result: Score
) -> dict[str, Any]:
    """Where everything is, and each flow beside the truth, as plain data."""
    places = {"capture": CAPTURE, "topology": TOPOLOGY, "settings": SETTINGS, "truth": TRUTH}
    return {
        **{name: str(directory / place) for name, place in places.items()},
        "store": settings.store.dsn,
        "frames": frames,
        "agreement": result.agreement,
        "agreeing": int(result.intervals["agrees"].sum()),
        "intervals": result.intervals.height,
        "measured_right": bool(result.measured_right),
        "flows": result.flows.drop("script").to_dicts(),
    }


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    key = flow(row["src"], row["sport"], row["dst"], row["dport"], row["protocol"])
    agrees = f"{row['agreeing']}/{row['scored']}"
    kind = (row["kind"] or NONE).replace("_", " ")
    return (key, row["telemetry"], row["truth"], row["seen"], kind, load(row["u_mean"]),
            share(row["confidence"]), agrees)  # fmt: skip


def failing(result: Score) -> str:
    """What the table shows to be wrong."""
    wrong = result.intervals.height - int(result.intervals["agrees"].sum())
    return (
        f"{wrong} of {result.intervals.height} flow-intervals differ from the truth"
        f" (at least {share(AGREEMENT)} must agree, and every INT flow)"
    )


def world_parameters(world: World) -> dict[str, Any]:
    """What the fabric's senders were told beyond their documents' defaults, as settings."""
    dctcp = dict(world.dctcp)
    return {
        "dctcp_dialect": dctcp.pop("dialect", "auto"),
        "parameters": {"hpcc": dict(world.hpcc), "dctcp": dctcp},
    }


def explain(directory: Path, world: World, result: Score, tell: Tell) -> None:
    """What to try next, with a flow that there is."""
    program = "hopsight" if which("hopsight") else relpath(sys.argv[0])
    command = f"{program} --settings {directory / SETTINGS}"
    first = result.flows.row(0, named=True)
    ends = f"{first['src']}:{first['sport']} {first['dst']}:{first['dport']}"
    told = ", ".join(f"{name} = {value}" for name, value in world.hpcc.items())
    tell(
        f"in another shell:\n  {command} where {ends}\n"
        f'  {command} replay {directory / CAPTURE} --explain --flow "{ends}" | head\n'
        f"this fabric's HPCC++ senders were told {told}; those settings say so"
        " (pipeline.parameters)"
    )
