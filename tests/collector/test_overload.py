"""Overload: what waits is bounded, whole flows are shed, and every frame is accounted for."""

import asyncio
import contextlib
import resource
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from errno import ENOSPC
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import Batch, BusError, BusSettings, CollectorSettings, Decoder, MemoryBus
from collector.bus import JOINED_ROWS, NEXT_TO_NONE
from collector.bus_address import spooled
from collector.decoder import Accounting
from collector.feed import NO_ROWS, feed
from collector.frame import Frames
from collector.loss import Loss
from collector.shed import OF, Shed
from collector.spill import Spill
from collector.spool import Spool

MIB = 1 << 20


def batch(first: int, rows: int = 100, source: str = "tap") -> Batch:
    noise = np.random.default_rng(first)
    frame = pl.DataFrame(
        {
            "frame": np.arange(first, first + rows, dtype=np.uint64),
            "conversation": noise.integers(0, 1 << 64, rows, np.uint64),
            "status": np.zeros(rows, np.uint8),
            "time_ns": np.arange(first, first + rows),
        }
    )
    return Batch(frame, source, 1, first, first + rows - 1, reached_ns=first)


def files(directory: Path, suffix: str = "batch") -> int:
    return len(list(directory.glob(f"*.{suffix}")))


def counted(rows: int) -> Accounting:
    accounting = Accounting()
    accounting.add({"decoded": rows})
    return accounting


def test_whole_flows_are_kept_and_those_of_a_higher_rate_at_every_lower_one() -> None:
    told, shed = batch(1, 4096), Shed()
    kept = [set(told.frame["conversation"])]
    for step in range(1, 9):
        shed.step = step
        accounting = counted(4096)
        made = shed.kept(told, 0.5, accounting)
        assert made is not None
        kept.append(set(made.frame["conversation"]))
        assert kept[-1] < kept[-2]
        assert len(kept[-1]) == pytest.approx(4096 / shed.of, rel=0.3)
        assert made.frame["shed_from"].unique().to_list() == [shed.of]
        assert accounting.seen == 4096
        assert accounting.reasons == {"shed": 4096 - made.frame.height}
        assert (made.first, made.last) == (told.first, told.last), "what was shed is no hole"
    assert OF[:9] == (1, 2, 3, 4, 6, 8, 12, 16, 24)


def test_the_rate_follows_the_queue_and_comes_back() -> None:
    shed = Shed()
    for at in range(15):
        shed.follow(1.0, at * 0.1)
    assert shed.of == 3, "where nothing has room the next rate has not shown what it does"
    for at in range(15):
        shed._passed = True
        shed.follow(1.0, at * 0.1)
    assert shed.of == 6, "half as much needs time to show, of a full queue a second"
    for at in range(200):
        shed.follow(0.0, 2.0 + at * 0.1)
    assert shed.of == 1
    for at in range(1000):
        shed._passed = True
        shed.follow(1.0, 100.0 + at)
    assert shed.of == 1 << 17


def test_a_reader_that_is_away_has_nothing_shed_when_it_is_back() -> None:
    """Of what has no room at all nothing more is to be shed; time alone takes no room."""
    shed, accounting = Shed(), counted(100 * 600)
    for at in range(600):
        shed.follow(1.0, at * 0.1)
        assert shed.kept(batch(1), 1.0, accounting) is None
    assert shed.of == 3
    for at in range(50):
        shed.follow(0.0, 60.0 + at * 0.1)
    assert shed.of == 1


def test_what_waits_goes_first_at_its_own_rate() -> None:
    """It was let in before: that it still waits is no news of the rate that is in force now."""
    shed = Shed()
    for at in range(25):
        shed.follow(0.9, at * 0.1)
    assert shed.of == 3
    shed.follow(0.0, 2.5)
    for at in range(10):
        shed.follow(0.9, 2.6 + at * 0.1)
    assert shed.of == 6


