"""The bus through a Kafka broker.

A message lies in the partition `conversation % partitions`, so that data and its ACKs meet on one
reader. Nothing rests on the broker removing duplicates: a reader tells repeats by what they cover
(`repeats`), and what cannot be read becomes a dead letter.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from collector.bus import Batch, BusError, BusRefused
from collector.dead_letters import DeadLetters
from collector.kafka_message import Placement, UnreadableError, headers, messages, read
from collector.kafka_topic import KafkaTopic
from collector.repeats import Repeats
from collector.settings.bus import BusSettings

POLL_MS = 200
LONGEST_PAUSE_S = 5.0
Message = tuple[int, bytes, list[tuple[str, bytes]]]
"""Partition, value and headers."""


class KafkaBus:
    """The bus at `kafka://host:port/topic`; see `kafka_topic` for its options.

    What a writer holds is bounded: while the messages of one batch are on their way the next one is
    cut and waits. A broker that does not answer is tried again with growing pauses of random length
    until `retry_s` have passed.
    """

    def __init__(self, url: str, settings: BusSettings | None = None) -> None:
        """Raises BusError for an address or a setting that cannot be used."""
        self.topic = KafkaTopic(url, settings)
        self.dead_letters = DeadLetters(self.topic)
        self.skipped: Counter[str] = Counter()
        """Messages that were not delivered, by reason: `repeated`, or that of a dead letter."""
        self.sent: Counter[str] = Counter()
        """What was written: messages, octets, rows, and messages that were sent again."""
        self._placement = Placement()
        self._producer: Any = None
        self._partitions = 0
        self._sending: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def fill(self) -> float:
        """See Bus: one batch is on its way at a time."""
        return float(self._sending is not None and not self._sending.done())

    async def publish(self, batch: Batch) -> None:
        """See Bus; returns when the broker has acknowledged the batch before this one."""
        if self._closed:
            raise BusError("the bus is closed, nothing more can be published")
        if self._producer is None:
            await self._again(self._connect)
        made = await asyncio.to_thread(self._messages, batch)
        await self._acknowledged()
        self._sending = asyncio.create_task(self._send(made))
        self.sent["rows"] += batch.frame.height

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus; every reader is given all messages that the topic holds."""
        seen: dict[int, Repeats] = {}
        await self.topic.make()
        consumer = await self.topic.consumer()
        try:
            await consumer.topics()
            numbers = sorted(consumer.partitions_for_topic(self.topic.name) or ())
            places = [TopicPartition(self.topic.name, number) for number in numbers]
            consumer.assign(places)
            while True:
                records = await consumer.getmany(timeout_ms=POLL_MS)
                for record in (record for run in records.values() for record in run):
                    fresh = await self._read(record, seen.setdefault(record.partition, Repeats()))
                    if fresh is not None:
                        yield fresh
                if self._closed and not records and await drained(consumer, places):
                    return
        except KafkaError as error:
            raise self.topic.failed(error) from error
        finally:
            await consumer.stop()
            await self.dead_letters.close()

    async def close(self) -> None:
        """See Bus; returns when the broker has acknowledged what was published."""
        self._closed = True
        try:
            await self._acknowledged()
        finally:
            if self._producer is not None:
                await self._producer.stop()
                self._producer = None

    def _messages(self, batch: Batch) -> list[Message]:
        """A batch as messages."""
        return [
            (partition, value, headers(part, value))
            for partition, piece in self._placement.placed(batch, self._partitions)
            for part, value in messages(piece, self.topic.compression)
        ]

    async def _connect(self) -> None:
        """Make the topic, and a writer."""
        await self.topic.make()
        producer = await self.topic.producer()
        try:
            self._partitions = len(await producer.partitions_for(self.topic.name))
        except KafkaError as error:
            await producer.stop()
            raise self.topic.failed(error) from error
        self._producer = producer

    async def _acknowledged(self) -> None:
        """Wait for what is on its way; raises BusError when it cannot be delivered."""
        if self._sending is not None:
            sending, self._sending = self._sending, None
            try:
                await asyncio.shield(sending)
            except asyncio.CancelledError:
                self._sending = sending  # `close` waits for it
                raise

    async def _send(self, made: list[Message]) -> None:
        """Send messages until each is acknowledged; those of a partition in their order."""
        left = made

        async def once() -> None:
            nonlocal left
            futures = [await self._started(message) for message in left]
            told = await asyncio.gather(*futures, return_exceptions=True)
            failed = [each for each in told if isinstance(each, BaseException)]
            left = [
                message for message, each in zip(left, told, strict=True)
                if isinstance(each, BaseException)
            ]  # fmt: skip
            self.sent["again"] += len(left)
            for each in failed:
                if not isinstance(each, KafkaError):
                    raise each
                raise self.topic.failed(each)

        await self._again(once)
        self.sent["messages"] += len(made)
        self.sent["octets"] += sum(len(value) for _, value, _ in made)

    async def _started(self, message: Message) -> Any:
        """What will tell that one message arrived; a failure to begin is told there too."""
        partition, value, given = message
        try:
            return await self._producer.send(
                self.topic.name, value, partition=partition, headers=given
            )
        except KafkaError as error:
            failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed

    async def _again(self, work: Any) -> None:
        """Do some work, again after a BusError that may pass until `retry_s` have passed."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_delay(self.topic.settings.retry_s),
            wait=wait_random_exponential(multiplier=0.1, max=LONGEST_PAUSE_S),
            reraise=True,
        ):
            with attempt:
                await work()

    async def _read(self, record: Any, seen: Repeats) -> Batch | None:
        """The batch of a message, or None when it is counted under a reason to skip it."""
        try:
            batch = read(record.value, record.headers)
        except UnreadableError as error:
            await self.dead_letters.write(record, error)
            self.skipped[error.reason] += 1
            return None
        fresh = seen.fresh(batch)
        if fresh is None:
            self.skipped["repeated"] += 1
        return fresh


def may_pass(error: BaseException) -> bool:
    """Whether what a bus said may be otherwise soon."""
    return isinstance(error, BusError) and not isinstance(error, BusRefused)


async def drained(consumer: Any, places: list[TopicPartition]) -> bool:
    """Whether `consumer` has read each partition up to its end."""
    ends = await consumer.end_offsets(places)
    return all([await consumer.position(place) >= ends[place] for place in places])
