"""The log of a place: what its worker does next is decided here first, and only by one worker.

Steps are numbered. Of two workers that take the same number one gets it, and the other one learns
that it was fenced: a worker that was stopped and goes on cannot decide anything any more. What was
decided before is a fact that the next worker repeats with the same tokens.
"""

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.again import Again, once
from pipeline.fence import Fence
from pipeline.store import Store
from pipeline.store_error import Fenced, StoreError

CLAIM, AHEAD, CUT, IDLE, SNAPSHOT = "claim", "ahead", "cut", "idle", "snapshot"
RESTORED = "restored"
KINDS = (CLAIM, AHEAD, CUT, IDLE, SNAPSHOT, RESTORED)
DECIDED = ("kind", "first", "last", "chain")
"""What a step says."""
HALTED = (
    "the store was put back from a backup that does not tell which rows are stored since the last"
    " snapshot, so what its workers did after it would count twice; put an exact backup back, made"
    " after they were ended by SIGTERM, or see `restore --repeat`"
)
MOST_CLAIMS = 100
"""Times that a claim is tried again when another worker took the number."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the log; `first` and `last` are offsets."""

    number: int
    kind: str
    epoch: int
    worker: str
    first: int = -1
    last: int = -1
    chain: int = 0


class GroupLog:
    """The log of one place, as one worker writes it. Raises what the store raises."""

    def __init__(self, store: Store, place: str) -> None:
        self.store = store
        self.place = place
        self._turn = threading.Lock()
        self.worker = secrets.token_hex(8)
        self.number = 0
        self.epoch = 0

    @property
    def fence(self) -> Fence:
        """Behind which this worker inserts."""
        return Fence(self.place, self.epoch)

    def read(self) -> Sequence[Step]:
        """The last snapshot, and the steps that its state does not know.

        Raises StoreError for steps of a newer hopsight.
        """
        rows = self.store.query("group_log", place=self.place)
        if newer := sorted(set(rows["kind"]) - set(KINDS)):
            raise StoreError(f"{self.place}: a newer hopsight decided {', '.join(newer)} here")
        return [Step(**row) for row in rows.iter_rows(named=True)]

    def claim(self) -> Sequence[Step]:
        """Take the place over: nobody else decides anything after what this returns.

        Raises StoreError for one that was put back, where nobody knows what of it is stored.
        """
        for _ in range(MOST_CLAIMS):
            steps = self.read()
            if any(step.kind == RESTORED for step in steps):
                raise StoreError(f"{self.place}: {HALTED}")
            last = steps[-1] if steps else Step(0, CLAIM, 0, "")
            self.number, self.epoch = last.number, last.epoch + 1
            try:
                self.append(CLAIM)
            except Fenced:
                continue
            return steps
        raise Fenced(f"{self.place}: other workers claim it again and again")

    def append(
        self, kind: str, first: int = -1, last: int = -1, chain: int = 0, again: Again = once
    ) -> Step:
        """Take the next step. Raises Fenced when another worker took its number.

        After an error it is open whether the step was taken: no other may be appended before it was
        tried `again`, so that nobody else of this worker has a turn meanwhile.
        """
        with self._turn:
            step: Step = again(lambda: self._appended(kind, first, last, chain))
        return step

    def _appended(self, kind: str, first: int, last: int, chain: int) -> Step:
        number = self.number + 1
        step = Step(number, kind, self.epoch, f"{self.worker}-{number}", first, last, chain)
        self.store.change(
            "group_append",
            f"{self.place}/{number}",
            place=self.place,
            number=number,
            kind=kind,
            epoch=step.epoch,
            worker=step.worker,
            first=first,
            last=last,
            chain=chain,
        )
        found = self.store.query("group_step", place=self.place, number=number)
        if found.is_empty() or found["worker"][0] != step.worker:
            raise Fenced(f"{self.place}: another worker has taken it over")
        if found.select(DECIDED).row(0) != (kind, first, last, chain):
            raise Fenced(f"{self.place}: step {number} was taken before, and nobody heard of it")
        self.number = number
        return step

    def forget(self, number: int) -> None:
        """Drop what was before the last step that a full snapshot knows."""
        for name in ("group_forget_log", "group_forget_snapshots"):
            self.store.change(name, place=self.place, number=number)
