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

from collector.bus import Batch, BusError
from collector.dead_letters import DeadLetters
from collector.kafka_message import (
    Message,
    Placement,
    UnreadableError,
    headers,
    messages,
    read,
)
from collector.kafka_topic import KafkaTopic
from collector.kafka_writer import KafkaWriter
from collector.repeats import Repeats
from collector.settings.bus import BusSettings

POLL_MS = 200


class KafkaBus:
    """The bus at `kafka://host:port/topic`; see `kafka_topic` for its options.

    What a writer holds is bounded: while the messages of one batch are on their way the next one is
    cut and waits (`kafka_writer`).
    """

    def __init__(self, url: str, settings: BusSettings | None = None) -> None:
        """Raises BusError for an address or a setting that cannot be used."""
        self.topic = KafkaTopic(url, settings)
        self.dead_letters = DeadLetters(self.topic)
        self.skipped: Counter[str] = Counter()
        """Messages that were not delivered, by reason: `repeated`, or that of a dead letter."""
        self._writer = KafkaWriter(self.topic)
        self.sent = self._writer.sent
        """What was written: messages, octets, rows, and messages that were sent again."""
        self._placement = Placement()
        self._sending: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def fill(self) -> float:
        """See Bus: one batch is on its way at a time."""
        return float(self._sending is not None and not self._sending.done())

    @property
    def reached(self) -> bool:
        """Whether a broker has ever answered."""
        return self._writer.connected

    async def publish(self, batch: Batch) -> None:
        """See Bus; returns when the broker has acknowledged the batch before this one."""
        if self._closed:
            raise BusError("the bus is closed, nothing more can be published")
        partitions = await self._writer.partitions()
        made = await asyncio.to_thread(self._messages, batch, partitions)
        await self._acknowledged()
        self._sending = asyncio.create_task(self._sent(made, batch.frame.height))

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

    async def more(self, _batch: Batch, /) -> tuple[Batch, ...]:
        """See Bus: none, what a topic holds is read again as it was."""
        return ()

    async def close(self) -> None:
        """See Bus; returns when the broker has acknowledged what was published."""
        self._closed = True
        try:
            await self._acknowledged()
        finally:
            await self._writer.close()

    async def _sent(self, made: list[Message], rows: int) -> None:
        """Send the messages of a batch; its rows count once all are acknowledged."""
        await self._writer.send(made)
        self.sent["rows"] += rows

    def _messages(self, batch: Batch, partitions: int) -> list[Message]:
        """A batch as messages."""
        return [
            (partition, value, headers(part, value))
            for partition, piece in self._placement.placed(batch, partitions)
            for part, value in messages(piece, self.topic.compression)
        ]

    async def _acknowledged(self) -> None:
        """Wait for what is on its way; raises BusError when it cannot be delivered."""
        if self._sending is not None:
            sending, self._sending = self._sending, None
            try:
                await asyncio.shield(sending)
            except asyncio.CancelledError:
                self._sending = sending  # `close` waits for it
                raise

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


async def drained(consumer: Any, places: list[TopicPartition]) -> bool:
    """Whether `consumer` has read each partition up to its end."""
    ends = await consumer.end_offsets(places)
    return all([await consumer.position(place) >= ends[place] for place in places])
