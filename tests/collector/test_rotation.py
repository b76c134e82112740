"""A directory that a capture rotates through is read file by file, none left out, none twice."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import (
    Batch,
    CaptureError,
    CollectorSettings,
    Decoder,
    MemoryBus,
    Rotation,
    feed,
    write_pcapng,
)
from collector.loss import Loss

PACKET = ethernet(ipv4(tcp(payload=b"data")))


def write(path: Path, *times: int) -> None:
    """A capture that is there at once, as a writer's finished file."""
    frames = replace(frames_of([PACKET] * len(times)), time_ns=np.array(times, np.int64))
    write_pcapng(path, [""], [frames])


async def batches(decoder: Decoder, rotation: Rotation) -> AsyncIterator[Batch]:
    """What a directory brings, batch by batch, until it has ended."""
    bus = MemoryBus()
    reading = asyncio.create_task(feed([], decoder, bus, rotations=[rotation]))
    async for batch in bus:
        yield batch
    await reading


def test_files_are_read_in_order_as_they_arrive(tmp_path: Path) -> None:
    write(tmp_path / "ring_9", 1, 2)
    write(tmp_path / "ring_10", 3)
    (tmp_path / "ring_11").write_text("no capture")
    (tmp_path / "ring_9.txt").write_text(
        "nothing that begins like a capture, whatever comes behind it"
    )
    (tmp_path / ".partial").write_text("nor this")
    decoder = Decoder(CollectorSettings())
    rotation = Rotation(tmp_path)

    async def run() -> list[tuple[str, int, int, bool, list[str]]]:
        got = []
        async for batch in batches(decoder, rotation):
            points = batch.frame["point"].unique().to_list() if batch.frame.height else []
            got.append((batch.source, batch.first, batch.last, batch.ended, points))
            if batch.source.endswith("ring_10") and not batch.ended:
                write(tmp_path / "ring_12", 4, 5, 6)
            if batch.source.endswith("ring_12") and not batch.ended:
                rotation.stop()
        return got

    tap = [tmp_path.name]
    assert asyncio.run(run()) == [
        (f"{tmp_path.name}/ring_9", 1, 2, False, tap),
        (f"{tmp_path.name}/ring_9", 2, 2, True, []),
        (f"{tmp_path.name}/ring_10", 1, 1, False, tap),
        (f"{tmp_path.name}/ring_10", 1, 1, True, []),
        (f"{tmp_path.name}/ring_11", 0, 0, True, []),
        (f"{tmp_path.name}/ring_12", 1, 3, False, tap),
        (f"{tmp_path.name}/ring_12", 3, 3, True, []),
    ]
    assert decoder.accounting.reasons == {"file_unreadable": 2}


@pytest.mark.parametrize("stray", ["", "short"])
def test_a_file_that_gives_no_frame_hides_none_that_comes_later(tmp_path: Path, stray: str) -> None:
    write(tmp_path / "cap0", 1)
    (tmp_path / "zz").write_text(stray)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[str]:
        got = []
        async for batch in batches(decoder, rotation):
            if batch.frame.height:
                got.append(batch.source)
            if batch.source.endswith("cap0") and batch.ended:
                write(tmp_path / "cap1", 2, 3)
            if batch.source.endswith("cap1") and batch.frame.height:
                rotation.stop()
        return got

    assert asyncio.run(run()) == [f"{tmp_path.name}/cap0", f"{tmp_path.name}/cap1"]
    assert decoder.accounting.decoded == 3


def test_files_of_a_ring_are_read_again_when_they_are_written_anew(tmp_path: Path) -> None:
    write(tmp_path / "ring0", 1, 2)
    write(tmp_path / "ring1", 3)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[tuple[str, int]]:
        got = []
        async for batch in batches(decoder, rotation):
            if not batch.frame.height:
                continue
            name, at = batch.source.rsplit("/")[-1], int(batch.frame["time_ns"][0])
            got.append((name, at))
            if name == "ring1" and at == 3:
                grown = tmp_path / "ring0"
                grown.write_bytes(grown.read_bytes() + bytes(40))  # read already, and the same file
                await asyncio.sleep(1)
                write(tmp_path / "ring0", 4, 5)
            if at == 4:
                write(tmp_path / "ring1", 6)
            if at == 6:
                rotation.stop()
        return got

    assert asyncio.run(run()) == [("ring0", 1), ("ring1", 3), ("ring0", 4), ("ring1", 6)]
    assert (decoder.accounting.decoded, decoder.accounting.reasons) == (6, {"file_grown": 1})


