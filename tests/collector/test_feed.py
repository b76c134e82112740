"""Captures on the bus: their order, their ends, and frames that their files could not deliver."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import (
    Batch,
    BusError,
    Capture,
    CollectorSettings,
    Decoder,
    Frames,
    Kept,
    Known,
    MemoryBus,
    Repeats,
    feed,
    nothing_kept,
    open_capture,
    write_pcapng,
)

PACKET = ethernet(ipv4(tcp(payload=b"data")))
ARP = ethernet(bytes(28), 0x0806)
PER_BATCH = 2


def write(path: Path, packets: Sequence[bytes], times: Sequence[int]) -> Path:
    """A capture of these packets at these times in ns."""
    frames = replace(frames_of(packets), time_ns=np.array(times, np.int64))
    write_pcapng(path, ["tap"], [frames])
    return path


def fed(
    *paths: Path, known: Known = nothing_kept, announced: bool = False
) -> tuple[list[Batch], Decoder, int]:
    """Batches that these captures become, the decoder, and the progress that was told."""
    decoder = Decoder(CollectorSettings(frames_per_batch=PER_BATCH))
    told: list[int] = []

    async def run(captures: Sequence[Capture]) -> list[Batch]:
        bus = MemoryBus(capacity=1)
        feeding = feed(captures, decoder, bus, told.append, known=known, announced=announced)
        publishing = asyncio.create_task(feeding)
        batches = [batch async for batch in bus]
        await publishing
        return batches

    captures = [open_capture(path) for path in paths]
    try:
        return asyncio.run(run(captures)), decoder, sum(told)
    finally:
        for capture in captures:
            capture.close()


def test_interleaved_captures_are_published_in_the_order_of_their_times(tmp_path: Path) -> None:
    even = write(tmp_path / "even.pcapng", [PACKET] * 6, [0, 10, 40, 50, 80, 90])
    odd = write(tmp_path / "odd.pcapng", [PACKET] * 6, [20, 30, 60, 70, 100, 110])
    batches, decoder, told = fed(even, odd)
    rows = [batch for batch in batches if not batch.ended]
    assert {batch.source for batch in rows[:2]} == {"even.pcapng", "odd.pcapng"}
    reached: dict[str, int] = {}
    for batch in rows:
        if len(reached) == 2:
            assert reached[batch.source] == min(reached.values())
        times = batch.frame["time_ns"].to_list()
        assert times == sorted(times)
        reached[batch.source] = times[-1]
    starts = [batch.frame["time_ns"][0] for batch in rows]
    assert starts == sorted(starts)
    assert (decoder.accounting.seen, told) == (12, 12)


def test_a_capture_that_is_far_ahead_waits(tmp_path: Path) -> None:
    late = write(tmp_path / "late.pcapng", [PACKET] * 6, [1000 + at for at in range(6)])
    early = write(tmp_path / "early.pcapng", [PACKET] * 6, list(range(6)))
    batches, _, _ = fed(late, early)
    order = [batch.source for batch in batches]
    assert order.count("late.pcapng") == order.count("early.pcapng") == 4
    assert order[2:5] == ["early.pcapng"] * 3


def test_files_are_announced_before_the_first_row_of_any(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.pcapng", [PACKET], [5]) for name in "ab"]
    told, _, _ = fed(*paths, announced=True)
    assert [(each.source, each.begins, each.ended) for each in told] == [
        ("a.pcapng", True, False), ("b.pcapng", True, False),
        ("a.pcapng", False, False), ("b.pcapng", False, False),
        ("a.pcapng", False, True), ("b.pcapng", False, True),
    ]  # fmt: skip
    assert not any(each.begins for each in fed(paths[0], announced=True)[0]), "nobody waits"
    assert not any(each.begins for each in fed(*paths)[0])


def test_batches_cover_every_frame_once_and_then_the_source_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcapng", [PACKET, ARP, PACKET, PACKET, ARP], [1, 2, 3, 4, 5])
    batches, decoder, told = fed(path)
    covered = [(batch.first, batch.last, batch.frame.height, batch.ended) for batch in batches]
    assert covered == [(1, 2, 1, False), (3, 4, 2, False), (5, 5, 0, False), (5, 5, 0, True)]
    assert decoder.accounting.reasons == {"unknown_ethertype": 2}
    assert (decoder.accounting.decoded, decoder.accounting.seen, told) == (3, 5, 5)


def test_a_run_without_any_flow_does_not_end_its_source(tmp_path: Path) -> None:
    path = write(tmp_path / "arp.pcapng", [ARP] * 4 + [PACKET] * 2, list(range(6)))
    batches, _, _ = fed(path)
    assert [batch.frame.height for batch in batches] == [0, 0, 2, 0]
    assert [batch.ended for batch in batches] == [False, False, False, True]


@pytest.mark.parametrize(
    ("kept", "first"),
    [((0, 0), 1), ((4, 100), 5), ((4, 25), 4), ((4, 0), 1), ((7, 100), None), ((9, 60), 7)],
)
def test_what_is_stored_of_a_file_is_not_read_again(
    kept: tuple[int, int], first: int | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "some.pcapng", [PACKET] * 7, [*range(0, 70, 10)])
    asked: list[tuple[str, int]] = []

    def known(source: str, epoch: int, _begin: Frames) -> Kept:
        asked.append((source, epoch))
        return Kept(*kept)

    batches, decoder, _ = fed(path, known=known)
    numbers = [frame for batch in batches if batch.frame.height for frame in batch.frame["frame"]]
    assert numbers == ([] if first is None else [*range(first, 8)])
    assert asked == [("some.pcapng", 0)]
    assert batches[-1].ended
    assert decoder.accounting.seen == len(numbers)


def test_a_capture_without_frames_only_ends(tmp_path: Path) -> None:
    batches, decoder, _ = fed(write(tmp_path / "none.pcapng", [], []))
    assert [(batch.ended, batch.first, batch.last) for batch in batches] == [(True, 0, 0)]
    assert decoder.accounting.seen == 0


def test_what_a_file_cannot_deliver_is_counted_with_its_frames(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.pcapng", [PACKET] * 3, [1, 2, 3])
    path.write_bytes(path.read_bytes()[:-20])
    whole = write(tmp_path / "whole.pcapng", [PACKET, ARP], [4, 5])
    batches, decoder, told = fed(path, whole)
    assert decoder.accounting.reasons == {"file_truncated": 1, "unknown_ethertype": 1}
    assert (decoder.accounting.decoded, decoder.accounting.seen, told) == (3, 5, 4)
    assert sum(batch.ended for batch in batches) == 2


def test_a_bus_that_closes_early_stops_the_feed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcapng", [PACKET] * 4, [1, 2, 3, 4])

    async def run() -> None:
        bus = MemoryBus()
        await bus.close()
        with open_capture(path) as capture:
            await feed([capture], Decoder(CollectorSettings()), bus)

    with pytest.raises(BusError, match="closed"):
        asyncio.run(run())


def test_what_was_read_before_the_end_was_wanted_is_published(tmp_path: Path) -> None:
    """A batch that waits for room is of frames that are counted as read."""
    path = write(tmp_path / "a.pcapng", [PACKET] * 20, range(1, 21))
    decoder = Decoder(CollectorSettings(frames_per_batch=PER_BATCH))

    async def run(capture: Capture) -> int:
        bus, stopping, second = MemoryBus(capacity=1), asyncio.Event(), asyncio.Event()
        loop, told = asyncio.get_running_loop(), []

        def progress(frames: int) -> None:
            told.append(frames)
            if len(told) == 2:
                loop.call_soon_threadsafe(second.set)

        publishing = feed([capture], decoder, bus, progress, stopping=stopping)
        feeding = asyncio.create_task(publishing)
        await second.wait()
        stopping.set()
        rows = sum([batch.frame.height async for batch in bus])
        await feeding
        return rows

    with open_capture(path) as capture:
        assert asyncio.run(run(capture)) == decoder.accounting.decoded == 2 * PER_BATCH


def test_of_two_files_of_one_name_neither_is_taken_for_a_repeat_of_the_other(
    tmp_path: Path,
) -> None:
    """A file that is sent twice is a repeat; another one that was given its name is none."""
    places = [tmp_path / name for name in ("first", "second")]
    for place in places:
        place.mkdir()
    times = [10, 20, 30]
    one = write(places[0] / "x.pcapng", [PACKET] * 3, times)
    other = write(places[1] / "x.pcapng", [PACKET] * 3, [time + 100 for time in times])
    repeats, rows = Repeats(), []
    for path in (one, other, one):
        fresh = [repeats.fresh(batch) for batch in fed(path)[0] if not batch.quiet]
        rows.append(sum(batch.frame.height for batch in fresh if batch is not None))
    assert rows == [3, 3, 0]


def test_a_file_that_has_grown_since_it_ended_ends_again(tmp_path: Path) -> None:
    repeats, told = Repeats(), []
    for frames in (2, 2, 3):
        path = write(tmp_path / "x.pcapng", [PACKET] * frames, [10, 20, 30][:frames])
        fresh = [batch for each in fed(path)[0] if (batch := repeats.fresh(each)) is not None]
        rows = sum(batch.frame.height for batch in fresh)
        told.append((rows, sum(batch.ended for batch in fresh)))
    assert told == [(2, 1), (0, 0), (1, 1)]
