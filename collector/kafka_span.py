"""What a topic holds now, from an offset on: read once, partition by partition, up to its end.

The end is the high watermark at the moment of asking: what is published later is not waited for. It
joins no group and commits nothing, so a pipeline that reads the same topic does not notice.
"""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from collector.bus import Batch, BusError
from collector.kafka_message import UnreadableError, read
from collector.kafka_topic import KafkaTopic
from collector.repeats import Repeats
from collector.settings.bus import BusSettings

POLL_MS = 500


class Span(NamedTuple):
    """Messages of a partition from `start` up to, and without, `end`; the sources that they are of.

    Offsets are the broker's. Between them some may be missing, as where others were compacted.
    """

    partition: int
    start: int
    end: int
    sources: tuple[str, ...]


class KafkaSpan:
    """The messages at `kafka://host:port/topic` from an offset on.

    A negative offset counts back from the end of each partition; None is its beginning.
    """

    def __init__(
        self, url: str, settings: BusSettings | None = None, from_offset: int | None = None
    ) -> None:
        """Raises BusError for an address or a setting that cannot be used."""
        self.topic = KafkaTopic(url, settings)
        self.from_offset = from_offset
        self.skipped: Counter[str] = Counter()
        """Messages that were not delivered, by reason: `repeated`, or what is wrong with them."""

    async def spans(self) -> list[Span]:
        """What each partition holds, in order; those that hold nothing are left out.

        The sources are told by the headers of all messages. Raises BusError.
        """
        consumer = await self.topic.consumer()
        try:
            if self.topic.name not in await consumer.topics():
                raise BusError(f"{self.topic.broker}: there is no topic {self.topic.name}")
            numbers = sorted(consumer.partitions_for_topic(self.topic.name) or ())
            places = [TopicPartition(self.topic.name, number) for number in numbers]
            begins = await consumer.beginning_offsets(places)
            ends = await consumer.end_offsets(places)
            found = []
            for place in places:
                start = self.started(begins[place], ends[place])
                if start < ends[place]:
                    records = [each async for each in taken(consumer, place, start, ends[place])]
                    sources = dict.fromkeys(filter(None, map(source_of, records)))
                    found.append(Span(place.partition, start, ends[place], tuple(sources)))
        except KafkaError as error:
            raise self.topic.failed(error) from error
        finally:
            await consumer.stop()
        return found

    def started(self, begin: int, end: int) -> int:
        """Where reading begins: the offset that was asked for, as far as the broker has it."""
        if self.from_offset is None:
            return begin
        asked = self.from_offset if self.from_offset >= 0 else end + self.from_offset
        return max(begin, asked)

    async def batches(self, span: Span) -> AsyncIterator[Batch]:
        """The batches of a span, in order; what cannot be read is counted. Raises BusError."""
        seen = Repeats()
        consumer = await self.topic.consumer()
        place = TopicPartition(self.topic.name, span.partition)
        try:
            async for record in taken(consumer, place, span.start, span.end):
                try:
                    fresh = seen.fresh(read(record.value, record.headers))
                except UnreadableError as error:
                    self.skipped[error.reason] += 1
                    continue
                if fresh is None:
                    self.skipped["repeated"] += 1
                else:
                    yield fresh
        except KafkaError as error:
            raise self.topic.failed(error) from error
        finally:
            await consumer.stop()


async def taken(consumer: Any, place: Any, start: int, end: int) -> AsyncIterator[Any]:
    """The records of a partition between two offsets."""
    consumer.assign([place])
    consumer.seek(place, start)
    while True:
        found = await consumer.getmany(place, timeout_ms=POLL_MS)
        for record in found.get(place, ()):
            if record.offset >= end:
                return
            yield record
        if await consumer.position(place) >= end:
            return


def source_of(record: Any) -> str | None:
    """The source that a message names."""
    told = dict(record.headers).get("source")
    return told.decode(errors="replace") if told else None
