"""Messages that cannot be read: kept in a topic of their own with the reason, and counted."""

from collections import Counter
from typing import Any

from aiokafka.errors import KafkaError

from collector.kafka_message import MESSAGE_BYTES, REASONS, UnreadableError
from collector.kafka_topic import KafkaTopic


class DeadLetters:
    """Writes dead letters; connected with the first one.

    A letter has the message's value, key and headers as they came, and headers that say why, from
    which topic, partition and offset. Of a value that is larger than a message may be so much is
    kept, and `dead_octets` says how much there was. A reader that goes over a partition again
    writes them again.
    """

    def __init__(self, topic: KafkaTopic) -> None:
        self.topic = topic
        self.counts: Counter[str] = Counter()
        """Letters by reason."""
        self._producer: Any = None

    @property
    def by_reason(self) -> dict[str, int]:
        """Letters by every reason that there is.

        A counter that begins with its first letter is taken to have stood there ever since.
        """
        return dict.fromkeys(REASONS, 0) | self.counts

    async def write(self, record: Any, error: UnreadableError) -> None:
        """Returns when the broker has the letter. Raises BusError."""
        told = {
            "dead_reason": error.reason, "dead_sentence": str(error), "dead_topic": record.topic,
            "dead_partition": record.partition, "dead_offset": record.offset,
        }  # fmt: skip
        value = record.value
        if value is not None and len(value) > MESSAGE_BYTES:
            # Refused whole, it would make the partition stand for ever.
            told["dead_octets"] = len(value)
            value = value[:MESSAGE_BYTES]
        added = [(name, str(value).encode()) for name, value in told.items()]
        try:
            if self._producer is None:
                await self.topic.make()
                # One that is there twice does no harm, so readers ask no more of a broker.
                self._producer = await self.topic.producer(enable_idempotence=False)
            await self._producer.send_and_wait(
                self.topic.dead_letters, value, key=record.key,
                headers=[*record.headers, *added],
            )  # fmt: skip
        except KafkaError as failed:
            raise self.topic.failed(failed) from failed
        self.counts[error.reason] += 1

    async def close(self) -> None:
        """Disconnect."""
        if self._producer is not None:
            await self._producer.stop()
            self._producer = None
