"""What congestion control decided at one frame of a capture: a replay up to it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from collector import CollectorSettings
from pipeline import Decider, PipelineSettings, Reran, Rerun, hpcc
from replay import Heard, objects, trace
from service.decisions import together
from service.failure import ExitCode, Failure
from service.flow_names import FlowNames
from service.rerunning import CaptureSource, rerun
from service.topology_source import TopologySource
from service.window_step import Parameters


class Enough(Failure):
    """The frame has been passed: nothing that follows says more of it."""


class At:
    """Takes decisions, and keeps those of one frame."""

    def __init__(self, frame: int) -> None:
        self.frame = frame
        self.heard = Heard()
        self.names = FlowNames()
        self.kept: list[pl.DataFrame] = []
        self.passed = False

    def take(self, made: Reran) -> None:
        """Take the next rows and decisions; Enough behind the frame."""
        if not made.tracked:
            return
        self.names.know(made.rows)
        decisions = together(made.tracked[0], self.heard)
        self.kept.append(decisions.filter(pl.col("frame") == self.frame))
        if self.passed or not (made.rows["frame"] <= self.frame).any():
            raise Enough(ExitCode.OK, "")
        self.passed = bool((made.rows["frame"] == self.frame).any())


def decisions_at(
    capture: Path,
    frame: int,
    settings: tuple[CollectorSettings, PipelineSettings],
    topology: TopologySource | None,
    parameters: Parameters,
) -> list[dict[str, Any]]:
    """The decisions of a frame as `replay --json --explain` tells them; none of most frames."""
    collector, pipeline = settings
    at = At(frame)

    def making(sources: tuple[str, ...]) -> Rerun:
        versions = topology.versions if topology else None
        return Rerun(pipeline, [Decider(pipeline, versions, parameters)], sources)

    with suppress(Enough):
        rerun(CaptureSource([capture], collector, quiet=True), making, at.take, "replaying")
    kept = [each for each in at.kept if each.height]
    if not kept:
        return []
    record = hpcc.record(parameters.get("hpcc"))
    rows = pl.concat(kept, how="diagonal_relaxed")
    return list(objects(trace(rows, at.names.keys, float(record.eta), int(record.maxStage))))
