"""`hopsight replay --closed-loop`: the fabric of a capture, played again and with changes."""

import json as json_format
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import typer

from pipeline import SHOWN, Parameter, parameter_table
from replay import rebuild
from service.assignment import parameter_of, told_once
from service.closed_loop_text import shown
from service.decidable import say
from service.failure import ExitCode, Failure, refused_by
from service.gathering import Frames, gathered
from service.progress import working
from service.window_step import steps_assumed

FABRIC = "fabric."
ALGORITHM = "algorithm="
TOLD = ("src", "sport", "dst", "dport")


def run(frames: Frames, what_if: Sequence[str], *, json: bool) -> None:
    """Print how well the unchanged re-run repeats what was seen, and what a change makes of it."""
    change = change_of(what_if)
    made, missing = gathered(frames)
    scene = altered(made.scene, change)
    taken = [*steps_taken(made.scene, scene)]
    say(taken)
    base = play(made.scene, made.seen.measure, "playing what was seen")
    other = None
    if what_if:
        other = play(scene, made.seen.measure, "playing the change")
    told = told_of(made, base, other, what_if) | {"notes": [*missing, *taken]}
    if json:
        typer.echo(json_format.dumps(told, allow_nan=False))
        return
    shown(told)


def change_of(what_if: Sequence[str]) -> rebuild.Change:
    """Assignments as a change; Failure says what is accepted."""
    told_once("--what-if", what_if)
    parameters: dict[str, dict[str, Any]] = {}
    fabric: dict[str, float] = {}
    algorithm = None
    for text in what_if:
        name, equals, value = text.partition("=")
        if not equals:
            raise Failure(ExitCode.USAGE, f"--what-if {text!r} is not of the form NAME=VALUE")
        if text.startswith(ALGORITHM):
            algorithm = value
        elif name.startswith(FABRIC):
            try:
                fabric[name.removeprefix(FABRIC)] = rebuild.fabric_value(
                    name.removeprefix(FABRIC), value
                )
            except ValueError as error:
                raise Failure(ExitCode.USAGE, f"--what-if {text}: {error}") from None
        else:
            with refused_by("--what-if"):
                told = parameter_of(name, value, tables())
            for owner, own in told.items():
                parameters.setdefault(owner, {}).update(own)
    if algorithm not in (None, *rebuild.ALGORITHMS):
        names = ", ".join(rebuild.ALGORITHMS)
        raise Failure(ExitCode.USAGE, f"--what-if algorithm: {algorithm!r} is none of {names}")
    return rebuild.Change(parameters, fabric, algorithm)


def tables() -> Mapping[str, tuple[Parameter, ...]]:
    """Parameters of the algorithms that can be played."""
    return SHOWN | {"swift": parameter_table("swift")}


def altered(scene: rebuild.Scene, change: rebuild.Change) -> rebuild.Scene:
    """The scene with a change; Failure where the algorithm lacks what it needs."""
    try:
        return rebuild.changed(scene, change)
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"--what-if: {error}") from None


def steps_taken(scene: rebuild.Scene, changed: rebuild.Scene) -> Iterator[str]:
    """What is taken for granted of the windows that are played, without and with a change."""
    own, other = (
        (each.flows["algorithm"].unique().to_list(), each.parameters) for each in (scene, changed)
    )
    yield from steps_assumed(own, other)


def play(scene: rebuild.Scene, measure: str, label: str) -> rebuild.Outcome:
    """The outcome of a scene; Failure where it is too large, or a parameter is wrong."""
    try:
        with working(label):
            return rebuild.measured(scene, rebuild.played(scene), measure)
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"the fabric cannot be played: {error}") from None


def told_of(
    made: rebuild.Rebuilt,
    base: rebuild.Outcome,
    other: rebuild.Outcome | None,
    what_if: Sequence[str],
) -> dict[str, Any]:
    """The whole answer as plain data."""
    scene = made.scene
    trust = rebuild.trust(scene, made.seen, base)
    port = made.seen.bottleneck  # at which all of it is compared
    changes = rebuild.trust(scene, base, other, port) if other else []
    return {
        "what_if": list(what_if),
        "measure": made.seen.measure,
        "trust": [each._asdict() for each in trust],
        "changes": [each._asdict() for each in changes],
        "seen": rebuild.told(scene, made.seen, port),
        "rerun": rebuild.told(scene, base, port),
        "changed": rebuild.told(scene, other, port) if other else None,
        "scene": scene_of(scene),
        "flows": flows_of(scene, made.seen, base, other),
    }


def scene_of(scene: rebuild.Scene) -> dict[str, Any]:
    """What was inferred, as plain data."""
    return {
        "start_ns": scene.start_ns,
        "duration_ns": scene.duration_ns,
        "hosts": scene.hosts.to_dicts(),
        "ports": scene.ports.drop("line_bps").to_dicts(),
        "parameters": {name: dict(told) for name, told in scene.parameters.items()},
        "offers": scene.offers.height,
        "assumed": list(scene.notes),
    }


def flows_of(
    scene: rebuild.Scene,
    seen: rebuild.Outcome,
    base: rebuild.Outcome,
    other: rebuild.Outcome | None,
) -> list[dict[str, Any]]:
    """Each flow: who, what it offered, and what became of it in every run."""
    names = scene.hosts["name"]
    own = scene.flows.select(
        "sport", "dport", "algorithm", "start_ns", "total", "base_ns", "t_ns",
        src=names.gather(scene.flows["src"]), dst=names.gather(scene.flows["dst"]),
    )  # fmt: skip
    runs = {"seen": seen, "rerun": base} | ({"changed": other} if other else {})
    measures = [
        run.flows.select(pl.struct("bytes", "fct_ns", "throughput_bps", "share").alias(name))
        for name, run in runs.items()
    ]
    return pl.concat([own, *measures], how="horizontal").to_dicts()
