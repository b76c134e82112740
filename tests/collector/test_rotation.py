"""A directory that a capture rotates through is read file by file, none left out, none twice."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import (
    CaptureError,
    CollectorSettings,
    Decoder,
    MemoryBus,
    Rotation,
    feed,
    write_pcapng,
)

PACKET = ethernet(ipv4(tcp(payload=b"data")))


def write(path: Path, *times: int) -> None:
    """A capture that is there at once, as a writer's finished file."""
    frames = replace(frames_of([PACKET] * len(times)), time_ns=np.array(times, np.int64))
    write_pcapng(path, [""], [frames])


def test_files_are_read_in_order_as_they_arrive(tmp_path: Path) -> None:
    write(tmp_path / "ring_9", 1, 2)
    write(tmp_path / "ring_10", 3)
    (tmp_path / "ring_11").write_text("no capture")
    (tmp_path / ".partial").write_text("nor this")
    decoder = Decoder(CollectorSettings())
    rotation = Rotation(tmp_path)

    async def run() -> list[tuple[str, int, int, bool, list[str]]]:
        bus = MemoryBus()
        reading = asyncio.create_task(feed([], decoder, bus, rotations=[rotation]))
        got = []
        async for batch in bus:
            points = batch.frame["point"].unique().to_list() if batch.frame.height else []
            got.append((batch.source, batch.first, batch.last, batch.ended, points))
            if batch.source == "ring_10" and not batch.ended:
                write(tmp_path / "ring_12", 4, 5, 6)
            if batch.source == "ring_12" and not batch.ended:
                rotation.stop()
        await reading
        return got

    tap = [tmp_path.name]
    assert asyncio.run(run()) == [
        ("ring_9", 1, 2, False, tap),
        ("ring_9", 2, 2, True, []),
        ("ring_10", 1, 1, False, tap),
        ("ring_10", 1, 1, True, []),
        ("ring_11", 0, 0, True, []),
        ("ring_12", 1, 3, False, tap),
        ("ring_12", 3, 3, True, []),
    ]
    assert decoder.accounting.reasons == {"file_unreadable": 1}


def test_a_directory_that_nobody_writes_to_ends_with_its_last_file(tmp_path: Path) -> None:
    write(tmp_path / "a1", 1)
    write(tmp_path / "a2", 2, 3)
    decoder = Decoder(CollectorSettings())

    async def run() -> None:
        bus = MemoryBus()
        await feed([], decoder, bus, rotations=[Rotation(tmp_path, endless=False)])
        assert [batch.source async for batch in bus if not batch.ended] == ["a1", "a2"]

    asyncio.run(run())
    assert decoder.accounting.seen == 3


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no directory"):
        Rotation(tmp_path / "missing")
