"""What a store has of one flow in a window, row by row, where that is little enough."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import polars as pl

from pipeline.asked import Asked
from pipeline.beside import Begin
from pipeline.signals import reverse_flow
from pipeline.tables.column import slice_of
from pipeline.witness import MOST_FRAMES

MOST_TOLD = 2000
"""Verdicts and counts that are read before it is known of which length they are asked for; where
there are more the store adds the counts up."""
MOST_SLICES = 120
"""Slices of a window whose rows are asked for one by one; of longer ones the store adds up."""


class FlowWindow(NamedTuple):
    """A flow and its reverse (None: not known) from `from_ns` to `to_ns` since 1970."""

    flow: int
    reverse: int | None
    from_ns: int
    to_ns: int

    @classmethod
    def of(cls, flow: Mapping[str, Any], from_ns: int, to_ns: int) -> "FlowWindow":
        """The window of a flow as query `flow_of_key` tells it."""
        told = flow["conversation"] is not None and flow["direction"] is not None
        reverse = reverse_flow(flow["conversation"], flow["direction"]) if told else None
        return cls(flow["flow"], reverse, from_ns, to_ns)

    @property
    def alone(self) -> dict[str, int]:
        """The parameters of queries about the flow by itself."""
        return {"flow": self.flow, "from_ns": self.from_ns, "to_ns": self.to_ns}

    @property
    def both(self) -> dict[str, int] | None:
        """The parameters of queries about both directions; None where no reverse is known."""
        return None if self.reverse is None else self.alone | {"reverse": self.reverse}


class FlowRows(NamedTuple):
    """What will be told of a flow in a window, and the frames of both directions.

    None comes of either where that is much, and of the frames where no reverse is known. Frames
    that were not asked for are None.
    """

    told: pl.DataFrame | None
    frames: Future[pl.DataFrame | None] | None


def rows_of(store: Asked, window: FlowWindow, begin: Begin, *, frames: bool) -> FlowRows:
    """Ask for the rows of a window, with or without `frames`, which come beside the rest."""
    others = begin(lambda: frames_of(store, window)) if frames else None
    return FlowRows(_told(store, window), others)


def _told(store: Asked, window: FlowWindow) -> pl.DataFrame | None:
    slices = touched(window.from_ns, window.to_ns)
    return _few(store, "flow_told", MOST_TOLD, slices, window.alone)


def frames_of(store: Asked, window: FlowWindow) -> pl.DataFrame | None:
    """The frames of both directions in a window."""
    if window.both is None:
        return None
    slices = range(slice_of(window.from_ns), slice_of(window.to_ns) + 1)
    return _few(store, "flow_frames", MOST_FRAMES, slices, window.both)


def touched(from_ns: int, to_ns: int) -> range:
    """The slices in which intervals begin that touch a window; the longest is as long as one."""
    return range(slice_of(from_ns) - 1, slice_of(to_ns) + 1)


def _few(
    store: Asked, name: str, most: int, slices: range, parameters: Mapping[str, int]
) -> pl.DataFrame | None:
    """The answer to a question of some slices; None where they are many, or its rows are."""
    if len(slices) > MOST_SLICES:
        return None
    found = store.query(name, slices=[*slices], rows=most + 1, **parameters)
    return None if found.height > most else found
