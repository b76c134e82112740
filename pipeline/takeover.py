"""A takeover: state that another worker has kept, in one that was made with settings of its own.

What settings give is not taken from state (`group_state.SKIPPED`, `tuning`), but for what shapes
the state itself. A worker that wants that otherwise is told so.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pipeline import group_state
from pipeline.group_state import SKIPPED, Kept
from pipeline.snapshot_error import SnapshotError
from pipeline.state_codec import StateReader
from pipeline.tuning import resumed


class Takeover(NamedTuple):
    """What is known of state that was taken over."""

    digests: dict[str, str]
    """Of what the last snapshot holds, for the one that follows it."""
    left: list[str]
    """Settings that are not taken, each in a sentence."""


def taken_over(kept: Kept, place: str, chain: Iterable[bytes]) -> Takeover:
    """Put the snapshots of a place back into a worker or a meeting with empty state.

    Raises SnapshotError, a sentence that says what to do, where it cannot go on with them.
    """
    worker = kept.worker
    wanted, reader = worker.settings, StateReader(worker.versions, SKIPPED)
    worker.ladder.told_ns = ()  # an older version does not keep it
    try:
        for octets in chain:
            group_state.restore(kept, reader, octets)
    except SnapshotError as error:
        raise SnapshotError(
            f"{place}: {error}; go on with the settings and the version that made its state, or"
            " begin with another topic"
        ) from None
    worker.renew(worker.versions)
    return Takeover(reader.digests, resumed(worker, wanted))
