"""The bus hands over what was published, in order within a conversation, and stays bounded."""

import asyncio
import itertools
import re
from collections.abc import Coroutine
from typing import Any

import numpy as np
import polars as pl
import pytest
from aiokafka import AIOKafkaProducer

from collector.bus import Batch, Bus, BusError, MemoryBus
from collector.bus_address import open_bus
from collector.kafka import MESSAGE_BYTES, KafkaBus, headers, messages, placed


def batch(first: int, rows: int, conversations: int = 7, columns: int = 0) -> Batch:
    """Rows like those of the collector, with `columns` more that do not compress."""
    noise = np.random.default_rng(first)
    frame = pl.DataFrame(
        {
            "frame": np.arange(first, first + rows, dtype=np.uint64),
            "conversation": noise.integers(0, 2**64, conversations, np.uint64)[
                noise.integers(0, conversations, rows)
            ],
            "point": ["leaf1:Ethernet4"] * rows,
            **{f"h{i}_ts_ns": noise.integers(0, 2**64, rows, np.uint64) for i in range(columns)},
        }
    )
    return Batch(frame, "demo.pcapng", 0, first, first + rows - 1)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


async def through(bus: Bus, batches: list[Batch]) -> list[Batch]:
    """What a reader gets while `batches` are published, until the bus is closed."""

    async def publish() -> None:
        for each in batches:
            await bus.publish(each)
        await bus.close()

    writer = asyncio.create_task(publish())
    received = [each async for each in bus]
    await writer
    return received


def joined(batches: list[Batch]) -> pl.DataFrame:
    return pl.concat([each.frame for each in batches], how="diagonal").sort("frame")


def test_memory_bus_delivers_in_order_and_ends() -> None:
    sent = [batch(1 + 10 * i, 10) for i in range(50)]

    async def test() -> None:
        assert await through(open_bus("memory://?capacity=3"), sent) == sent

    run(test())


def test_memory_bus_blocks_a_writer_that_is_ahead() -> None:
    async def test() -> None:
        bus = MemoryBus(capacity=2)
        await bus.publish(batch(1, 1))
        await bus.publish(batch(2, 1))
        third = asyncio.create_task(bus.publish(batch(3, 1)))
        await asyncio.sleep(0.01)
        assert not third.done()
        reader = aiter(bus)
        assert (await anext(reader)).first == 1
        await third
        await bus.close()
        assert [each.first async for each in reader] == [2, 3]

    run(test())


def test_memory_bus_wakes_a_blocked_writer_when_it_is_closed() -> None:
    async def test() -> None:
        bus = MemoryBus(capacity=1)
        await bus.publish(batch(1, 1))
        second = asyncio.create_task(bus.publish(batch(2, 1)))
        await asyncio.sleep(0.01)
        await bus.close()
        with pytest.raises(BusError, match="closed"):
            await second
        assert [each.first async for each in bus] == [1]

    run(test())


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nats://here/there", "nats://here/there: a bus is memory:// or kafka://host:port/topic"),
        ("memory://?capacity=0", "memory://?capacity=0: capacity must be at least 1"),
        ("memory://?capacity=x", "memory://?capacity=x: capacity must be a whole number"),
        ("memory://?policy=drop", "memory://?policy=drop: policy must be one of block, not 'drop'"),
        ("memory://?size=3", "memory://?size=3: no option 'size', there are capacity, policy"),
        ("kafka://here:9092", "kafka://here:9092: an address is kafka://host:port/topic"),
        ("kafka://h/t?idempotence=2", "kafka://h/t?idempotence=2: idempotence must be on or off"),
    ],
)
def test_an_address_that_is_not_understood_is_refused_in_one_sentence(
    url: str, sentence: str
) -> None:
    with pytest.raises(BusError, match=f"^{re.escape(sentence)}$"):
        open_bus(url)