def test_a_rate_that_was_too_much_is_tried_again_later_each_time() -> None:
    """Whoever takes half of what comes would else fall behind every other second."""
    shed, tried = Shed(), []
    for at in range(6000):
        before, now_s = shed.step, at * 0.1
        shed.follow(0.9 if shed.step == 0 else 0.0, now_s)
        if shed.step < before and not shed.step:
            tried.append(now_s)
    pauses = [round(later - sooner) for sooner, later in pairwise(tried)]
    assert pauses[:5] == [8, 12, 20, 36, 68]
    assert set(pauses[5:]) == {68}


@pytest.mark.parametrize("offered", [130e3, 300e3, 1.2e6])
@pytest.mark.parametrize(("fixed_s", "row_s"), [(0.12, 8e-6), (0.2, 10e-6), (0.3, 20e-6)])
def test_who_is_behind_still_takes_half_of_what_it_can(
    offered: float, fixed_s: float, row_s: float
) -> None:
    """A worker whose every pass takes a while, and a while for each row, as a queue shows it."""
    look_s, most_s, capacity, behind_s = 0.117, 300.0, 4, 2.0
    shed, waiting, busy_s, taken, now_s = Shed(), deque[tuple[float, float, float]](), 0.0, 0.0, 0.0
    while now_s < most_s:
        now_s += look_s
        while waiting and busy_s <= now_s:
            _, behind, rows = waiting.popleft()
            busy_s = max(busy_s, behind) + fixed_s + row_s * rows
            taken += rows
        oldest_s = now_s - waiting[0][0] if waiting else 0.0
        fill = max(len(waiting) / capacity, min(oldest_s / behind_s, NEXT_TO_NONE))
        shed.follow(fill, now_s)
        rows = offered * look_s / shed.of
        shed._passed |= len(waiting) < capacity
        if waiting and waiting[-1][2] + rows <= JOINED_ROWS:
            begun, _, before = waiting.pop()
            waiting.append((begun, now_s, before + rows))
        elif len(waiting) < capacity:
            waiting.append((now_s - look_s, now_s, rows))
    assert taken / most_s >= 0.5 * min(offered, 1 / row_s)


def test_what_is_told_of_frames_while_they_come_only_grows() -> None:
    """Until it is decided whether it is passed on a frame is told of in no way."""
    accounting = Accounting()
    rows = pl.DataFrame({"status": [0] * 6}, schema={"status": pl.UInt8})
    accounting.add({"decoded": 10})
    assert sum(accounting.settled.values()) == 0
    accounting.turn(rows, "shed")
    accounting.settle()
    assert accounting.settled == accounting.by_status
    assert (accounting.settled["decoded"], accounting.settled["shed"]) == (4, 6)


def test_a_batch_that_only_says_how_far_time_is_takes_no_room_of_a_full_queue() -> None:
    shed, accounting = Shed(), Accounting()
    quiet = Batch(NO_ROWS.clear(), "tap", 1, 5, 5, reached_ns=9)
    bare = replace(quiet, frame=pl.DataFrame())
    for each in (quiet, bare):
        assert shed.kept(each, 1.0, accounting) is None
        assert shed.kept(each, 0.5, accounting) is each
    assert accounting.seen == 0


def test_what_a_full_queue_cannot_take_is_counted_by_itself() -> None:
    accounting, shed = counted(100), Shed()
    assert shed.kept(batch(1), 1.0, accounting) is None
    assert (accounting.seen, accounting.decoded, accounting.reasons) == (100, 0, {"shed_full": 100})
    ended = Batch(pl.DataFrame(), "tap", 1, 9, 9, ended=True)
    assert shed.kept(ended, 1.0, accounting) is ended


