"""A reader that shares a topic with others: partitions come and go, each with its own position.

Positions are told by whoever owns the state behind them (`seek`); what is committed to the broker
is only for those who watch the lag.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaError,
    OffsetOutOfRangeError,
)

from collector.bus import BusError, MessagesGone
from collector.dead_letters import DeadLetters
from collector.kafka_message import Contents, UnreadableError
from collector.kafka_topic import KafkaTopic
from collector.settings.bus import BusSettings

MOST_POLL_MS = 3_600_000
"""How long the work on messages may take: the heartbeat, not the work, tells who is alive."""
FETCH_BYTES = 4 << 20
"""Octets of a partition that are asked for at a time; a cut has those of two times at most."""
NEWEST_S, NEW_S = 0.1, 0.2
"""How long messages are asked for that came while older ones were worked on, and the age of one
behind which no others are."""
SEEK_S = 10.0
"""How long the ends of a partition are asked for at a time."""
TOLD_S = 4.0
"""How long the broker may take to hear what nothing rests on: positions, and that a member goes."""
LATE_S = 0.5
"""How much longer than asked the client may look for messages: while the group is being arranged
anew it waits for the end of that, and that waits for whoever reads here."""
ANSWERED_S = 5.0
"""A broker that has said nothing of a partition for so long does not answer."""
logger = logging.getLogger("hopsight.collector")
Moved = Callable[[Sequence[int]], Awaitable[None]]


class Record(NamedTuple):
    """A message as it came."""

    offset: int
    message: Any


class GroupReader(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """One member of the group that reads `url`; `taken` and `left` hear which partitions it has."""

    def __init__(
        self, url: str, settings: BusSettings, taken: Moved, left: Moved, contents: Contents
    ) -> None:
        """Raises BusError for an address or a setting that cannot be used."""
        self.topic = KafkaTopic(url, settings, contents.derived)
        self.contents = contents
        self.dead_letters = DeadLetters(self.topic)
        self.settings = settings
        self.assigned: frozenset[int] = frozenset()
        self._taken, self._left = taken, left
        self._consumer: Any = None

    def place(self, partition: int) -> str:
        """What a partition is called in the store."""
        return f"{self.topic.name}/{partition}"

    @property
    def partitions(self) -> int:
        """How many the topic has, by which a conversation finds its own; 0: not known yet."""
        return len(self._consumer.partitions_for_topic(self.topic.name) or ())

    async def start(self) -> None:
        """Join the group. Raises BusError."""
        await self.topic.make()
        session_ms = round(self.settings.session_s * 1000)
        self._consumer = await self.topic.consumer(
            group_id=f"{self.settings.group}.{self.topic.name}",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=max(session_ms // 6, 100),
            rebalance_timeout_ms=session_ms,
            max_poll_interval_ms=MOST_POLL_MS,
            max_partition_fetch_bytes=FETCH_BYTES,
            partition_assignment_strategy=(StickyPartitionAssignor,),
        )
        self._consumer.subscribe([self.topic.name], listener=self)

    async def on_partitions_revoked(self, revoked: Any) -> None:
        """The group is being arranged anew."""
        self.assigned = frozenset()
        await self._left([place.partition for place in revoked])

    async def on_partitions_assigned(self, assigned: Any) -> None:
        """What this member has from now on."""
        self.assigned = frozenset(place.partition for place in assigned)
        if not assigned and not self.contents.derived:
            said = "%s: others have all %d partitions; this worker stands by"
            logger.info(said, self.topic.name, self.partitions)
        self._consumer.pause(*assigned)
        await self._taken(sorted(self.assigned))

    async def seek(self, partition: int, offset: int | None) -> int:
        """Go on at an offset, or where the partition begins; BusError when it is not there."""
        place = TopicPartition(self.topic.name, partition)
        try:
            async with asyncio.timeout(SEEK_S):
                begin = (await self._consumer.beginning_offsets([place]))[place]
                end = (await self._consumer.end_offsets([place]))[place]
            at = begin if offset is None else offset
            if at < begin:
                told = f"{self.place(partition)}: messages {at} to {begin - 1} were deleted unread"
                raise MessagesGone(told, begin)
            if at > end:
                raise BusError(
                    f"{self.place(partition)}: the next message is {at}, and the broker has those"
                    f" from {begin} to {end}; they were deleted, or the topic was made anew"
                )
            self._consumer.seek(place, at)
            self._consumer.resume(place)
        except (KafkaError, IllegalStateError, TimeoutError) as error:
            raise self.topic.failed(error) from error
        return at

    async def records(
        self, partition: int, wait_s: float, most: int, newest_s: float = NEWEST_S
    ) -> list[Record]:
        """The next messages of a partition, maybe none, which are waited for `wait_s`.

        For those that came meanwhile it asks again for `newest_s`. Raises BusError.
        """
        place = TopicPartition(self.topic.name, partition)
        found: list[Any] = []
        octets, wait_ms, began_s, until_s = 0, round(wait_s * 1000), time.time(), 0.0
        try:
            # The client fetches when it has been emptied: what it has is as old as the last call,
            # and what came since is had by asking again.
            while len(found) < most and octets < FETCH_BYTES:
                # Cut off where it waits nothing is lost: messages are taken without a wait.
                async with asyncio.timeout(wait_ms / 1000 + LATE_S):
                    told = await self._consumer.getmany(
                        place, timeout_ms=wait_ms, max_records=most - len(found)
                    )
                if not (more := told.get(place, ())):
                    break
                found += more
                octets += sum(len(each.value or b"") for each in more)
                until_s = until_s or time.monotonic() + newest_s
                wait_ms = round((until_s - time.monotonic()) * 1000)
                if wait_ms <= 0 or more[-1].timestamp >= (began_s - NEW_S) * 1000:
                    break
        except TimeoutError:
            pass
        except OffsetOutOfRangeError as error:
            raise BusError(f"{self.place(partition)}: the messages were deleted: {error}") from None
        except (KafkaError, IllegalStateError) as error:
            raise self.topic.failed(error) from error
        return [Record(each.offset, each) for each in found]

    def answers(self, partition: int) -> bool:
        """Whether the broker says what a partition has, if only that it has nothing new."""
        place = TopicPartition(self.topic.name, partition)
        if place not in self._consumer.assignment():
            return False
        told_ms = self._consumer.last_poll_timestamp(place)
        return told_ms is not None and time.time() - told_ms / 1000 < ANSWERED_S

    async def contained(self, records: Sequence[Record]) -> list[Any]:
        """What messages say, of observations their batches.

        Those that cannot be read have become dead letters.
        """
        made, dead = await asyncio.to_thread(parted, records, self.contents)
        for record, error in dead:
            await self.dead_letters.write(record.message, error)
        return made

    async def commit(self, partition: int, offset: int) -> None:
        """Tell the broker how far a partition's state is kept; nothing rests on it."""
        place = TopicPartition(self.topic.name, partition)
        with suppress(CommitFailedError, IllegalStateError, KafkaError, TimeoutError):
            async with asyncio.timeout(TOLD_S):
                await self._consumer.commit({place: offset})

    async def close(self) -> None:
        """Leave the group."""
        if self._consumer is not None:
            # Whoever goes without a word is missed when its session is over. A task of its own:
            # where the broker is away the client raises what ended its tasks, a cancellation too.
            stopping = asyncio.create_task(self._consumer.stop())
            for _ in ("to leave", "to be cancelled"):
                await asyncio.wait({stopping}, timeout=TOLD_S)
                stopping.cancel()
            if stopping.done() and not stopping.cancelled():
                stopping.exception()
        await self.dead_letters.close()


def parted(
    records: Sequence[Record], contents: Contents
) -> tuple[list[Any], list[tuple[Record, UnreadableError]]]:
    """What can be read of messages, and what cannot."""
    made: list[Any] = []
    dead: list[tuple[Record, UnreadableError]] = []
    for record in records:
        try:
            made.append(contents.read(record.message.value, record.message.headers, record.offset))
        except UnreadableError as error:
            dead.append((record, error))
    return made, dead
