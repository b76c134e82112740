"""What a partition hands on to those who judge all of them: intervals that have ended there.

Pure. A partition knows the flows that are placed in it and no others; which hop holds a flow back
is told by all that cross it. So of several partitions none judges: they meet (`meeting`).
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

import polars as pl

from pipeline.covered import Covered
from pipeline.health import Watched, all_watched
from pipeline.known_flows import as_one, no_flows
from pipeline.sums import Sums, joined


class Handed(NamedTuple):
    """Sums of intervals that ended by `closed_ns`, and the flows (with `unseen`) they tell of.

    With it comes what was watched of the telemetry, and the flows that this tells of. `closed_ns`
    is `ALL_NS` where all sources have ended; frames were captured in the time that is `covered`.
    """

    flows: pl.DataFrame
    sums: Sums
    closed_ns: int
    watched: Watched
    covered: Covered

    @classmethod
    def of(cls, parts: Iterable[Self | None]) -> Self | None:
        """What was handed on one after the other as one; None: nothing was."""
        told = [part for part in parts if part is not None]
        if len(told) <= 1:
            return told[0] if told else None
        flows = as_one([no_flows(), *(part.flows for part in told)])
        sums, watched = (part.sums for part in told), (part.watched for part in told)
        last = told[-1]
        return cls(flows, joined(sums), last.closed_ns, all_watched(watched), last.covered)
