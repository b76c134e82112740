"""The bus: observations on their way from the collector to the pipeline.

A bus carries batches, never single rows. It is bounded; when the reader falls behind, `publish`
waits (policy `block`). Every batch says which frames of which source it covers, so that a reader
can tell a repeat from news, and nothing rests on a broker removing duplicates.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

import polars as pl

POLICIES = ("block",)
"""What a full bus may do with the next batch; shedding by flow is not built yet."""

Option = TypeVar("Option", bool, int, str)

READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"on": True, "off": False}.__getitem__, "on or off"),
    int: (int, "a whole number"),
    str: (str, "text"),
}
"""How an option is read from the text of an address, and what is accepted."""


class BusError(Exception):
    """A bus cannot be opened or used; the text is one sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Observations of one source, in the order in which its frames were captured.

    - `frame`: rows of the observation table; a column that is null in all rows may be left out;
    - `source`: the capture or the device that the frames came from;
    - `epoch`: counts restarts of the source, whose frame numbers begin anew each time;
    - `first`, `last`: numbers of the first and the last frame covered. Within (source, epoch) they
      only grow, so a batch whose `last` was seen before is a repeat;
    - `ended`: the source brings nothing more; such a batch has no rows.
    """

    frame: pl.DataFrame
    source: str
    epoch: int
    first: int
    last: int
    ended: bool = False


class Bus(Protocol):
    """Batches in at one end, out at the other; each batch reaches one reader."""

    async def publish(self, batch: Batch) -> None:
        """Hand over `batch`; waits while the bus is full. Raises BusError once it is closed."""

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches in order of publication within a conversation, until closed and drained."""

    async def close(self) -> None:
        """Publish nothing more; readers are given what is still there, then their loop ends."""


class MemoryBus:
    """A bus inside one process: at most `capacity` batches wait to be read."""

    def __init__(self, capacity: int = 16) -> None:
        self.capacity = capacity
        self._waiting: deque[Batch] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    async def publish(self, batch: Batch) -> None:
        """See Bus."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or len(self._waiting) < self.capacity)
            if self._closed:
                raise BusError("the bus is closed, nothing more can be published")
            self._waiting.append(batch)
            self._changed.notify_all()

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if not self._waiting:
                    return
                batch = self._waiting.popleft()
                self._changed.notify_all()
            yield batch

    async def close(self) -> None:
        """See Bus."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()


def open_bus(url: str) -> Bus:
    """The bus at `url`; nothing is connected before the first batch is published or awaited.

    - `memory://` in this process; `?capacity=16&policy=block`;
    - `kafka://host:port/topic` through a broker, see collector.kafka for its options.

    Raises BusError when the address or one of its options is not understood.
    """
    address = urlsplit(url)
    if address.scheme == "memory":
        capacity = option(url, "capacity", 16, ("capacity", "policy"))
        policy = option(url, "policy", "block", ("capacity", "policy"))
        if policy not in POLICIES:
            raise BusError(f"{url}: policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        if capacity < 1:
            raise BusError(f"{url}: capacity must be at least 1")
        return MemoryBus(capacity)
    if address.scheme == "kafka":
        from collector.kafka import KafkaBus

        return KafkaBus(url)
    raise BusError(f"{url}: a bus is memory:// or kafka://host:port/topic")


def option(url: str, name: str, default: Option, accepted: tuple[str, ...]) -> Option:
    """The option `name` of a bus address, in the type of its default; raises BusError."""
    given = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if unknown := set(given) - set(accepted):
        raise BusError(f"{url}: no option {min(unknown)!r}, there are {', '.join(accepted)}")
    if name not in given:
        return default
    read, accepts = READERS[type(default)]
    try:
        return cast("Option", read(given[name]))
    except (KeyError, ValueError):
        raise BusError(f"{url}: {name} must be {accepts}") from None