def test_two_captures_that_rotate_in_one_directory_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The file of one ends for a reader with the first of the other; what comes then is counted."""
    write(tmp_path / "a_1", 1)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[int]:
        got: list[int] = []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list() if batch.frame.height else []
            if got == [1] and not (tmp_path / "b_1").exists():
                write(tmp_path / "b_1", 2)
            if got == [1, 2] and not batch.ended:
                whole = tmp_path / "whole"
                write(whole, 1, 3, 4)
                octets = whole.read_bytes()
                whole.unlink()
                for _ in range(2):  # it is told once
                    (tmp_path / "a_1").write_bytes(octets)
                    octets += bytes(8)
                    await asyncio.sleep(0.6)
                rotation.stop()
        return got

    assert asyncio.run(run()) == [1, 2]
    assert decoder.accounting.reasons == {"file_grown": 1}
    assert caplog.text.count("a_1 was written on when a newer file was there") == 1


def test_a_ring_that_is_told_to_stop_is_read_to_its_end_and_not_beyond(tmp_path: Path) -> None:
    """Its writer goes on: names that were there are used again, and there are new ones."""
    for number in range(4):
        write(tmp_path / f"ring{number}", number + 1)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[int]:
        got = []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list()
            if got == [1]:
                rotation.stop()
            if batch.frame.height:
                for number in (0, 1, 9):
                    write(tmp_path / f"ring{number}", 100 * len(got) + number)
        return got

    got = asyncio.run(run())
    assert {3, 4} < {*got}, "those behind the open one are read"
    assert len(got) <= 6, "none more than once after that"
    assert not {each for each in got if each % 100 == 9}


def test_a_directory_that_is_gone_can_be_told_to_stop(tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    rotation = Rotation(place)
    place.rmdir()
    rotation.stop()


def test_a_ring_that_has_begun_anew_is_read_from_its_oldest_file(tmp_path: Path) -> None:
    for turn, name in enumerate(["ring2", "ring3", "ring0", "ring1"], 1):
        write(tmp_path / name, turn)
        os.utime(tmp_path / name, (turn, turn))
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[int]:
        got = []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list()
            if len(got) == 4:
                rotation.stop()
        return got

    assert asyncio.run(run()) == [1, 2, 3, 4]


def test_what_a_ring_wrote_over_before_it_was_read_is_counted_and_told(tmp_path: Path) -> None:
    first, third, fourth = (f"ring_{number:05}_20261126185501.pcap" for number in (1, 4, 5))
    write(tmp_path / first, 1, 2)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[Loss]:
        losses = []
        async for batch in batches(decoder, rotation):
            losses += batch.losses
            if batch.source.endswith(first) and batch.frame.height:
                write(tmp_path / third, 7, 8)
            if batch.source.endswith(third) and batch.frame.height:
                write(tmp_path / fourth, 9)
            if batch.source.endswith(fourth) and batch.frame.height:
                rotation.stop()
        return losses

    assert asyncio.run(run()) == [Loss(2, 7)]
    assert (decoder.accounting.decoded, decoder.accounting.reasons) == (5, {"file_overwritten": 2})


def dumpcap(number: int) -> str:
    """A name as dumpcap gives it."""
    return f"cap_{number:05}_20251009085320.pcapng"


def test_a_file_that_is_compressed_once_it_was_read_is_no_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first was passed by then; the third is compressed while it is the newest."""
    write(tmp_path / dumpcap(1), 1, 2)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    def compress(number: int) -> None:
        plain = tmp_path / dumpcap(number)
        plain.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()

    async def run() -> list[Loss]:
        losses = []
        async for batch in batches(decoder, rotation):
            losses += batch.losses
            if not batch.frame.height:
                continue
            number = int(batch.source.rsplit("/")[-1].split("_")[1])
            if number == 2:
                compress(1)
                await asyncio.sleep(0.5)
            if number == 3:
                compress(3)
                await asyncio.sleep(1)
            if number < 4:
                write(tmp_path / dumpcap(number + 1), 10 * number)
            else:
                rotation.stop()
        return losses

    assert asyncio.run(run()) == []
    assert (decoder.accounting.decoded, decoder.accounting.reasons) == (5, {})
    assert not caplog.text


def test_a_file_that_was_never_read_and_is_compressed_is_counted_once(tmp_path: Path) -> None:
    """It comes in its turn, and what comes behind it is no loss."""
    write(tmp_path / dumpcap(4), 1)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[Loss]:
        losses = []
        async for batch in batches(decoder, rotation):
            losses += batch.losses
            if batch.source.endswith(dumpcap(4)) and batch.frame.height:
                (tmp_path / f"{dumpcap(2)}.gz").write_bytes(gzip.compress(b"late"))
                await asyncio.sleep(0.5)
                write(tmp_path / dumpcap(5), 2)
            if batch.source.endswith(dumpcap(5)) and batch.frame.height:
                rotation.stop()
        return losses

    assert asyncio.run(run()) == []
    assert (decoder.accounting.decoded, decoder.accounting.reasons) == (2, {"file_unreadable": 1})


@pytest.mark.parametrize("endless", [True, False])
def test_a_file_that_was_read_is_not_read_again_by_another_name(
    tmp_path: Path, *, endless: bool
) -> None:
    for number in range(1, 4):
        write(tmp_path / f"cap{number}", number)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path, endless=endless)

    async def run() -> list[int]:
        got = []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list()
            if batch.frame.height and batch.source.endswith(("2", "3")):
                read = f"cap{len(got) - 1}"
                (tmp_path / read).rename(tmp_path / f"{read}.done")
            if len(got) == 3 and not batch.ended:
                await asyncio.sleep(0.5)
                rotation.stop()
        return got

    assert asyncio.run(run()) == [1, 2, 3]
    assert decoder.accounting.reasons == {}


