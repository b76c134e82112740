"""Shedding: what is passed on of live frames while what follows is behind, chosen flow by flow.

Kept are the conversations whose direction-free hash lies in the lowest 2^-n of all: whole flows
stay, data and ACKs alike, every collector keeps the same ones, and those kept at a higher rate are
kept at every lower one. Rows say the rate (`shed_from`), and each frame that is shed is counted.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collector.bus import Batch
from collector.decoder import Accounting

SHED_REASONS: Final = {
    "shed": "decoded, and its conversation not passed on, because what follows is behind",
    "shed_full": "decoded, and not passed on, because nothing more had room",
}
"""Reasons why frames that were decoded are not passed on, each with a sentence."""
SHED, FULL = SHED_REASONS
FROM: Final = "shed_from"
MOST: Final = 16
"""Halvings after which there is no further one: one conversation of 65,536."""
BITS: Final = 64
HIGH, LOW = 0.7, 0.3
"""Fill of the queue from which less is passed on, and up to which more is."""
STEP_S, SETTLE_S, CALM_S = 0.25, 1.5, 2.0
"""Least time between two halvings while the queue is full, and while it is not: what waits already
has to go first; and time that the queue is calm before a doubling, seconds."""
MOST_CALM_S = 64.0
"""The same at most: it is twice as long after each doubling that was too much."""


class Shed:
    """The rate in force: of 2 ** `halvings` conversations one is passed on."""

    def __init__(self) -> None:
        """Pass everything on."""
        self.halvings = 0
        self._changed_s = float("-inf")
        self._calm_s: float | None = None
        self._doubled_s = float("-inf")
        self._wait_s = CALM_S

    def follow(self, fill: float, now_s: float) -> None:
        """Change the rate by how full the queue is, at a time of a clock that never runs back."""
        if fill > LOW:
            self._calm_s = None
        elif self._calm_s is None:
            self._calm_s = now_s
        step_s = STEP_S if fill >= 1 else SETTLE_S
        if fill >= HIGH and self.halvings < MOST and now_s - self._changed_s >= step_s:
            again = now_s - self._doubled_s < self._wait_s
            self._wait_s = min(2 * self._wait_s, MOST_CALM_S) if again else CALM_S
            self.halvings, self._changed_s = self.halvings + 1, now_s
        elif self.halvings and self._calm_s is not None and now_s - self._calm_s >= self._wait_s:
            self.halvings, self._changed_s, self._calm_s = self.halvings - 1, now_s, now_s
            self._doubled_s = now_s

    def kept(self, batch: Batch, fill: float, accounting: Accounting) -> Batch | None:
        """What is passed on of a batch; None: nothing, the queue is full. The rest is counted."""
        if batch.ended:
            return batch
        if fill >= 1:
            accounting.turn(batch.frame, FULL)
            return None
        if not self.halvings or batch.frame.is_empty():
            return batch
        lowest = pl.col("conversation") < 1 << BITS - self.halvings
        kept = batch.frame.filter(lowest)
        accounting.turn(batch.frame.filter(~lowest), SHED)
        told = pl.lit(1 << self.halvings, pl.UInt32).alias(FROM)
        return replace(batch, frame=kept.with_columns(told))
