"""A decoder: settings become tables once, frames observations; every frame is accounted for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from collector.frame import Frames
from collector.integrity import integrity
from collector.observation import SCHEMA
from collector.observe import observe
from collector.plain_walk import PlainWalk
from collector.settings import CollectorSettings
from collector.status import STATUS
from collector.walk import Walk
from collector.walked import Walked


class Accounting:
    """Frames seen = frames decoded + frames ended by each named reason."""

    def __init__(self) -> None:
        self.by_status = dict.fromkeys((name for name, _ in STATUS), 0)
        self.settled = dict(self.by_status)
        """The same without frames of which it is not decided yet how they end: it only grows."""

    def settle(self) -> None:
        """Say that it is decided how all frames end that were counted."""
        self.settled = dict(self.by_status)

    def add(self, endings: Mapping[str, int]) -> None:
        """Count frames by how they ended; names of `STATUS` or of a file's own reasons."""
        for name, count in endings.items():
            self.by_status[name] = self.by_status.get(name, 0) + count

    def turn(self, rows: pl.DataFrame, reason: str) -> None:
        """Count frames under another reason than the one that their rows ended with."""
        for code, count in rows["status"].value_counts().iter_rows():
            self.by_status[STATUS[code][0]] -= count
        self.add({reason: rows.height})

    @property
    def decoded(self) -> int:
        """Frames whose every header was read."""
        return self.by_status[STATUS[0][0]]

    @property
    def reasons(self) -> dict[str, int]:
        """Frames that were not decoded, by reason; only reasons that occurred."""
        return {name: n for name, n in self.by_status.items() if n and name != STATUS[0][0]}

    @property
    def numbers(self) -> dict[str, Any]:
        """seen, decoded and reasons, as reports tell them."""
        return {"seen": self.seen, "decoded": self.decoded, "reasons": self.reasons}

    @property
    def seen(self) -> int:
        """All frames."""
        return sum(self.by_status.values())


class Decoder:
    """Turns frames into observations by the tables that `settings` ask for."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.settings = settings
        self.walk = Walk(settings)
        self.accounting = Accounting()
        self._next: tuple[CollectorSettings, Walk] | None = None

    def renew(self, settings: CollectorSettings) -> None:
        """Read frames by other settings from the next batch on. May be called from any thread."""
        self._next = (settings, Walk(settings))

    def decode(self, frames: Frames, points: list[str], source: str) -> pl.DataFrame:
        """Observations of all frames whose flow is known, see `collector.observation`."""
        if self._next is not None:
            (self.settings, self.walk), self._next = self._next, None
        return self._observed(self.walk.walk(frames), frames, points, source)

    def decode_plainly(self, frames: Frames, points: list[str], source: str) -> pl.DataFrame:
        """The same, a thousand times slower, without a wait for kernels to be compiled."""
        return self._observed(PlainWalk(self.settings).walk(frames), frames, points, source)

    def _observed(
        self, walked: Walked, frames: Frames, points: list[str], source: str
    ) -> pl.DataFrame:
        endings = np.bincount(walked.status)
        self.accounting.add({STATUS[code][0]: int(n) for code, n in enumerate(endings)})
        seen = observe(walked, frames, points, source, self.settings, self.walk.arena)
        if not self.settings.verify_checksums:
            return seen
        found = integrity(frames, walked.row, seen["layers"], self.settings)
        if found.null_count() == len(found):
            return seen
        checked = seen.with_columns(found)
        return checked.select(name for name in SCHEMA if name in checked.columns)
