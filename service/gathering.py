"""What a closed loop is rebuilt from: the rows and decisions of a whole capture, in memory."""

from dataclasses import dataclass

import polars as pl

from pipeline import Decider, Reran, Rerun, Value, Versions
from replay import rebuild
from service.absence import no_frames
from service.decidable import Decidable, say
from service.failure import ExitCode, Failure
from service.flow_names import FlowNames
from service.rerunning import Source, rerun
from service.settings import Settings

Parameters = dict[str, dict[str, Value]]
WANTED = {"time_ns", "source", "point", "frame", "length", "protocol", "conversation", "flow",
          "direction", "payload_bytes", *rebuild.KEY, *rebuild.READ}  # fmt: skip
KEPT = ("source", "point", "frame", "flow", "algorithm", "quality", "alpha", "R", "dialect",
        "W", "cwnd")  # fmt: skip
"""Columns of decisions that are needed."""


@dataclass(frozen=True)
class Frames:
    """How a capture is read: what settings, the topology and parameters say."""

    source: Source
    settings: Settings
    versions: Versions
    parameters: Parameters
    point: str | None = None


class Gathered:
    """Takes what a rerun made; keeps the columns that a rebuild reads."""

    def __init__(self) -> None:
        self.names, self.decidable = FlowNames(), Decidable()
        self.rows: list[pl.DataFrame] = []
        self.decisions: list[pl.DataFrame] = []

    def take(self, made: Reran) -> None:
        """Take the next rows and decisions."""
        if not made.tracked:
            return
        self.names.know(made.rows)
        self.decidable.see(made.rows)
        kept = [name for name in made.rows.columns if name in WANTED or rebuild.is_hop(name)]
        self.rows.append(made.rows.select(kept))
        self.decisions.append(made.tracked[0].decisions.select(KEPT))


def gathered(frames: Frames) -> tuple[rebuild.Rebuilt, list[str]]:
    """Read a source to its end and infer the scene; says what is missing in it, and gives that.

    Failure says why there is none.
    """
    held, made = Gathered(), None

    def making(sources: tuple[str, ...]) -> Rerun:
        nonlocal made
        try:
            made = Decider(frames.settings.pipeline, frames.versions, frames.parameters)
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--set: {error}") from None
        return Rerun(frames.settings.pipeline, [made], sources)

    ran = rerun(frames.source, making, held.take, "reading")
    notes = [*held.decidable.notes(held.names.keys, ran.counters)]
    say(notes)
    if not held.rows or made is None:
        raise Failure(ExitCode.WRONG, f"{no_frames(ran.read)}: no fabric can be rebuilt")
    rows = pl.concat(held.rows, how="diagonal_relaxed")
    decisions = pl.concat(held.decisions)
    rows, decisions = rebuild.from_one_point(rows, decisions, frames.point)
    topology = frames.versions.at(int(rows["time_ns"].to_numpy().max()))
    try:
        seen = rebuild.sightings(rows, decisions)
        one_rtt_ns = made.paths.one_rtt_ns(topology)
        return rebuild.rebuilt(seen, topology, frames.parameters, one_rtt_ns), notes
    except ValueError as error:
        raise Failure(ExitCode.WRONG, f"no closed loop: {error}") from None