def test_messages_stay_below_what_stock_brokers_take() -> None:
    whole = batch(1, 50_000, columns=20)
    parts = list(messages(whole))
    assert len(parts) > 5
    assert all(len(message) <= MESSAGE_BYTES for _, message in parts)
    assert joined([part for part, _ in parts]).equals(whole.frame)
    ranges = [(part.first, part.last) for part, _ in parts]
    assert ranges[0][0] == whole.first
    assert ranges[-1][1] == whole.last
    assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(ranges))


def test_a_row_that_fits_no_message_is_refused() -> None:
    noise = np.random.default_rng(1).integers(0x20, 0x7F, MESSAGE_BYTES * 2, np.uint8)
    frame = pl.DataFrame({"frame": [9], "point": [noise.tobytes().decode()]})
    with pytest.raises(BusError, match=r"demo.pcap: frame 9 exceeds 900000 octets"):
        list(messages(Batch(frame, "demo.pcap", 0, 9, 9)))


def test_placement_follows_the_conversation_alone() -> None:
    one, other = batch(1, 500), batch(1, 500)
    backwards = Batch(other.frame.reverse(), "other.pcap", 3, 1, 500)
    for partition, piece in placed(one, 8):
        assert (piece.frame["conversation"] % 8).unique().to_list() == [partition]
        assert piece.frame["frame"].is_sorted()
    assert {part: set(rows.frame["conversation"]) for part, rows in placed(one, 8)} == {
        part: set(rows.frame["conversation"]) for part, rows in placed(backwards, 8)
    }


def kafka(broker: str, topic: str) -> KafkaBus:
    """The broker of the tests refuses InitProducerId, which idempotence needs."""
    bus = open_bus(f"kafka://{broker}/{topic}?partitions=4&idempotence=off")
    assert isinstance(bus, KafkaBus)
    return bus


def test_kafka_bus_delivers_every_row_once_in_the_order_of_its_conversation(broker: str) -> None:
    sent = [batch(1, 50_000, columns=12), batch(50_001, 10), batch(50_011, 1)]

    async def test() -> None:
        bus = kafka(broker, "delivery")
        assert bus.topic == "delivery.v1.p2"
        received = await through(bus, sent)
        assert joined(received).equals(joined(sent))
        assert not bus.skipped
        last: dict[int, int] = {}
        for each in received:
            assert (each.source, each.epoch) == ("demo.pcapng", 0)
            assert (each.first, each.last) == (each.frame["frame"][0], each.frame["frame"][-1])
            for conversation, frame in each.frame.select("conversation", "frame").rows():
                assert last.get(conversation, 0) < frame
                last[conversation] = frame

    run(test())


def test_kafka_bus_drops_repeats_and_counts_what_it_cannot_read(broker: str) -> None:
    async def test() -> None:
        bus = kafka(broker, "repeats")
        for each in (batch(1, 10), batch(1, 10), batch(11, 10)):
            await bus.publish(each)
        producer = AIOKafkaProducer(bootstrap_servers=broker)
        await producer.start()
        known = headers(batch(21, 1))
        foreign = [("schema", b"999"), *known[1:]]
        for value, given in ((b"", []), (b"", foreign), (b"not arrow", known), (None, known)):
            await producer.send_and_wait(bus.topic, value, key=b"", headers=given)
        await producer.stop()
        await bus.close()
        received = [each async for each in bus]
        assert joined(received)["frame"].to_list() == list(range(1, 21))
        pieces = len(list(placed(batch(1, 10), 4)))
        assert bus.skipped == {"repeated": pieces, "unknown_schema": 2, "unreadable": 2}

    run(test())


def test_kafka_bus_says_in_one_sentence_that_no_broker_answers() -> None:
    async def test() -> None:
        bus = open_bus("kafka://127.0.0.1:1/topic")
        with pytest.raises(BusError, match=r"^127\.0\.0\.1:1: [^\n]*$"):
            await bus.publish(batch(1, 1))
        with pytest.raises(BusError, match=r"^127\.0\.0\.1:1: [^\n]*$"):
            await anext(aiter(bus))
        await bus.close()

    run(test())
