"""`hopsight replay --closed-loop --sweep`: a rebuilt fabric played with every point of a grid."""

from dataclasses import dataclass
from typing import Any

import typer

from replay import rebuild
from service.axis import each_value, grid
from service.closed_loop_text import apart, sentences
from service.commands import sweep
from service.commands.closed_loop import altered, change_of, play, steps_taken
from service.crew import Point, Row
from service.decidable import say
from service.failure import refused_by
from service.gathering import Frames, gathered

MEASURES = (
    "bottleneck", "queue_mean_bytes", "queue_p99_bytes", "utilisation", "completed",
    "fct_mean_ns", "fct_p99_ns", "throughput_bps", "jain", "dropped",
)  # fmt: skip


@dataclass(frozen=True)
class Needed:
    """What a process of the crew needs: the scene, the port that it is looked at, fixed changes.

    `measure` says how queues are sampled.
    """

    scene: rebuild.Scene
    port: int
    measure: str
    what_if: tuple[str, ...]


def run(frames: Frames, asked: sweep.Sweep) -> None:
    """Rebuild once, play every point; the unchanged re-run says what to believe."""
    axes, points = grid(asked.axes, asked.what_if)
    sweep.check_measure(asked.by, axes, MEASURES)
    change_of(asked.what_if)
    for point in each_value(axes):
        with refused_by("--sweep"):
            change_of([*asked.what_if, *point])
    made, missing = gathered(frames)
    changed = altered(made.scene, change_of([*asked.what_if, *points[0]]))
    taken = [*steps_taken(made.scene, changed)]
    say(taken)
    base = play(made.scene, made.seen.measure, "playing what was seen")
    trust = [each._asdict() for each in rebuild.trust(made.scene, made.seen, base)]
    port = made.seen.bottleneck
    needed = Needed(made.scene, port, made.seen.measure, tuple(asked.what_if))
    ranks = "fct_mean_ns" if base.flows["fct_ns"].null_count() == 0 else "queue_mean_bytes"
    own = rebuild.told(made.scene, base, port)
    if not asked.json:
        for line in sentences(trust):
            typer.echo(line)
        queue = next(each for each in trust if each["name"] == "queue_mean_bytes")
        place = made.scene.ports["name"][port]
        told = ", ".join(f"{name} {sweep.shown(own[name])}" for name in MEASURES[1:4])
        typer.echo(
            f"Unchanged, at {place}: {told} (queue off by {apart(queue)}); ranked by"
            f" {asked.by or ranks}."
        )
    unchanged = {name: own[name] for name in MEASURES}
    about = {"trust": trust, "unchanged": unchanged, "notes": [*missing, *taken]}
    sweep.run(asked, outcome, needed, scene_text(made.scene), ranks, about)


def outcome(needed: Needed, point: Point) -> list[Row]:
    """What becomes of a point."""
    scene = altered(needed.scene, change_of([*needed.what_if, *point]))
    made = rebuild.told(scene, play(scene, needed.measure, " ".join(point)), needed.port)
    return [{name: made[name] for name in MEASURES}]


def scene_text(scene: rebuild.Scene) -> list[Any]:
    """All that a scene is, for the digest of its results."""
    tables = (scene.hosts, scene.ports, scene.flows, scene.offers)
    own = [scene.start_ns, scene.duration_ns, scene.parameters, scene.units]
    return ["closed", *own, *(table.write_json() for table in tables)]
