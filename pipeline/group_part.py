"""A place: one partition of a topic and the state of its flows, on whichever worker it is.

What is done to a run of messages is decided first (`group_log`): which offsets are one cut. Its
rows are a function of the state before and of these messages, and go out with a token that names
table, place and offsets; so whoever repeats the cut sends the same rows, and the store keeps them
once. An insert takes about as long for few rows as for many: so rows that nobody waits for are
stored with those of later cuts, and which cut they go with is decided, too.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from pipeline import group_state
from pipeline.again import Again
from pipeline.capture_gaps import stored_last
from pipeline.desk import Taken, desk_of
from pipeline.group_log import AHEAD, CUT, IDLE, SNAPSHOT, GroupLog, Step
from pipeline.handed import Handed
from pipeline.meeting import Meeting
from pipeline.settings import PipelineSettings
from pipeline.sink import together
from pipeline.sooner import FIRST, parted
from pipeline.state_codec import StateWriter
from pipeline.store import Store
from pipeline.store_error import StoreError
from pipeline.storing import Storing
from pipeline.tables import WAITED_FOR
from pipeline.takeover import taken_over
from pipeline.worker import Output, Worker

TURN = threading.Lock()
"""Held by the place whose rows are being made. Beside each other places of a process would take as
long, since they share its interpreter, and twice the processor, since they take it from each other
thousands of times a second."""
FULL_EVERY = 32
"""Snapshots at most until the next full one, which lets those before it be forgotten."""
MOST_ROWS = 1 << 18
"""Rows that wait for a later cut at most: two seconds (`group.SETTLE_S`) of 130,000 each."""


HandOn = Callable[[Handed, int, int, bool], None]
"""Takes what messages, or silence (`IDLE`) behind them, gave for those who judge."""


class Part:
    """A place in the hands of this worker; `claim` first, then cut after cut from `position` on.

    Every method may raise Fenced, after which the place is another worker's and this object is of
    no use any more.
    """

    def __init__(
        self,
        store: Store,
        place: str,
        worker: Callable[[], Worker | Meeting],
        again: Again,
        *,
        judged: bool = True,
        partitions: int = 0,
        hand_on: HandOn | None = None,
    ) -> None:
        """Make nothing yet; `worker` makes one, or a meeting, with empty state.

        Rows that are not `judged` are stored as they come, and the worker's state stays as it is.
        The topic has so many `partitions`; 0: not known. With `hand_on` intervals are judged
        elsewhere.
        """
        self.place = place
        self.store = store
        self.log = GroupLog(store, place)
        self.again = again
        self.writer = StateWriter(group_state.SKIPPED)
        self.counts: Counter[str] = Counter()
        self.position: int | None = None
        """Offset of the next message; None: where the topic begins."""
        self.promised: list[Step] = []
        """Cuts that are decided and not stored yet."""
        self.waiting: list[Output] = []
        """Rows of the cuts since the last whole one that are not stored yet."""
        self.storing = Storing()
        """What stores the rows of the last whole cut that are not waited for."""
        stored = stored_last(store)

        def heard(source: str, before_ns: int) -> int | None:
            found: int | None = self.again(lambda: stored(source, before_ns))
            return found

        self.hand_on = hand_on
        self.at_once = () if hand_on else WAITED_FOR
        """Tables whose rows do not wait: flows that are judged elsewhere are told of there."""
        self.desk = desk_of(worker(), place, partitions, heard, self.counts, judged=judged)
        self.kept = self.desk.kept
        self.tuned: PipelineSettings | None = None
        """Settings that were given last."""
        self.left: list[str] = []
        """Settings that state of before does not take, each in a sentence."""
        self.kept_to: int | None = None
        """Offset behind the newest snapshot that this worker made."""
        self.cuts_since = 0
        """Cuts since the last snapshot."""
        self._before: Counter[str] = Counter()
        """Counters of the worker as they were when the place was taken over."""
        self._chain = 0
        self._sizes: list[int] = []
        """Octets of the snapshots of this chain, the full one first."""

    def claim(self) -> None:
        """Take the place over: state of the last snapshot, then the cuts decided since."""
        steps: Sequence[Step] = self.again(self.log.claim)
        known = [step for step in steps if step.kind == SNAPSHOT]
        if known:
            self._chain, self.position = known[-1].chain, known[-1].last + 1
            chain = self.again(lambda: [*group_state.read(self.store, self.place, self._chain)])
            self.writer.digests, self.left = taken_over(self.kept, self.place, chain)
            self._sizes = [len(octets) for octets in chain]
        if isinstance(self.kept.worker, Worker):
            self.kept.worker.hands_on = self.hand_on is not None
        self.promised = [step for step in steps if step.kind in {AHEAD, CUT, IDLE}]
        self.counts["claims"] += 1
        self._before = Counter(self.kept.worker.counters)

    @property
    def worked(self) -> Counter[str]:
        """What of the worker's counters came since the place was taken over."""
        return Counter(self.kept.worker.counters) - self._before

    def is_mine(self) -> bool:
        """Whether nobody has decided anything since this worker did, and all it began is stored."""
        try:
            self.storing.wait()
        except StoreError:
            return False
        steps = self.again(self.log.read)
        return bool(steps) and (steps[-1].number, steps[-1].epoch) == (
            self.log.number,
            self.log.epoch,
        )

    @property
    def full(self) -> bool:
        """Whether as many rows wait as may."""
        return sum(made.height for made in self.waiting) > MOST_ROWS

    @property
    def silent(self) -> list[str]:
        """Sources that have not ended, and that are waited for."""
        return self.desk.open

    def idle(self) -> None:
        """Wait no more for sources that are silent; it is decided, as no message says so."""
        begin = int(self.position or 0)
        self.promised.append(self.log.append(IDLE, begin, begin - 1, again=self.again))
        self.counts["idle"] += 1
        self.work(begin, begin - 1, ())

    def cut(self, first: int, last: int, *, whole: bool = True) -> None:
        """Decide that the messages from `first` to `last` are worked on as one, unless it is.

        With a `whole` cut all that waits is stored; it may be without messages (`last` before
        `first`). The rows of another wait, but for those that people wait for.
        """
        if self.promised:
            step = self.promised[0]
            if (step.first, step.last) != (first, last):
                raise ValueError(f"{self.place}: {first}-{last} is not the cut that was decided")
            self.counts["repeated_cuts"] += 1
            return
        kind = CUT if whole else AHEAD
        self.promised.append(self.log.append(kind, first, last, again=self.again))
        self.counts["cuts"] += 1

    def skip(self, begin: int) -> int:
        """Go on at an offset, since those before it are gone; the messages that are missing.

        A cut that was decided is worked on with what is left of it, or not at all.
        """
        missing = begin - int(self.position or 0)
        self.promised = [step for step in self.promised if step.last >= begin]
        self.position = begin
        return missing

    def work(
        self, first: int, last: int, messages: Sequence[Any], *, snapshot: bool = False
    ) -> int:
        """Turn the messages of a cut that is decided into rows: `take`, `pass_on`, `keep`."""
        taken = self.take(messages)
        self.pass_on(first, last, taken)
        return self.keep(first, last, taken, snapshot=snapshot)

    def take(self, messages: Sequence[Any], begun: Callable[[], Any] = lambda: None) -> Taken:
        """Turn messages into rows; the cut may be decided meanwhile.

        `begun` is called when it is this place's turn. Where no `keep` follows the state is of no
        use any more.
        """
        with TURN:
            begun()
            idle = bool(self.promised) and self.promised[0].kind == IDLE
            return self.desk.give_up() if idle else self.desk.take(messages)

    def pass_on(self, first: int, last: int, taken: Taken) -> None:
        """Hand on what is judged elsewhere, of a cut that is decided.

        Before anything says that the cut is behind us: whoever works on it anew sends it again.
        """
        if self.hand_on and taken.output.handed is not None:
            self.hand_on(taken.output.handed, first, last, self.promised[0].kind == IDLE)

    def keep(self, first: int, last: int, taken: Taken, *, snapshot: bool = False) -> int:
        """Store what came of a cut that is decided; the rows that came in.

        Behind a whole cut the state may be kept, too. What nobody waits for is stored beside what
        comes next.
        """
        kind = self.promised[0].kind
        token = f"{self.place}/{first}-{last}" + (f"/{IDLE}" if kind == IDLE else "")
        at_once, waits = parted(taken.output.tables, self.at_once, taken.output.new)
        self.waiting.append(Output(waits, rolled=taken.output.rolled))
        self._insert(at_once, f"{token}/{FIRST}")
        self.promised.pop(0)
        self.position = last + 1
        self.cuts_since += 1
        self.counts["rows"] += taken.rows
        if kind != AHEAD:
            self.storing.wait()
            # Behind a snapshot no cut is read again: one that was decided must be worked on first.
            state = self._state() if snapshot and not self.promised else b""
            waiting, self.waiting = self.waiting, []
            ending = partial(self._settled, waiting, token)
            self.storing.begin(partial(ending, state, self.log.number, last, self._chain))
        return taken.rows

    def settle(self, *, snapshot: bool = False) -> None:
        """Store what waits, by a whole cut without messages, and keep the state if it has changed.

        Returns at once; `storing.wait` until it is done. Raises what went wrong the last time.
        """
        if not self.storing.busy:
            self.storing.wait()
        if self.promised or not (self.waiting or (snapshot and self.cuts_since)):
            return
        begin = int(self.position or 0)
        self.cut(begin, begin - 1)
        self.work(begin, begin - 1, (), snapshot=snapshot)

    def snapshot(self) -> None:
        """Store what waits, keep the state, and return when it is done."""
        self.settle(snapshot=True)
        self.storing.wait()

    def _state(self) -> bytes:
        """A snapshot: of the whole state, or of what has changed."""
        full = not self._chain or long(self._sizes)
        with TURN:
            octets = group_state.octets_of(self.kept, self.writer, full=full)
        self._sizes = [len(octets)] if full else [*self._sizes, len(octets)]
        if full:
            self._chain = self.log.number
        self.cuts_since = 0
        return octets

    def _settled(
        self, waiting: Sequence[Output], token: str, state: bytes, known: int, last: int, chain: int
    ) -> None:
        """Store rows that waited, and then the state behind them, which knows the log so far."""
        with TURN:
            tables = together(waiting).whole
        self._insert(tables, token)
        if not state:
            return
        self.again(lambda: group_state.write(self.store, self.log.fence, known, state))
        self.log.append(SNAPSHOT, known, last, chain, again=self.again)
        self.kept_to = last + 1
        self.counts["snapshots"] += 1
        self.counts["snapshot_octets"] += len(state)
        if chain == known:
            self.again(lambda: self.log.forget(known))

    def _insert(self, tables: Mapping[str, pl.DataFrame], token: str) -> None:
        """Store the rows of a cut, behind this worker's fence."""
        fence = self.log.fence
        for table, rows in tables.items():
            self.again(partial(self.store.insert, table, rows, token, fence))


def long(sizes: Sequence[int]) -> bool:
    """Whether a chain of snapshots is to end: whoever takes the place over reads all of it.

    What came after the full one is at most about as large, so a takeover takes twice its time.
    """
    return len(sizes) >= FULL_EVERY or sum(sizes[1:]) >= sizes[0]
