"""The bus hands over what was published, in order within a conversation, and stays bounded."""

import asyncio
import io
import itertools
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from aiokafka import AIOKafkaProducer
from broker import CLUSTER
from confluent_kafka import Consumer, Producer, TopicPartition
from unpacking import swelling

from collector.bus import BEGINS_NS, FEW_ROWS, Batch, Bus, BusError, BusRefused, MemoryBus
from collector.bus_address import open_bus
from collector.kafka import KafkaBus
from collector.kafka_message import (
    BEAT_NS,
    MESSAGE_BYTES,
    Placement,
    UnreadableError,
    headers,
    messages,
    read,
)
from collector.observation import SCHEMA
from collector.repeats import Repeats
from collector.settings.bus import BusSettings
from tests.collector import whole_rows

Url = Callable[..., str]
SOON_S = 20


def batch(first: int, rows: int, conversations: int = 7, columns: int = 0) -> Batch:
    """Rows like those of the collector, with `columns` more that do not compress."""
    noise = np.random.default_rng(first)
    frame = pl.DataFrame(
        {
            "frame": np.arange(first, first + rows, dtype=np.uint64),
            "conversation": noise.integers(0, 2**64, conversations, np.uint64)[
                noise.integers(0, conversations, rows)
            ],
            "time_ns": np.arange(first, first + rows, dtype=np.int64),
            "flow": noise.integers(0, 9, rows, np.uint64),
            "source": ["demo.pcapng"] * rows,
            "point": ["leaf1:Ethernet4"] * rows,
            **{f"h{i}_ts_ns": noise.integers(0, 2**64, rows, np.uint64) for i in range(columns)},
        }
    )
    return Batch(whole_rows.whole(frame), "demo.pcapng", 0, first, first + rows - 1)


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


def test_live_batches_that_wait_are_joined_and_those_of_files_are_not() -> None:
    live = [replace(batch(1 + 10 * i, 10), reached_ns=i) for i in range(7)]
    other = replace(batch(1, 10), source="other", reached_ns=1)
    again = replace(batch(1, 10), epoch=live[0].epoch + 1, reached_ns=1)
    beat = replace(batch(71, 0), reached_ns=9)
    ended = replace(batch(71, 0), ended=True)

    async def test() -> None:
        bus = MemoryBus(capacity=9, joined_rows=40)
        for each in (*live, other, beat, again, ended):
            await bus.publish(each)
        assert bus.fill == pytest.approx(5 / 9)
        await bus.close()
        read = [each async for each in bus]
        assert [(each.source, each.first, each.last, each.reached_ns) for each in read] == [
            ("demo.pcapng", 1, 40, 3), ("demo.pcapng", 41, 70, 9), ("other", 1, 10, 1),
            ("demo.pcapng", 1, 10, 1), ("demo.pcapng", 71, 70, None),
        ]  # fmt: skip
        assert read[0].frame.equals(pl.concat([each.frame for each in live[:4]]))
        files = MemoryBus(capacity=9, joined_rows=40)
        for each in (batch(1, 10), batch(11, 10)):
            await files.publish(each)
        assert files.fill == pytest.approx(2 / 9)

    run(test())


def test_live_batches_of_several_sources_are_read_at_once() -> None:
    """However they take turns, and none of what stands behind a file."""
    taps = [
        replace(batch(1 + 10 * i, 10), source=tap, reached_ns=i) for i in range(3) for tap in "ab"
    ]
    late = replace(batch(1, 10), source="c", reached_ns=1)

    async def read(*batches: Batch, joined_rows: int) -> list[list[tuple[str, int]]]:
        bus = MemoryBus(capacity=9, joined_rows=joined_rows)
        for each in batches:
            await bus.publish(each)
        await bus.close()
        made = [[each, *await bus.more(each)] async for each in bus]
        return [[(each.source, each.last) for each in together] for together in made]

    async def test() -> None:
        file = batch(1, 10)
        assert await read(*taps, joined_rows=60) == [[("a", 30), ("b", 30)]]
        assert await read(*taps, late, joined_rows=60) == [[("a", 30), ("b", 30)], [("c", 10)]]
        assert await read(*taps, joined_rows=50) == [[("a", 30)], [("b", 30)]]
        assert await read(file, *taps, file, late, joined_rows=99) == [
            [("demo.pcapng", 10)], [("a", 30), ("b", 30)], [("demo.pcapng", 10)], [("c", 10)],
        ]  # fmt: skip
        assert await read(*taps[:2], file, *taps[2:4], joined_rows=99) == [
            [("a", 10), ("b", 10)], [("demo.pcapng", 10)], [("a", 20), ("b", 20)],
        ]  # fmt: skip

    run(test())


