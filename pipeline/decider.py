"""The decider: ordered observations in, decisions out, under one set of parameters.

It is the part of the worker that runs the recurrences: what topology and settings know of paths and
senders is added to the rows, then the tracker takes them. The stream runs one, a replay as many as
there are sets of parameters to be compared.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.accecn import AccurateEcn
from pipeline.cc.parameter import Value
from pipeline.hints import Hints
from pipeline.path import Paths
from pipeline.settings import PipelineSettings
from pipeline.topology import Topology
from pipeline.track import Tracked, Tracker
from pipeline.versions import Versions


class Decider:
    """Keeps the state of every sender.

    `parameters` change the recurrences' defaults, by algorithm, over those that settings tell.
    ValueError names one that is not accepted.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        topology: Versions | Topology | None = None,
        parameters: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> None:
        told = settings.parameters_with(parameters)
        self.paths = Paths(settings, Versions.of(topology), told.get("hpcc"))
        self.hints = Hints(settings)
        self.accecn = AccurateEcn()
        dctcp = {"dialect": settings.dctcp_dialect, **told.get("dctcp", {})}
        companions = {name: told.get(name, {}) for name in settings.companions}
        self.tracker = Tracker(
            told.get("hpcc", {}), dctcp, flows=settings.flows, companions=companions,
            probe_dscp=settings.probe_dscp,
        )  # fmt: skip

    def decide(self, rows: pl.DataFrame) -> Tracked:
        """Take the next rows, in order."""
        along = self.accecn.told(self.hints.told(self.paths.along(rows)))
        return self.tracker.advance(along)
