"""Versions of the topology: which one is in force when, and rows split by it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.topology import Topology

ROW = "version_row"


@dataclass(frozen=True)
class Versions:
    """Topologies by the time from which each holds; before the first one none is in force."""

    topologies: tuple[Topology, ...] = ()

    @staticmethod
    def of(known: "Versions | Topology | Iterable[Topology] | None") -> "Versions":
        """What is known, as versions, the oldest first; of those that begin at once the last."""
        if isinstance(known, Versions):
            return known
        if known is None:
            return Versions()
        told = [known] if isinstance(known, Topology) else known
        by_time = {topology.valid_from_ns: topology for topology in told}
        return Versions(tuple(by_time[since] for since in sorted(by_time)))

    @staticmethod
    def from_yaml(text: str) -> "Versions":
        """The versions of a file's text. Raises TopologyError with the place that is wrong."""
        return Versions.of(Topology.versions_of(text))

    @property
    def newest(self) -> Topology | None:
        """The version that begins last."""
        return self.topologies[-1] if self.topologies else None

    @property
    def measured_ns(self) -> int:
        """The longest time over which any device measures a signal; 0: none is known."""
        return max((topology.measured_ns for topology in self.topologies), default=0)

    def at(self, time_ns: int) -> Topology | None:
        """The version in force at a time."""
        return self._one(int(self._places(np.array([time_ns]))[0]))

    def split(self, rows: pl.DataFrame) -> Iterator[tuple[Topology | None, pl.DataFrame]]:
        """The rows by the version in force at their `time_ns`, the oldest first.

        Rows with an `interval_ns` go by the beginning of their interval or, where nothing was in
        force then, by its end.
        """
        if not self.topologies or rows.is_empty():
            yield None, rows
            return
        times = rows["time_ns"].to_numpy()
        if "interval_ns" in rows.columns:
            ends = times + rows["interval_ns"].to_numpy() - 1
            times = np.where(self._places(times) < 0, ends, times)
        places = self._places(times)
        for place in np.unique(places):
            here = places == place
            part = rows if here.all() else rows.filter(pl.Series(here))
            yield self._one(int(place)), part

    def across(
        self, rows: pl.DataFrame, told: Callable[[Topology | None, pl.DataFrame], pl.DataFrame]
    ) -> pl.DataFrame:
        """What is told of the rows by the version in force at each, in the rows' order."""
        parts = list(self.split(rows))
        if len(parts) == 1:
            return told(*parts[0])
        numbered = rows.with_row_index(ROW)
        made = [told(topology, part) for topology, part in self.split(numbered)]
        return pl.concat(made, how="diagonal_relaxed").sort(ROW).drop(ROW)

    def _places(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which version is in force at each time; -1: none."""
        begun = np.array([topology.valid_from_ns for topology in self.topologies], np.int64)
        places: NDArray[np.int64] = np.searchsorted(begun, times, side="right") - 1
        return places

    def _one(self, place: int) -> Topology | None:
        return self.topologies[place] if place >= 0 else None
