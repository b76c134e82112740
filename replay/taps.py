"""Taps: which ports are mirrored, what gets lost of the mirrored, whose clocks are off."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Choice = Literal["each", "packet", "flow"]
Where = Literal["hosts", "uplinks", "both"]


@dataclass(frozen=True, slots=True)
class Taps:
    """Mirrors at ports of the leaves, and their faults; the same for the same seed.

    - `where`: at the ports that face hosts, at what leaves send to spines (there telemetry has met
      one hop, and what comes down is not seen), or at both;
    - `leaves`: the leaves that mirror; none: all of them;
    - `one_in`: of so many frames one is mirrored, drawn by each tap for itself (`each`), the same
      packets at all taps (`packet`), or all packets of some flows (`flow`);
    - `loss`: share of mirrored frames that never reach the collector;
    - `skew_ns`: each tap's clock is off by at most so much, either way;
    - `sflow`: mirrored frames come in samples of sFlow, which tell `one_in`.
    """

    where: Where = "hosts"
    leaves: tuple[str, ...] = ()
    one_in: int = 1
    choice: Choice = "each"
    loss: float = 0.0
    skew_ns: int = 0
    sflow: bool = False
    seed: int = 1

    def kept(
        self, rows: NDArray[np.int64], flow: NDArray[np.int64], leaf: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which sightings reach the collector: of packets (`rows`) of flows, by taps of leaves.

        Reports (`leaf` -1) come from all switches, and get lost like mirrored frames.
        """
        random = np.random.default_rng((self.seed, 1))
        keep = np.ones(len(rows), np.bool_)
        if self.leaves:
            mirroring = [int(name.removeprefix("leaf")) - 1 for name in self.leaves]
            keep &= np.isin(leaf, mirroring) | (leaf < 0)
        if self.one_in > 1:
            unit = {"each": np.arange(len(rows)), "packet": rows, "flow": flow}[self.choice]
            draws = random.integers(self.one_in, size=int(unit.max(initial=0)) + 1)
            keep &= draws[unit] == 0
        if self.loss:
            keep &= random.random(len(rows)) >= self.loss
        return keep

    def offsets_ns(self, taps: int) -> NDArray[np.int64]:
        """How far the clock of each tap is off."""
        random = np.random.default_rng((self.seed, 2))
        return random.integers(-self.skew_ns, self.skew_ns + 1, size=taps)


ALL = Taps()
"""Every port that faces a host, every frame, one time."""
