"""A source: frames as they come, from a file, an interface or a socket."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from collector.frame import Frames
from collector.loss import Loss


class Source(Protocol):
    """What `feed` reads. A source ends of itself, or soon after it is told to stop."""

    source: str
    """Name of the source, by which rows and batches are told apart."""
    epoch: int
    """Which life of the source this is, in each of which its frames are numbered anew."""
    reasons: dict[str, int]
    """Frames that were seen but not delivered, by reason; grows while reading."""
    failed: str
    """Why it ended though nobody told it to, one sentence; empty: it has not."""
    losses: list[Loss]
    """What a live source lost; whoever tells of one takes it out."""

    @property
    def points(self) -> list[str]:
        """Names of the observation points that `Frames.interface` numbers."""

    @property
    def poll_s(self) -> float:
        """Seconds to wait before a run without frames is followed by another."""

    @property
    def reached_ns(self) -> int | None:
        """Time up to which all frames have come, when nothing waits; None: nobody can say."""

    @property
    def live(self) -> bool:
        """Whether nobody can say if and when its next frame comes: it holds up no other source."""

    @property
    def backlog(self) -> float:
        """Share of its own room that frames take which came and were not read; 1: it has none."""

    def chunks(self, frames_per_chunk: int, *, wait: bool) -> Iterator[Frames]:
        """Runs of frames; with `wait` false a run without frames where there is nothing yet."""

    def stop(self) -> None:
        """End soon; what has come is still given. May be called from any thread."""

    def close(self) -> None:
        """Give back what the system lent."""


def tell_apart(captures: Iterable[Source]) -> None:
    """Give captures of one file name sources of their own: `x.pcap`, then `x.pcap (2)`."""
    taken: set[str] = set()
    for capture in captures:
        name, again = capture.source, 1
        while capture.source in taken:
            again += 1
            capture.source = f"{name} ({again})"
        taken.add(capture.source)
