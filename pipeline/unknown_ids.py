"""Ids of hops that the topology lacks: kept, shown raw, and counted here."""

from collections.abc import Mapping

import polars as pl

from pipeline.groups import HOP
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.topology import Topology

MOST_IDS = 4096
"""Ids that are counted one by one: telemetry is a stranger's, and may name any number."""


class UnknownIds:
    """Samples by node and port that no topology in force named; of the rest only their sum."""

    def __init__(self) -> None:
        self.samples: dict[tuple[int, int], int] = {}
        self.others = 0

    @property
    def total(self) -> int:
        """Samples of all ids that were lacking."""
        return sum(self.samples.values()) + self.others

    @property
    def counters(self) -> Mapping[str, int]:
        """Samples by id as answers show it, and under `others` those of ids beyond `MOST_IDS`."""
        named = {raw_name(*hop): count for hop, count in sorted(self.samples.items())}
        return {**named, "others": self.others} if self.others else named

    def count(self, hops: pl.DataFrame, topology: Topology | None) -> None:
        """Count the rows of `hop_intervals` whose hop a topology lacks; without one nothing does.

        Hops that telemetry does not name at all are no ids.
        """
        if topology is None:
            return
        nobody = (pl.col("node") == PLACE) | (
            (pl.col("node") == LOCATOR) & (pl.col("port") == UNTOLD)
        )
        lacking = (
            hops.filter(~nobody)
            .join(topology.frame[HOP], on=HOP, how="anti")
            .group_by(HOP)
            .agg(pl.col("samples").sum())
            .sort(HOP)
        )
        for node, port, samples in lacking.iter_rows():
            if (node, port) in self.samples or len(self.samples) < MOST_IDS:
                self.samples[node, port] = self.samples.get((node, port), 0) + samples
            else:
                self.others += samples


def raw_name(node: int, port: int) -> str:
    """A hop that no topology names, by its ids: `node 7 port 3`, `locator 77`."""
    if node == LOCATOR:
        return f"locator {port}"
    return f"node {node} port not told" if port == UNTOLD else f"node {node} port {port}"
