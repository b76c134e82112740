"""The bus through a Kafka broker: a thin seat, deepened by later work.

A message is one Arrow IPC stream (lz4 inside) of at most 900 kB, because stock brokers refuse more
than 1 MB. It lies in the partition `conversation % partitions`, so that data and its ACKs meet on
one reader. The versions of the observation table and of the conversation hash are part of the
topic's name: readers of another layout or another placement never meet these messages.

Not there yet: consumer groups and committed positions (a reader begins at the start of every
partition), fencing of a second writer with the same epoch, dead letters (what cannot be read is
counted and left), TLS and SASL.
"""

import asyncio
import io
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from collector.bus import Batch, BusError
from collector.bus_option import option
from collector.flow_key import PLACEMENT_VERSION
from collector.observation import SCHEMA_VERSION

MESSAGE_BYTES = 900_000
OPTIONS = ("partitions", "replication", "idempotence")
POLL_MS = 200


class KafkaBus:
    """The bus at `kafka://host:port/topic`.

    Its options are:

    - `partitions=8`, `replication=1`: used only when the topic does not exist and is made;
    - `idempotence=on`: the broker drops what a retry repeats; `off` for brokers that cannot.
    """

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        if not address.hostname or not address.path.strip("/"):
            raise BusError(f"{url}: an address is kafka://host:port/topic")
        self.broker = address.netloc
        self.topic = f"{address.path.strip('/')}.v{SCHEMA_VERSION}.p{PLACEMENT_VERSION}"
        self.skipped: Counter[str] = Counter()
        """Messages that were not delivered, by reason: unknown_schema, unreadable, repeated."""
        self._partitions = option(url, "partitions", 8, OPTIONS)
        self._replication = option(url, "replication", 1, OPTIONS)
        self._idempotence = option(url, "idempotence", True, OPTIONS)
        self._producer: Any = None
        self._closed = False

    async def publish(self, batch: Batch) -> None:
        """See Bus; returns when the broker has acknowledged every message."""
        if self._closed:
            raise BusError("the bus is closed, nothing more can be published")
        try:
            producer = await self._connected()
            partitions = len(await producer.partitions_for(self.topic))
            for partition, piece in placed(batch, partitions):
                sent = [
                    await producer.send(
                        self.topic, message, partition=partition, headers=headers(part)
                    )
                    for part, message in messages(piece)
                ]
                await asyncio.gather(*sent)
        except KafkaError as error:
            raise BusError(f"{self.broker}: {error}") from error

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus; every reader is given all messages that the topic holds."""
        seen: dict[tuple[int, str, int], int] = {}
        await self._made()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.broker, auto_offset_reset="earliest", enable_auto_commit=False
        )
        try:
            await consumer.start()
            places = [TopicPartition(self.topic, part) for part in await self._numbers(consumer)]
            consumer.assign(places)
            while True:
                records = await consumer.getmany(timeout_ms=POLL_MS)
                for record in (record for run in records.values() for record in run):
                    batch = self._read(record, seen)
                    if batch is not None:
                        yield batch
                if self._closed and not records and await drained(consumer, places):
                    return
        except KafkaError as error:
            raise BusError(f"{self.broker}: {error}") from error
        finally:
            await consumer.stop()

    async def close(self) -> None:
        """See Bus; what was published is flushed first."""
        self._closed = True
        if self._producer is not None:
            await self._producer.stop()
            self._producer = None

    async def _connected(self) -> Any:
        if self._producer is None:
            await self._made()
            producer = AIOKafkaProducer(
                bootstrap_servers=self.broker, acks="all", enable_idempotence=self._idempotence
            )
            try:
                await producer.start()
            except KafkaError:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer

    async def _made(self) -> None:
        """Makes the topic unless it is there."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.broker)
        try:
            await admin.start()
            wanted = NewTopic(self.topic, self._partitions, self._replication)
            answer = await admin.create_topics([wanted])
            for _, code, *_ in answer.topic_errors:
                if code and for_code(code) is not TopicAlreadyExistsError:
                    raise for_code(code)(self.topic)
        except KafkaError as error:
            raise BusError(f"{self.broker}: {error}") from error
        finally:
            await admin.close()

    async def _numbers(self, consumer: Any) -> list[int]:
        await consumer.topics()
        return sorted(consumer.partitions_for_topic(self.topic) or ())

    def _read(self, record: Any, seen: dict[tuple[int, str, int], int]) -> Batch | None:
        """The batch of a message, or None when it is counted under a reason to skip it."""
        given = {key: value.decode(errors="replace") for key, value in record.headers}
        if given.get("schema") != str(SCHEMA_VERSION):
            self.skipped["unknown_schema"] += 1
            return None
        try:
            epoch, first, last = (int(given[key]) for key in ("epoch", "first", "last"))
            frame = pl.read_ipc_stream(io.BytesIO(record.value))
        except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError, OSError):
            self.skipped["unreadable"] += 1
            return None
        stream = (record.partition, given["source"], epoch)
        ended = given.get("ended") == str(True)
        if last <= seen.get(stream, -1) and not ended:
            self.skipped["repeated"] += 1
            return None
        seen[stream] = last
        return Batch(frame, given["source"], epoch, first, last, ended)


def headers(batch: Batch) -> list[tuple[str, bytes]]:
    """What a message says of itself beside its rows."""
    facts = {
        "schema": SCHEMA_VERSION,
        "source": batch.source,
        "epoch": batch.epoch,
        "first": batch.first,
        "last": batch.last,
        "ended": batch.ended,
    }
    return [(name, str(value).encode()) for name, value in facts.items()]


def placed(batch: Batch, partitions: int) -> Iterator[tuple[int, Batch]]:
    """The rows of `batch` by partition, each in the order of its frames.

    That a source has ended is said in every partition.
    """
    if batch.ended:
        yield from ((partition, batch) for partition in range(partitions))
        return
    place = (pl.col("conversation") % partitions).alias("partition")
    groups = batch.frame.group_by(place, maintain_order=True)
    for (partition,), rows in groups:
        yield int(str(partition)), piece(batch, rows)


def messages(batch: Batch) -> Iterator[tuple[Batch, bytes]]:
    """`batch` in as many messages as its size needs; raises BusError when one row is too large."""
    buffer = io.BytesIO()
    batch.frame.write_ipc_stream(buffer, compression="lz4")
    message = buffer.getvalue()
    if len(message) <= MESSAGE_BYTES:
        yield batch, message
        return
    half = batch.frame.height // 2
    if half == 0:
        raise BusError(f"{batch.source}: frame {batch.first} exceeds {MESSAGE_BYTES} octets")
    yield from messages(piece(batch, batch.frame.head(half)))
    yield from messages(piece(batch, batch.frame.tail(-half)))


def piece(batch: Batch, rows: pl.DataFrame) -> Batch:
    """Some rows of `batch`, in their order, with the range of frames that they cover."""
    frames = rows["frame"]
    return Batch(rows, batch.source, batch.epoch, int(frames[0]), int(frames[-1]))


async def drained(consumer: Any, places: list[TopicPartition]) -> bool:
    """Whether `consumer` has read each partition up to its end."""
    ends = await consumer.end_offsets(places)
    return all([await consumer.position(place) >= ends[place] for place in places])
