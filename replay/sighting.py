"""What the loop of conformance reads, and the events that it writes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import inlined

CE = 3
Ints = NDArray[np.int64]


class Seen(NamedTuple):
    """Rows: sender of each and of what it acknowledges, and what the packet says; ip_id -1: none.

    Flags are -1 of what is not TCP.
    """

    time_ns: Ints
    frame: Ints
    source: Ints
    sender: Ints
    other: Ints
    flags: Ints
    seq: Ints
    ack: Ints
    payload: Ints
    ecn: Ints
    ip_id: Ints
    hint: Ints
    packets: NDArray[np.bool_]


class Told(NamedTuple):
    """Decisions: whose, at which frame, and what they gave; `window` is W, or cwnd of DCTCP.

    Of a threshold 0 is none.
    """

    time_ns: Ints
    frame: Ints
    source: Ints
    sender: Ints
    algorithm: Ints
    exact: NDArray[np.bool_]
    stated: NDArray[np.bool_]
    classic: NDArray[np.bool_]
    why: Ints
    ack: Ints
    acked: Ints
    marked: Ints
    inflight: Ints
    window: NDArray[np.float64]
    threshold: NDArray[np.float64]
    alpha: NDArray[np.float64]
    rate: NDArray[np.float64]


@inlined
def note(
    events: NDArray[Any], places: Ints, sender: int, act: int, time_ns: int, frame: int,
    source: int, cause: int, cause_source: int,
) -> None:  # fmt: skip
    """Write an event down."""
    event = events[places[2]]
    event.sender, event.act, event.time_ns = sender, act, time_ns
    event.frame, event.source = frame, source
    event.cause_frame, event.cause_source = cause, cause_source
    places[2] += 1
