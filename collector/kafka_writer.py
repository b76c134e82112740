"""Messages to a broker, each until it is acknowledged; what passes by itself is tried again."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aiokafka.errors import KafkaError
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from collector.bus import BusError, BusRefused
from collector.kafka_message import Message
from collector.kafka_topic import KafkaTopic

LONGEST_PAUSE_S = 5.0
LEAST_S = 1.0
"""Seconds that a broker has to let a writer in, at least."""


class KafkaWriter:
    """Writes to one topic; connected when it is first needed.

    A broker that does not answer is tried again with growing pauses of random length until
    `bus.retry_s` have passed.
    """

    def __init__(self, topic: KafkaTopic) -> None:
        self.topic = topic
        self.sent: Counter[str] = Counter()
        """What was written: messages, octets, and messages that were sent again."""
        self._producer: Any = None
        self._partitions = 0
        self._connecting = asyncio.Lock()

    @property
    def connected(self) -> bool:
        """Whether the broker has ever answered, since this was closed last."""
        return self._producer is not None

    async def partitions(self) -> int:
        """How many the topic has, which is made if it is not there. Raises BusError."""
        async with self._connecting:
            if self._producer is None:
                await self._again(self._connect)
        return self._partitions

    async def send(self, made: Sequence[Message]) -> None:
        """Send messages until each is acknowledged, those of a partition in their order.

        Raises BusError when that cannot be had.
        """
        await self.partitions()
        left = list(made)

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

    async def close(self) -> None:
        """Disconnect."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await producer.stop()

    async def _connect(self) -> None:
        """Make the topic, and a writer, in no more time than there is for all tries."""
        try:
            async with asyncio.timeout(max(self.topic.settings.retry_s, LEAST_S)):
                await self._connected()
        except TimeoutError:
            raise await self.topic.unmet() from None

    async def _connected(self) -> None:
        """The same, however long it takes."""
        await self.topic.make()
        producer = await self.topic.producer()
        try:
            self._partitions = len(await producer.partitions_for(self.topic.name))
        except KafkaError as error:
            await producer.stop()
            raise self.topic.failed(error) from error
        self._producer = producer

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


def may_pass(error: BaseException) -> bool:
    """Whether what a bus said may be otherwise soon."""
    return isinstance(error, BusError) and not isinstance(error, BusRefused)