def test_a_full_bus_takes_what_goes_on_where_the_last_batch_ends() -> None:
    live = [replace(batch(1 + 10 * i, 10), reached_ns=i) for i in range(5)]

    async def test() -> None:
        bus = MemoryBus(capacity=1, joined_rows=40)
        for each in live[:4]:
            await asyncio.wait_for(bus.publish(each), 1)
        fifth = asyncio.create_task(bus.publish(live[4]))
        await asyncio.sleep(0.01)
        assert not fifth.done()
        reader = aiter(bus)
        assert (await anext(reader)).last == 40
        await fifth
        await bus.close()
        assert [each.first async for each in reader] == [41]

    run(test())


async def filled(rows: int) -> tuple[list[float], Batch]:
    """How full a bus is as batches come, two of which are of so many frames; and all of them."""
    second, fills = 10**9, []
    bus = MemoryBus(capacity=100, joined_rows=10**6, behind_ns=4 * second)
    for number, each in enumerate((rows, rows, 0, 0, 0, 5)):
        made = batch(1 + rows * number, each)
        times = made.frame.with_columns(pl.lit(number * second).alias("time_ns"))
        await bus.publish(replace(made, frame=times, reached_ns=number * second))
        fills.append(bus.fill)
    await bus.close()
    (whole,) = [each async for each in bus]
    return fills, whole


def test_frames_that_wait_behind_a_silent_source_wait_too_long_as_well() -> None:
    """What came last need not stand last: it is joined to what came before of its source."""
    second = 10**9

    async def test() -> None:
        bus = MemoryBus(capacity=100, joined_rows=10**6, behind_ns=4 * second)
        for number, tap in enumerate(("a", "b", "a", "a", "a")):
            made = batch(1 + FEW_ROWS * number, FEW_ROWS)
            times = made.frame.with_columns(pl.lit(number * second).alias("time_ns"))
            reached = number * second
            await bus.publish(replace(made, frame=times, source=tap, reached_ns=reached))
        assert bus.fill == 0.99

    run(test())


def test_a_bus_whose_frames_wait_too_long_has_next_to_no_room() -> None:
    """That a source brought nothing takes no room of its own."""
    fills, whole = asyncio.run(filled(FEW_ROWS))
    assert fills == [0.01, 0.25, 0.5, 0.75, 0.99, 0.99]
    assert (whole.frame.height, whole.reached_ns) == (2 * FEW_ROWS + 5, 5 * 10**9)


