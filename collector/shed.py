"""Shedding: what is passed on of live frames while what follows is behind, chosen flow by flow.

Kept are the conversations whose direction-free hash lies in the lowest part of all, one of `OF` of
them: whole flows stay, data and ACKs alike, every collector keeps the same ones, and those kept at
a higher rate are kept at every lower one. Rows say the rate (`shed_from`), and each frame that is
shed is counted.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collector.bus import Batch
from collector.decoder import Accounting
from collector.source import Source

SHED_REASONS: Final = {
    "shed": "decoded, and its conversation not passed on, because what follows is behind",
    "shed_full": "decoded, and not passed on, because nothing more had room",
}
"""Reasons why frames that were decoded are not passed on, each with a sentence."""
SHED, FULL = SHED_REASONS
FROM: Final = "shed_from"
OF: Final = (1, *(rate << power for power in range(16) for rate in (2, 3)), 1 << 17)
"""Of so many conversations one is passed on, step by step."""
AT_ONCE: Final = 2
"""Steps by which less is passed on: half as much, about. More is tried one by one."""
BITS: Final = 64
HIGH, LOW = 0.7, 0.3
"""Fill of the queue from which less is passed on, and up to which more is."""
FULL_S, SETTLE_S, STUCK_S = 1.0, 1.5, 3.0
"""Least time between two times that less is passed on, seconds: while the queue is full, where it
has been emptier since, and where it has not. What waits has to go first, at its own rate."""
CALM_S, MOST_CALM_S = 2.0, 64.0
"""Time that the queue is calm before more is passed on, seconds. Where the queue filled at the step
that is next it is twice as long after each time that this was too much, up to the second."""
HELD, ROOM, LOOK_S = 0.4, 0.5, 0.05
"""Fill of the queue from which a source is not read that has room of its own, how much of that room
its frames may take then, and seconds after which this is looked at again. It lies where the rate
stays as it is."""
TRIED_S: Final = 10.0
"""Time, seconds, within which a queue shows that a step is too much."""


def can_wait(source: Source, fill: float) -> bool:
    """Whether a live source is better not read now, since its frames can wait where they are."""
    return source.live and fill >= HELD and source.backlog <= ROOM


class Shed:
    """The rate in force: of `of` conversations one is passed on."""

    def __init__(self) -> None:
        """Pass everything on."""
        self.step = 0
        self._eased = True
        self._passed = True
        """Whether rows were passed on since the rate changed: else it has shown nothing."""
        self._changed_s = float("-inf")
        self._calm_s: float | None = None
        self._too_much = -1
        self._tried_s = float("-inf")
        self._wait_s = CALM_S

    @property
    def of(self) -> int:
        """Of how many conversations one is passed on; 1: all are."""
        return OF[self.step]

    def follow(self, fill: float, now_s: float) -> None:
        """Change the rate by how full the queue is, at a time of a clock that never runs back."""
        self._eased |= fill <= LOW
        if fill > LOW:
            self._calm_s = None
        elif self._calm_s is None:
            self._calm_s = now_s
        if fill >= HIGH:
            settled_s = FULL_S if fill >= 1 else SETTLE_S if self._eased else STUCK_S
            shown = self._passed or fill < 1
            settled = shown and now_s - self._changed_s >= settled_s
            if settled and self.step < len(OF) - 1:
                self._less(now_s)
        elif self.step and self._calm_s is not None:
            wait_s = self._wait_s if self.step - 1 <= self._too_much else CALM_S
            if now_s - self._calm_s >= wait_s:
                self.step, self._tried_s = self.step - 1, now_s
                self._changed_s = self._calm_s = now_s

    def _less(self, now_s: float) -> None:
        """Pass less on, and remember what was too much; of one time that it was tried, once."""
        if self._eased:
            again = now_s - self._tried_s < max(self._wait_s, TRIED_S)
            self._wait_s = min(2 * self._wait_s, MOST_CALM_S) if again else CALM_S
            self._too_much, self._tried_s = self.step, float("-inf")
        self.step = min(self.step + AT_ONCE, len(OF) - 1)
        self._changed_s, self._eased, self._passed = now_s, False, False

    def kept(self, batch: Batch, fill: float, accounting: Accounting) -> Batch | None:
        """What is passed on of a batch; None: nothing, the queue is full. The rest is counted."""
        if batch.ended:
            return batch
        if batch.frame.is_empty():  # it says how far time has come, which the next one says, too
            return None if fill >= 1 else batch
        if fill >= 1:
            accounting.turn(batch.frame, FULL)
            return None
        self._passed = True
        if not self.step:
            return batch
        lowest = pl.col("conversation") < (1 << BITS) // self.of
        kept = batch.frame.filter(lowest)
        accounting.turn(batch.frame.filter(~lowest), SHED)
        told = pl.lit(self.of, pl.UInt32).alias(FROM)
        return replace(batch, frame=kept.with_columns(told))
