"""`hopsight replay --sweep`: the captured signals under every point of a grid of parameters."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import typer

from pipeline import Reran
from replay import WINDOW_BYTES, steered
from service.axis import each_value, grid
from service.commands import sweep, what_if
from service.crew import Point, Row
from service.decidable import say
from service.failure import ExitCode, Failure, refused_by
from service.rerunning import Source, rerun
from service.topology_source import TopologySource, read_topology

BATCH = 1 << 16
COUNTS = ("decisions", "differ", "other_branch", "only_base", "only_other")
QUANTILES = (0.05, 0.5, 0.95)
MEASURES = (
    "algorithm", "other", *COUNTS, "differ_share", "variable", "change_mean",
    *(f"change_p{round(100 * each):02}" for each in QUANTILES),
)  # fmt: skip
"""What each row has, beside the values of the axes."""


@dataclass(frozen=True)
class Needed:
    """What a process of the crew needs: rows in order, what is compared, the topology's file."""

    rows: Path
    asked: what_if.Asked
    topology: Path | None


def run(source: Source, asked: what_if.Asked, topology: Path | None, swept: sweep.Sweep) -> None:
    """Read once, decide twice at every point; ranked only where that is asked for."""
    axes, points = grid(swept.axes, asked.what_if)
    sweep.check_measure(swept.by, axes, MEASURES)
    known = topology_of(asked, topology)
    what_if.making_of(asked, known)
    for point in each_value(axes):
        with refused_by("--sweep"):
            what_if.making_of(of_point(asked, point), known)
    taken: list[pl.DataFrame] = []
    alone = replace(asked, what_if=())
    read = what_if.Sides(alone)

    def take(made: Reran) -> None:
        taken.append(made.rows)
        read.take(made)

    ran = rerun(source, what_if.making_of(alone, known), take, "reading")
    found = read.pairs()
    notes = [*what_if.steps_taken(of_point(asked, points[0]), {one for one, *_ in found}),
             *read.decidable.notes(read.names.keys, ran.counters)]  # fmt: skip
    say(notes)
    if not found:
        raise Failure(ExitCode.WRONG, what_if.nothing(asked, ran, read.names))
    rows = pl.concat(taken, how="diagonal_relaxed")
    if not swept.json:
        typer.echo(what_if.HELD)
    with sweep.folder() as folder:
        needed = Needed(sweep.held(rows, folder), asked, topology)
        told = ["open", sorted(asked.assignments), asked.algorithm, asked.flow, asked.point,
                known.versions.newest.to_yaml() if known and known.versions.newest else "",
                fingerprint(rows)]  # fmt: skip
        sweep.run(swept, compare, needed, told, None,
                  {"held_fixed": what_if.HELD, "notes": notes})  # fmt: skip


def topology_of(asked: what_if.Asked, path: Path | None) -> TopologySource | None:
    """The topology of the flag or the setting."""
    settings, _ = what_if.told_by(asked, [])
    return read_topology(path, settings.pipeline.topology)


def of_point(asked: what_if.Asked, point: Point) -> what_if.Asked:
    """What is compared at a point: its assignments behind the fixed ones."""
    return replace(asked, what_if=(*asked.what_if, *point))


def fingerprint(rows: pl.DataFrame) -> str:
    """Stands for the frames."""
    hashed = rows.select("time_ns", "flow", "payload_bytes").hash_rows(seed=1).to_numpy()
    return f"{rows.height}:{int(np.bitwise_xor.reduce(hashed)):x}"


def batches(path: Path) -> Iterator[pl.DataFrame]:
    """The rows in order, a piece at a time."""
    yield from pl.read_ipc(path).iter_slices(BATCH)


def compare(needed: Needed, point: Point) -> list[Row]:
    """A row for each pair of algorithms that the point compares."""
    asked = of_point(needed.asked, point)
    making = what_if.making_of(asked, topology_of(asked, needed.topology))
    deciders, sides = making(()).deciders, what_if.Sides(asked)
    for rows in batches(needed.rows):
        sides.take(Reran(rows, tuple(decider.decide(rows) for decider in deciders)))
    told = []
    for one, two, made in sides.differences():
        names = [steered(one) or ""] if one == two else [WINDOW_BYTES]
        names = [name for name in names if f"{name}_other" in made.rows.columns]
        counts: Row = {name: int(made.flows[name].sum()) for name in COUNTS}
        counts["differ_share"] = counts["differ"] / max(counts["decisions"], 1)
        told.append({"algorithm": one, "other": two, **counts, **spread(made.rows, names)})
    return told


def spread(rows: pl.DataFrame, names: list[str]) -> Row:
    """Relative difference of the variable that the algorithm steers: mean and quantiles."""
    if not names:
        return {"variable": None, "change_mean": None}
    base, other = pl.col(names[0]), pl.col(f"{names[0]}_other")
    change = rows.select(((other - base) / base).alias("change"))["change"]
    known = change.filter(change.is_finite())
    quantiles = {
        f"change_p{round(100 * each):02}": known.quantile(each, "linear") for each in QUANTILES
    }
    return {"variable": names[0], "change_mean": known.mean(), **quantiles}
