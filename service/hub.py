"""Events for whoever listens: kept for a while, and handed to every listener whom they are for.

Their ids are drawn by lot: numbers would tell a tenant how much others hear, and when.
"""

import asyncio
import json
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

KEPT = 1000
"""Events that a listener who was away can still have."""
HEARTBEAT_S = 15.0
"""Silence after which a comment is sent, so that nobody takes the line for dead."""
ASKED_S = 3.0
"""Time after which it is asked again whether a listener's login still holds."""
RETRY_MS = 3000
RESET = "reset"
ID_BYTES = 8
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `owner` is the tenant that it is about, None: it is for everybody.

    One that is not `wide` is heard by the people of its tenant alone, and by nobody who sees all.
    `own` gives what people of some tenants are told instead of `data`.
    """

    name: str
    data: Data
    owner: str | None = None
    wide: bool = True
    own: Callable[[tuple[str, ...]], Data] | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(ID_BYTES))


class Listener:
    """One who listens, in an event loop of its own."""

    def __init__(self, tenants: tuple[str, ...] | None, who: str = "") -> None:
        """`tenants` are those whose events are heard; None: all. `who` listens; empty: anybody."""
        self.tenants = tenants
        self.who = who
        self.loop = asyncio.get_running_loop()
        self.waiting: asyncio.Queue[Event | None] = asyncio.Queue(KEPT)

    def heard(self, event: Event) -> Event | None:
        """An event as it is for this one; None: it is not."""
        if self.tenants is None:
            return event if event.wide else None
        if event.owner is not None and event.owner not in self.tenants:
            return None
        return replace(event, data=event.own(self.tenants)) if event.own else event

    def hand(self, event: Event | None) -> None:
        """Take an event, or the end; who cannot follow is sent away, and may come again."""
        try:
            self.waiting.put_nowait(event)
        except asyncio.QueueFull:
            while not self.waiting.empty():
                self.waiting.get_nowait()
            self.waiting.put_nowait(None)


class Hub:
    """Takes events from any thread and hands them to listeners, of whom there are `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.listeners: set[Listener] = set()
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._before = secrets.token_hex(ID_BYTES)
        """The id of what came before all that is kept."""
        self._turn = threading.Lock()

    def publish(
        self,
        name: str,
        data: Data,
        owner: str | None = None,
        *,
        wide: bool = True,
        own: Callable[[tuple[str, ...]], Data] | None = None,
    ) -> None:
        """Hand an event (`Event`) to everybody whom it is for."""
        with self._turn:
            event = Event(name, data, owner, wide, own)
            if len(self._kept) == KEPT:
                self._before = self._kept[0].id
            self._kept.append(event)
            for listener in self.listeners:
                if (heard := listener.heard(event)) is not None:
                    listener.loop.call_soon_threadsafe(listener.hand, heard)

    def forget(self) -> None:
        """Keep nothing of what was: whoever was away since is told to ask for everything anew."""
        with self._turn:
            self._kept.clear()
            self._before = secrets.token_hex(ID_BYTES)

    def close(self) -> None:
        """Send every listener away."""
        with self._turn:
            for listener in self.listeners:
                listener.loop.call_soon_threadsafe(listener.hand, None)

    @contextmanager
    def joined(self, listener: Listener, last_id: str) -> Iterator[list[Event]]:
        """Listen; gives what was missed since `last_id`, or a `reset` when that is not known."""
        with self._turn:
            missed = self._missed(last_id)
            self.listeners.add(listener)
        try:
            yield [heard for event in missed if (heard := listener.heard(event)) is not None]
        finally:
            with self._turn:
                self.listeners.discard(listener)

    def _missed(self, last_id: str) -> list[Event]:
        if not last_id:
            return []
        ids = [self._before, *(event.id for event in self._kept)]
        if last_id not in ids:
            reason = {"reason": "what was missed is not known any more"}
            return [Event(RESET, reason, id=ids[-1])]
        return [*self._kept][ids.index(last_id) :]

    @staticmethod
    def text(event: Event) -> str:
        """An event as it is sent (HTML Living Standard, 9.2)."""
        data = json.dumps(event.data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return f"id: {event.id}\nevent: {event.name}\ndata: {data}\n\n"


async def stream(
    hub: Hub, listener: Listener, last_id: str, known: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """What one listener is sent, until it goes, its login ends or the service does.

    `known` says whether the login still holds; it is asked every few seconds.
    """
    spoke_s = asked_s = time.monotonic()
    with hub.joined(listener, last_id) as missed:
        yield f"retry: {RETRY_MS}\n: hopsight\n\n"
        for event in missed:
            yield hub.text(event)
        while True:
            try:
                heard = await asyncio.wait_for(listener.waiting.get(), ASKED_S)
                quiet = False
            except TimeoutError:
                heard, quiet = None, True
            now_s = time.monotonic()
            if now_s - asked_s >= ASKED_S:
                asked_s = now_s
                if not await known():
                    return
            if heard is None and not quiet:
                return
            if heard is not None:
                spoke_s = now_s
                yield hub.text(heard)
            elif now_s - spoke_s >= HEARTBEAT_S:
                spoke_s = now_s
                yield ": still here\n\n"
