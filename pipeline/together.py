"""Questions that come while others of their kind wait: one of the askers asks for all of them.

Who asks alone asks for itself, at once. So a store that has much to do gets fewer and larger
questions, and answers more of them.
"""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum

import polars as pl

from pipeline.connection import Connection
from pipeline.connections import Connections
from pipeline.joined_question import JOINED, Parameters, fits
from pipeline.question_text import asked
from pipeline.store_error import StoreBusy, StoreError

MOST = 32
"""Questions that are asked together."""


class Turn(Enum):
    """What an asker hears that has to ask by itself."""

    FOR_ALL = "who asked for all has the answer; you ask next"
    ALONE = "what was asked for all failed; ask for yourself"


@dataclass(frozen=True, slots=True)
class Asker:
    """Parameters of a question, and what comes of it."""

    parameters: Parameters
    told: "Future[pl.DataFrame | Turn]" = field(default_factory=Future)


class Together:
    """Asks the questions of `JOINED`, of many askers at once. May be used from any thread."""

    def __init__(self, readers: Connections) -> None:
        self._readers = readers
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Asker]] = {}
        """Askers by question, of questions that somebody is asking now."""

    def ask(self, name: str, parameters: Parameters) -> pl.DataFrame:
        """The answer to a question. Raises what the store raises."""
        mine = Asker(parameters)
        with self._lock:
            begun = name in self._waiting
            self._waiting.setdefault(name, deque()).extend([mine] if begun else [])
        told = mine.told.result() if begun else Turn.FOR_ALL
        if told is Turn.FOR_ALL:
            return self._lead(name, mine)
        if told is Turn.ALONE:
            return self._alone(name, parameters)
        return told

    def close(self) -> None:
        """Close the connections that are free; may be called again."""
        self._readers.close()

    def _alone(self, name: str, parameters: Parameters) -> pl.DataFrame:
        with self._readers.one() as connection:
            return told_by(connection, name, parameters)

    def _lead(self, name: str, mine: Asker) -> pl.DataFrame:
        """Ask for all who came until a reader came free, and leave the lead to who came after."""
        try:
            with self._readers.one() as connection:
                others = self._taken(name, mine)
                return self._answered(connection, name, mine, others)
        except StoreBusy as error:
            with self._lock:
                tired, self._waiting[name] = self._waiting[name], deque()
            for each in tired:
                each.told.set_exception(error)
            raise
        finally:
            with self._lock:
                waiting = self._waiting[name]
                behind = waiting.popleft() if waiting else None
                if behind is None:
                    del self._waiting[name]
            if behind is not None:
                behind.told.set_result(Turn.FOR_ALL)

    def _taken(self, name: str, mine: Asker) -> list[Asker]:
        """Those who wait and whose question fits, no longer waiting."""
        with self._lock:
            waiting = self._waiting[name]
            near = [each for each in waiting if fits(mine.parameters, each.parameters)]
            taken = near[: MOST - 1]
            for each in taken:
                waiting.remove(each)
            return taken

    def _answered(
        self, connection: Connection, name: str, mine: Asker, others: Sequence[Asker]
    ) -> pl.DataFrame:
        """One's own answer; the others hear theirs, or that they have to ask for it."""
        if not others:
            return told_by(connection, name, mine.parameters)
        wanted = [mine.parameters, *(each.parameters for each in others)]
        parts: Sequence[pl.DataFrame | Turn] = [Turn.ALONE] * len(wanted)
        try:
            parts = self._parts(connection, name, wanted) or parts
        finally:
            for each, part in zip(others, parts[1:], strict=True):
                each.told.set_result(part)
        own = parts[0]
        return told_by(connection, name, mine.parameters) if isinstance(own, Turn) else own

    def _parts(
        self, connection: Connection, name: str, wanted: Sequence[Parameters]
    ) -> list[pl.DataFrame] | None:
        """What each asker asked for; None where that cannot be told of all together.

        A limit that all of them pass together is none that each would pass.
        """
        joined = JOINED[name]
        parameters = joined.whole(wanted)
        try:
            found = told_by(connection, joined.name, parameters)
        except StoreError:
            return None
        if found.height >= parameters.get("rows", found.height + 1):
            return None
        return joined.parts(found, wanted)


def told_by(connection: Connection, name: str, parameters: Parameters) -> pl.DataFrame:
    """What a connection answers to a question."""
    return connection.frame(name, asked(name, "").sql, parameters)