class Burst:
    """A live source that brings more than anybody takes."""

    source, epoch, points, poll_s, live = "burst", 1, ("tap",), 0.0, True
    backlog = 1.0
    reached_ns: int | None = None

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.reasons: dict[str, int] = {}
        self.failed = ""
        self.losses: list[Loss] = []
        packets = [ethernet(ipv4(tcp(payload=b"data"), source=host)) for host in range(3, 67)]
        self.frames = frames_of(packets)

    def chunks(self, frames_per_chunk: int, *, wait: bool) -> Iterator[Frames]:
        del frames_per_chunk, wait
        for at in range(self.runs):
            self.losses.append(Loss(at, at + 1, 1, 2))
            yield replace(self.frames, first=1 + at * len(self.frames))

    def stop(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def shed_of(source: Burst, each_s: float = 0.1) -> tuple[list[Batch], Accounting]:
    """What comes of a live source whose rows are taken slowly, and how its frames ended."""
    decoder = Decoder(CollectorSettings())
    taken: list[Batch] = []

    async def slow(bus: MemoryBus) -> None:
        async for each in bus:
            await asyncio.sleep(each_s)
            taken.append(each)

    async def run() -> None:
        bus = MemoryBus(2)
        reading = asyncio.create_task(slow(bus))
        await feed([source], decoder, bus, shed=Shed())  # type: ignore[list-item] # points are a tuple
        await reading

    asyncio.run(run())
    return taken, decoder.accounting


def test_a_source_with_room_of_its_own_waits_while_it_has_some() -> None:
    source = Burst(20)
    source.backlog = 0.5
    taken, accounting = shed_of(source, 0.02)
    assert (accounting.decoded, accounting.reasons) == (20 * len(source.frames), {})
    assert sum(each.frame.height for each in taken) == accounting.seen
    source = Burst(60)
    source.backlog = 0.6
    assert shed_of(source)[1].reasons["shed_full"] > 0


def test_a_live_source_never_waits_and_every_frame_is_delivered_or_counted() -> None:
    source, runs = Burst(60), 60
    taken, accounting = shed_of(source)
    rows = sum(each.frame.height for each in taken)
    assert accounting.seen == runs * len(source.frames)
    assert accounting.decoded == rows
    assert sum(accounting.reasons.values()) + rows == accounting.seen
    assert set(accounting.reasons) <= {"shed", "shed_full"}
    assert accounting.reasons["shed_full"] > 0
    # What was lost before a batch that is shed is told with the next.
    losses = [loss for each in taken for loss in each.losses]
    assert losses == [Loss(at, at + 1, 1, 2) for at in range(runs)]


class Stuck(MemoryBus):
    """A bus that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.free = asyncio.Event()

    async def publish(self, batch: Batch) -> None:
        await self.free.wait()
        await super().publish(batch)


class Reached(MemoryBus):
    """A bus whose readers are elsewhere: what it has taken outlives this process."""

    reached = True


def test_what_has_no_room_goes_to_disk_and_leaves_in_order(tmp_path: Path) -> None:
    sent = [batch(1 + 100 * at) for at in range(12)]

    async def run() -> list[Batch]:
        bus = Stuck()
        spool = Spool(bus, 2, Spill(tmp_path, MIB))
        for each in sent[:10]:
            await spool.publish(each)
        assert spool.counts["spilled_batches"] == 10, "those in memory, too, ahead of the others"
        assert 0 < spool.fill < 1
        assert files(tmp_path) == 10
        bus.free.set()
        for each in sent[10:]:
            await spool.publish(each)
        await spool.close()
        return [each async for each in spool]

    got = asyncio.run(run())
    assert [each.first for each in got] == [each.first for each in sent]
    assert all(one.frame.equals(two.frame) for one, two in zip(got, sent, strict=True))
    assert not files(tmp_path)


def test_a_full_spill_makes_its_writer_wait_and_says_that_it_is_full(tmp_path: Path) -> None:
    async def run() -> None:
        bus = Stuck()
        spill = Spill(tmp_path, MIB)
        measured = spill.put(batch(1))
        spill.most_octets = round(2.5 * spill.octets)
        spill.drop(measured)
        spool = Spool(bus, 1, spill)
        for at in range(3):
            await spool.publish(batch(1 + 100 * at))
        assert spool.fill == 1.0
        waiting = asyncio.create_task(spool.publish(batch(301)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        bus.free.set()
        await waiting
        await spool.close()
        assert [each.first async for each in spool] == [1, 101, 201, 301]

    asyncio.run(run())


def test_what_could_not_be_sent_is_put_before_what_is_on_disk(tmp_path: Path) -> None:
    """A broker acknowledges a batch when the next one is published, or does not."""
    sent = [batch(1 + 100 * at) for at in range(9)]

    class Lost(Stuck):
        reached = True
        taken = 0

        async def publish(self, batch: Batch) -> None:
            del batch
            await self.free.wait()
            self.taken += 1
            if self.taken > 2:
                raise BusError("no broker answers there")

    async def run() -> list[int]:
        bus = Lost()
        spool = Spool(bus, 3, Spill(tmp_path, MIB))
        for each in sent:
            await spool.publish(each)
        bus.free.set()
        with pytest.raises(BusError, match="no broker"):
            await spool.close()
        again = Spool(MemoryBus(1 << 20), 3, Spill(tmp_path, MIB))
        await again.publish(batch(901))
        await again.close()
        return [each.first async for each in again]

    # The first one was acknowledged with the second; whether that arrived nobody knows.
    assert asyncio.run(run()) == [each.first for each in sent[1:]] + [901]


@pytest.mark.parametrize(("sent", "told"), [(9, False), (3, True)])
def test_what_a_killed_process_left_begins_with_what_had_not_arrived(
    tmp_path: Path, sent: int, *, told: bool
) -> None:
    """Also the loss before its first batch; what was in memory alone is kept where it is told."""
    begun = Loss(None, 1)

    async def run() -> list[Batch]:
        killed = Spool(Stuck(), 3, Spill(tmp_path, MIB))
        await killed.publish(replace(batch(1), losses=(begun,)))
        for at in range(1, sent):
            await killed.publish(batch(1 + 100 * at))
        if told:
            killed.keep()
        assert killed._sending is not None
        assert killed.spill is not None
        killed._sending.cancel()
        killed.spill.close()  # as the system does of a process that is gone
        again = Spool(Reached(1 << 20), 3, Spill(tmp_path, MIB))
        await again.publish(batch(901, source="next"))
        await again.close()
        return [each async for each in again]

    got = asyncio.run(run())
    assert [each.first for each in got] == [*range(1, 100 * sent, 100), 901]
    assert [loss for each in got for loss in each.losses] == [begun]
    assert not files(tmp_path)


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_file_goes_once_its_batch_has_arrived(tmp_path: Path, *, elsewhere: bool) -> None:
    """A broker acknowledges it when the next one is taken; who is killed before sends it again.

    A reader in the same process does not know in its next life what it has stored.
    """
    free = asyncio.Event()

    class Here(MemoryBus):
        async def publish(self, batch: Batch) -> None:
            if batch.first == 201:
                await free.wait()
            await super().publish(batch)

    class There(Here):
        reached = True

    async def run() -> None:
        before = Spill(tmp_path, MIB)
        for at in range(3):
            before.put(batch(1 + 100 * at))
        before.close()
        spool = Spool(There() if elsewhere else Here(), 3, Spill(tmp_path, MIB))
        await spool.publish(batch(301))
        for _ in range(50):
            await asyncio.sleep(0.01)
        assert files(tmp_path) == 2 + elsewhere, "201 and 301 wait, 101 may not have arrived"
        free.set()
        await spool.close()
        assert not files(tmp_path)

    asyncio.run(run())


def test_what_may_be_lost_before_what_is_on_disk_is_told_as_a_time(tmp_path: Path) -> None:
    """A damaged file; and of readers in one process, what these had taken and not stored."""

    def left() -> None:
        before = Spill(tmp_path, MIB)
        for at in range(4):
            before.put(batch(1 + 100 * at))
        before.close()
        second = sorted(tmp_path.glob("*.batch"))[1]
        second.write_bytes(second.read_bytes()[:-9])

    async def run(bus: MemoryBus) -> list[tuple[int, tuple[Loss, ...]]]:
        left()
        spool = Spool(bus, 3, Spill(tmp_path, MIB))
        await spool.publish(batch(901))
        await spool.close()
        return [(each.first, each.losses) async for each in spool]

    behind = [(201, (Loss(None, 201),)), (301, ()), (901, ())]
    assert asyncio.run(run(Reached(16))) == [(1, ()), *behind]
    assert asyncio.run(run(MemoryBus(16))) == [(1, (Loss(None, 1),)), *behind]


def test_a_file_is_not_copied_to_disk(tmp_path: Path) -> None:
    async def run() -> None:
        bus = Stuck()
        spool = Spool(bus, 1, Spill(tmp_path, MIB))
        of_file = Batch(batch(1).frame, "a.pcap", 0, 1, 100)
        await spool.publish(of_file)
        waiting = asyncio.create_task(spool.publish(of_file))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        bus.free.set()
        await waiting
        await spool.close()
        assert spool.counts["spilled_batches"] == 0

    asyncio.run(run())


def test_what_a_dead_process_left_is_sent_first_and_what_is_damaged_is_counted(
    tmp_path: Path,
) -> None:
    before = Spill(tmp_path, MIB)
    for at in range(3):
        before.put(batch(1 + 100 * at))
    before.close()
    second = sorted(tmp_path.glob("*.batch"))[1]
    second.write_bytes(second.read_bytes()[:-9])

    async def run() -> list[int]:
        settings = BusSettings(spill_directory=str(tmp_path))
        spool = spooled(MemoryBus(), settings)
        with pytest.raises(BusError, match="another process spills to"):
            Spill(tmp_path, MIB)
        await spool.publish(batch(901))
        await spool.close()
        assert spool.counts["spill_damaged"] == 1
        return [each.first async for each in spool]

    assert asyncio.run(run()) == [1, 201, 901]


def test_a_disk_that_takes_nothing_leaves_the_policy(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the system refuses the write."""
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def run() -> None:
        bus = Stuck()
        spool = Spool(bus, 1, Spill(tmp_path, MIB))
        await spool.publish(batch(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, kept[1]))
        waiting = asyncio.create_task(spool.publish(batch(101, 4000)))
        while not spool.counts["spill_failed"]:  # noqa: ASYNC110 - a counter wakes nobody
            await asyncio.sleep(0.01)
        assert spool.fill == 1.0, "the memory's, once the disk takes nothing"
        assert not files(tmp_path, "part")
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
        bus.free.set()
        await waiting
        await spool.close()
        assert [each.first async for each in spool] == [1, 101]

    try:
        asyncio.run(run())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)