def test_a_chain_of_names_brings_each_file_once_and_no_gap(tmp_path: Path) -> None:
    """As logrotate does: the newest is renamed while it is read, and all before it again."""
    kept = tmp_path / "x.pcap"
    write(kept, 1)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    def turn() -> None:
        for number in range(3, 0, -1):
            if (older := tmp_path / f"x.pcap.{number}").exists():
                older.rename(tmp_path / f"x.pcap.{number + 1}")
        kept.rename(tmp_path / "x.pcap.1")

    async def run() -> tuple[list[int], list[Loss]]:
        got, losses = [], []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list()
            losses += batch.losses
            if batch.frame.height:
                await asyncio.sleep(0.5)
                turn()
                await asyncio.sleep(0.7)
                if len(got) == 4:
                    rotation.stop()
                else:
                    write(kept, len(got) + 1)
        return got, losses

    assert asyncio.run(run()) == ([1, 2, 3, 4], [])
    assert decoder.accounting.reasons == {}


def test_a_later_file_with_the_inode_of_one_that_was_read_is_another_one(tmp_path: Path) -> None:
    """Written into the same inode by another name: what a system does that gives it anew."""
    write(tmp_path / "cap1", 1)
    decoder, rotation = Decoder(CollectorSettings()), Rotation(tmp_path)

    async def run() -> list[int]:
        got = []
        async for batch in batches(decoder, rotation):
            got += batch.frame["time_ns"].to_list()
            if got == [1] and not batch.ended:
                write(tmp_path / "cap2", 2)
            if got == [1, 2] and not batch.ended:
                (tmp_path / "cap1").rename(tmp_path.parent / "elsewhere")
                await asyncio.sleep(0.5)
                write(tmp_path.parent / "elsewhere", 3, 4)
                (tmp_path.parent / "elsewhere").rename(tmp_path / "cap3")
            if len(got) == 4:
                rotation.stop()
        return got

    assert asyncio.run(run()) == [1, 2, 3, 4]
    assert decoder.accounting.reasons == {}


def test_a_directory_that_nobody_writes_to_ends_with_its_last_file(tmp_path: Path) -> None:
    write(tmp_path / "a1", 1)
    write(tmp_path / "a2", 2, 3)
    decoder = Decoder(CollectorSettings())

    async def run() -> None:
        bus = MemoryBus()
        await feed([], decoder, bus, rotations=[Rotation(tmp_path, endless=False)])
        sources = [batch.source async for batch in bus if not batch.ended]
        assert sources == [f"{tmp_path.name}/a1", f"{tmp_path.name}/a2"]

    asyncio.run(run())
    assert decoder.accounting.seen == 3


def test_a_last_file_that_cannot_be_read_ends_a_directory_all_the_same(tmp_path: Path) -> None:
    write(tmp_path / "a1", 1)
    (tmp_path / "notes.txt").write_text("no capture")
    decoder = Decoder(CollectorSettings())

    async def run() -> None:
        await feed([], decoder, MemoryBus(), rotations=[Rotation(tmp_path, endless=False)])

    asyncio.run(run())
    assert decoder.accounting.seen == 2
    assert decoder.accounting.reasons == {"file_unreadable": 1}


def test_compressed_files_of_a_directory_are_read_where_nobody_writes(tmp_path: Path) -> None:
    write(tmp_path / "plain", 1, 2)
    (tmp_path / "packed.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    decoder = Decoder(CollectorSettings())

    async def run() -> None:
        rotation = Rotation(tmp_path, endless=False, point="leaf1:Ethernet1")
        await feed([], decoder, bus := MemoryBus(), rotations=[rotation])
        points = [batch.frame["point"][0] async for batch in bus if not batch.ended]
        assert points == ["leaf1:Ethernet1"] * 2

    asyncio.run(run())
    assert (decoder.accounting.seen, decoder.accounting.reasons) == (4, {})


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "ring"
    gone.mkdir()
    rotation = Rotation(gone)
    gone.rmdir()
    with pytest.raises(CaptureError, match="ring: no such file or directory"):
        rotation.next_file()


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no directory"):
        Rotation(tmp_path / "missing")


@pytest.mark.parametrize(
    ("here", "given"), [("", "."), ("", "./"), ("", "../dotdir"), ("", "below/.."), ("below", "..")]
)
def test_a_directory_has_its_name_however_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, given: str
) -> None:
    (tmp_path / "dotdir" / "below").mkdir(parents=True)
    write(tmp_path / "dotdir" / "ring_1.pcap", 1)
    monkeypatch.chdir(tmp_path / "dotdir" / here)
    capture = Rotation(Path(given), endless=False).next_file()
    assert capture is not None
    with capture:
        assert (capture.source, capture.unnamed) == ("dotdir/ring_1.pcap", "dotdir")