def test_few_frames_that_wait_take_no_room_however_long_they_do() -> None:
    """Fewer would not be judged sooner, so that to pass less on would lose them for nothing."""
    fills, whole = asyncio.run(filled(FEW_ROWS // 2 - 5))
    assert fills == [0.01] * 6
    assert whole.frame.height == FEW_ROWS - 5


def test_how_full_a_bus_is_can_be_read_by_other_threads_while_it_changes() -> None:
    """Whoever tells metrics does."""
    bus, over = MemoryBus(capacity=100, behind_ns=10**9), threading.Event()
    before = sys.getswitchinterval()

    def look() -> None:
        while not over.is_set():
            assert 0 <= bus.fill <= 1

    async def test() -> None:
        made = replace(batch(1, 1), reached_ns=1)
        for _ in range(300):
            for _ in range(9):
                await bus.publish(made)
            reader = aiter(bus)
            for _ in range(9):
                await anext(reader)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as other:
            looking = other.submit(look)
            try:
                run(test())
            finally:
                over.set()
            looking.result()
    finally:
        sys.setswitchinterval(before)


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
        (
            "kafka://[::1",
            "a bus address cannot be read; a bus is memory:// or kafka://host:port/topic",
        ),
        (
            "kafka://one:9092,here:99999/x",
            "kafka://one:9092,here:99999/x: the port of here:99999 is none from 0 to 65535",
        ),
        (
            "kafka://user:secret@here:99999",
            "a bus address holds no password; see the settings bus.sasl…",
        ),
        ("kafka://h/t?idempotence=2", "kafka://h/t?idempotence=2: idempotence must be on or off"),
        (
            "kafka://h/t?compression=gz",
            "kafka://h/t?compression=gz: compression must be lz4 or zstd, not 'gz'",
        ),
        (
            "kafka://h/t?partitions=0",
            "kafka://h/t?partitions=0: partitions must be from 1 to 10,000, not 0",
        ),
        (
            "kafka://h/t?replication=-1",
            "kafka://h/t?replication=-1: replication must be from 1 to 100, not -1",
        ),
        (
            "kafka://h/a/b",
            "kafka://h/a/b: a topic has letters, digits and ._- in its name, 200 at most",
        ),
        ("kafka://me:secret@h/t", "a bus address holds no password; see the settings bus.sasl…"),
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

    def placed(whole: Batch) -> dict[int, Batch]:
        told = Placement().placed(whole, 8)
        return {partition: piece for partition, piece in told if not piece.quiet}

    for partition, piece in placed(one).items():
        assert (piece.frame["conversation"] % 8).unique().to_list() == [partition]
        assert piece.frame["frame"].is_sorted()
    assert {part: set(rows.frame["conversation"]) for part, rows in placed(one).items()} == {
        part: set(rows.frame["conversation"]) for part, rows in placed(backwards).items()
    }


def test_of_a_file_too_every_partition_hears_how_far_it_is() -> None:
    whole = batch(1, 500)
    place = int(whole.frame["conversation"][0]) % 8
    own = replace(whole, frame=whole.frame.filter(pl.col("conversation") % 8 == place))
    placement = Placement()
    newest = int(own.frame["time_ns"].to_numpy().max())
    first = dict(placement.placed(own, 8))
    assert first.keys() == set(range(8))
    for partition, piece in first.items():
        assert piece.quiet == (partition != place)
        assert piece.far_ns == (None if partition == place else newest)
        assert (piece.live, piece.ended, piece.reached_ns) == (False, False, None)
        [(part, value)] = messages(piece)
        back = read(value, headers(part, value))
        assert (back.quiet, back.passed_ns) == (piece.quiet, piece.passed_ns)
    later = own.frame.with_columns(pl.col("time_ns") + BEAT_NS - 1)
    soon = replace(own, frame=later, first=501, last=501)
    assert set(dict(placement.placed(soon, 8))) == {place}, "not again before half a second"
    beyond = replace(own, frame=later.with_columns(pl.col("time_ns") + 1), first=502, last=502)
    assert set(dict(placement.placed(beyond, 8))) == set(range(8))


def test_every_partition_hears_that_a_file_begins() -> None:
    said, own = replace(batch(1, 1), first=0, last=0, passed_ns=BEGINS_NS), batch(1, 500)
    said = replace(said, frame=said.frame.clear())
    placed = list(Placement().placed(said, 3))
    assert [partition for partition, _ in placed] == [0, 1, 2]
    [(part, value)] = messages(placed[0][1])
    back, repeats = read(value, headers(part, value)), Repeats()
    assert back.begins
    assert repeats.fresh(back) is back
    assert repeats.fresh(own) is own
    assert repeats.fresh(back) is None, "a collector that begins anew brings nothing new of it"
    assert repeats.fresh(replace(back, epoch=7)) is None, "it knows no epoch before the first frame"
    beat, end = replace(back, passed_ns=9), replace(own, frame=own.frame.clear(), ended=True)
    assert repeats.fresh(beat) is beat
    assert repeats.fresh(end) is end
    assert repeats.fresh(beat) is None, "nobody waits again for what has ended"


def test_messages_of_a_partition_cover_its_frames_without_a_hole() -> None:
    placement, reached = Placement(), dict.fromkeys(range(4), 0)
    for whole in (batch(1, 20_000, columns=20), batch(20_001, 3), batch(20_004, 5000)):
        for partition, piece in placement.placed(whole, 4):
            for part, _ in messages(piece):
                assert part.first == reached[partition] + 1
                assert part.last == part.frame["frame"][-1]
                reached[partition] = part.last


def test_messages_with_rows_say_how_far_a_live_source_has_come() -> None:
    whole = replace(batch(1, 20_000, columns=20), reached_ns=7)
    told: dict[int, list[int | None]] = {}
    for partition, piece in Placement().placed(whole, 4):
        assert not piece.quiet, "every partition has rows"
        for part, value in messages(piece):
            back = read(value, headers(part, value))
            told.setdefault(partition, []).append(back.reached_ns)
    assert len(told) == 4
    for each in told.values():
        assert each == [None] * (len(each) - 1) + [7], "it has come with the last of them"


def test_the_rows_of_a_frame_stay_in_one_message() -> None:
    whole = batch(1, 20_000, columns=20)
    doubled = pl.concat([whole.frame, whole.frame]).sort("frame", maintain_order=True)
    parts = [part for part, _ in messages(Batch(doubled, whole.source, 0, 1, 20_000))]
    assert len(parts) > 5
    assert pl.concat([part.frame for part in parts]).equals(doubled)
    for before, after in itertools.pairwise(parts):
        assert before.frame["frame"][-1] < after.frame["frame"][0]


def kafka(url: str) -> KafkaBus:
    bus = open_bus(url)
    assert isinstance(bus, KafkaBus)
    return bus


def test_kafka_bus_delivers_every_row_once_in_the_order_of_its_conversation(bus_url: Url) -> None:
    sent = [batch(1, 50_000, columns=12), batch(50_001, 10), batch(50_011, 1)]

    async def test() -> None:
        bus = kafka(bus_url("delivery"))
        assert re.fullmatch(r"delivery-\w+\.v1\.p2", bus.topic.name)
        received = await through(bus, sent)
        assert joined(received).equals(joined(sent))
        assert not bus.skipped
        last: dict[int, int] = {}
        for each in received:
            assert (each.source, each.epoch) == ("demo.pcapng", 0)
            assert (each.first <= each.frame["frame"][0], each.last) == (
                True,
                each.frame["frame"][-1],
            )
            for conversation, frame in each.frame.select("conversation", "frame").rows():
                assert last.get(conversation, 0) < frame
                last[conversation] = frame

    run(test())


def test_kafka_bus_drops_repeats_wherever_another_writer_cut_them(bus_url: Url) -> None:
    whole, url = batch(1, 24).frame, bus_url("repeats")

    def part(first: int, last: int) -> Batch:
        return Batch(whole.slice(first - 1, last - first + 1), "demo.pcapng", 0, first, last)

    async def test() -> None:
        for writer in ([part(1, 10)], [part(1, 10), part(11, 20)], [part(1, 15), part(16, 24)]):
            bus = kafka(url)
            for each in writer:
                await bus.publish(each)
            await bus.close()
        received = [each async for each in bus]
        assert joined(received).equals(whole)
        assert bus.skipped["repeated"] > 0
        assert not bus.dead_letters.counts

    run(test())


def test_what_cannot_be_read_becomes_a_dead_letter_with_its_reason(
    bus_url: Url, broker: str
) -> None:
    async def test() -> None:
        bus = kafka(bus_url("letters"))
        await bus.publish(batch(1, 10))
        producer = AIOKafkaProducer(bootstrap_servers=broker)
        await producer.start()
        one = batch(11, 1)
        [(part, value)] = messages(one)
        whole = headers(part, value)
        foreign = [("schema", b"999"), *whole[1:]]
        text = headers(part, b"no arrow")
        other = headers(Batch(part.frame, part.source, 0, 900, 901), value)
        short = io.BytesIO()
        part.frame.drop("flow").write_ipc_stream(short)
        lacking = headers(part, short.getvalue())
        cut = [each for each in whole if each[0] != "epoch"]
        swollen = swelling(20_000_000, columns=11)
        large = headers(part, swollen)
        sent = [
            ("unknown_schema", b"", []), ("unknown_schema", value, foreign),
            ("damaged", value[:-9], whole), ("damaged", None, whole), ("bad_header", value, cut),
            ("not_arrow", b"no arrow", text), ("bad_range", value, other),
            ("bad_columns", short.getvalue(), lacking), ("too_large", swollen, large),
        ]  # fmt: skip
        for _, octets, given in sent:
            await producer.send_and_wait(bus.topic.name, octets, key=b"k", headers=given)
        await producer.stop()
        await bus.close()
        received = [each async for each in bus]
        assert joined(received)["frame"].to_list() == list(range(1, 11))
        reasons = Counter(reason for reason, _, _ in sent)
        assert bus.skipped == bus.dead_letters.counts == reasons
        dead = await bus.topic.consumer(bus.topic.dead_letters)
        found = await dead.getmany(timeout_ms=5000, max_records=99)
        await dead.stop()
        letters = [(record.value, dict(record.headers)) for run in found.values() for record in run]
        assert Counter(told["dead_reason"].decode() for _, told in letters) == reasons
        for _, told in letters:
            assert told["dead_topic"] == bus.topic.name.encode()
            assert told["dead_sentence"]
        kept = {(told["dead_reason"], octets) for octets, told in letters}
        assert (b"damaged", value[:-9]) in kept

    run(test())


@pytest.mark.parametrize(
    ("changes", "columns", "reason"),
    [
        ({"epoch": "9" * 30}, {}, "bad_header"),
        ({"last": str(1 << 63)}, {}, "bad_header"),
        ({"reached": str(1 << 63)}, {}, "bad_header"),
        ({"source": ""}, {}, "bad_header"),
        ({"first": "-5"}, {}, "bad_range"),
        ({}, {"time_ns": None}, "bad_columns"),
        ({}, {"direction": 2}, "bad_columns"),
        ({}, {"hop_count": 13}, "bad_columns"),
        ({}, {"csig_variant": 255}, "bad_columns"),
        ({}, {"conversation": None}, "bad_columns"),
        ({}, {"point": None}, "bad_columns"),
        ({}, {"time_ns": (1 << 63) - 1}, "bad_range"),
        ({}, {"time_ns": -(1 << 63)}, "bad_range"),
    ],
)
def test_a_message_that_nobody_could_work_on_is_refused(
    changes: dict[str, str], columns: dict[str, int | None], reason: str
) -> None:
    [(part, _)] = messages(batch(1, 10, columns=12))
    told = [pl.lit(value, SCHEMA[name]).alias(name) for name, value in columns.items()]
    frame = part.frame.with_columns(told)
    octets = io.BytesIO()
    frame.write_ipc_stream(octets)
    given = dict(headers(part, octets.getvalue()))
    given |= {name: text.encode() for name, text in changes.items()}
    with pytest.raises(UnreadableError) as refused:
        read(octets.getvalue(), list(given.items()))
    assert refused.value.reason == reason


def test_a_column_of_nulls_alone_needs_no_type() -> None:
    [(part, _)] = messages(batch(1, 10, columns=12))
    octets = io.BytesIO()
    part.frame.with_columns(csig_variant=None).write_ipc_stream(octets)
    told = read(octets.getvalue(), headers(part, octets.getvalue()))
    assert told.frame["csig_variant"].null_count() == told.frame.height > 0


def test_a_writer_with_idempotence_on_is_taken_by_a_broker_that_has_it() -> None:
    cluster = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    [server] = cluster.list_topics(timeout=20).brokers.values()
    cluster.list_topics("idempotent.v1.p2", timeout=20)  # makes it

    async def test() -> None:
        bus = open_bus(f"kafka://{server.host}:{server.port}/idempotent")
        assert isinstance(bus, KafkaBus)
        cluster.list_topics(bus.topic.dead_letters, timeout=20)
        for each in (batch(1, 5000, columns=12), batch(5001, 10)):
            await bus.publish(each)
        assert bus._writer._producer._txn_manager.producer_id >= 0
        await bus.close()
        reader = Consumer({"bootstrap.servers": bus.topic.broker, "group.id": "any"})
        ends = [
            reader.get_watermark_offsets(TopicPartition(bus.topic.name, number), timeout=20)[1]
            for number in range(bus._writer._partitions)
        ]
        reader.close()
        assert sum(ends) == bus.sent["messages"] > 0

    run(test())


def test_kafka_bus_says_in_one_sentence_that_no_broker_answers() -> None:
    async def test() -> None:
        bus = open_bus("kafka://127.0.0.1:1/topic", BusSettings(retry_s=0))
        with pytest.raises(BusError, match=r"^127\.0\.0\.1:1: [^\n]*$"):
            await bus.publish(batch(1, 1))
        with pytest.raises(BusError, match=r"^127\.0\.0\.1:1: [^\n]*$"):
            await anext(aiter(bus))
        await bus.close()

    run(test())


def test_a_broker_without_idempotent_writers_is_told_of_at_once(broker: str) -> None:
    if os.environ.get(CLUSTER):
        pytest.skip("any cluster has them")

    async def test() -> None:
        bus = open_bus(f"kafka://{broker}/numbered?partitions=1&idempotence=on")
        async with asyncio.timeout(SOON_S):  # and not the two minutes that a broker is waited for
            with pytest.raises(BusRefused, match=r"^[^\n]*gives writers no numbers[^\n]*=off"):
                await bus.publish(batch(1, 1))
        await bus.close()

    run(test())