def test_what_cannot_be_sent_is_told_to_whoever_publishes_next(tmp_path: Path) -> None:
    class Away(MemoryBus):
        async def publish(self, batch: Batch) -> None:
            raise BusError(f"nobody takes {batch.first}")

    async def run() -> None:
        spool = Spool(Away(), 1, Spill(tmp_path, MIB))
        await spool.publish(batch(1))
        await asyncio.sleep(0.01)
        with pytest.raises(BusError, match="nobody takes 1"):
            await spool.publish(batch(101))
        with pytest.raises(BusError, match="nobody takes 1"):
            await spool.close()

    asyncio.run(run())


def test_a_bus_that_has_failed_is_heard_of_though_nothing_is_passed_on() -> None:
    class Away(MemoryBus):
        async def publish(self, batch: Batch) -> None:
            raise BusError(f"nobody takes {batch.first}")

    async def run() -> None:
        spool = Spool(Away(), 1)
        await spool.publish(batch(1))
        assert spool.fill == 1
        await asyncio.sleep(0.01)
        assert spool.fill == 0, "what is shed would never be published"
        with pytest.raises(BusError, match="nobody takes 1"):
            await spool.offer(batch(101))
        with pytest.raises(BusError, match="nobody takes 1"):
            await spool.close()

    asyncio.run(run())


def test_what_a_full_disk_has_no_room_for_is_offered_and_not_waited_with(tmp_path: Path) -> None:
    class Stuck(MemoryBus):
        async def publish(self, batch: Batch) -> None:
            await asyncio.sleep(60 * len(batch.source))

    class Full(Spill):
        def put(self, batch: Batch) -> Path:
            raise OSError(ENOSPC, "No space left on device", batch.source)

    async def run() -> None:
        spool = Spool(Stuck(1), 1, Full(tmp_path, MIB))
        assert await spool.offer(batch(1))
        assert spool.fill < 1, "that the disk is full shows when it is written to"
        assert not await asyncio.wait_for(spool.offer(batch(101)), 5)
        assert spool.fill == 1
        sending = spool._sending
        assert sending is not None
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, BusError):
            await spool.close()

    asyncio.run(run())
