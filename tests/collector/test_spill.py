"""Files of a spill: looked at while written, of strange names, and not readable for now."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl

from collector import Batch, MemoryBus
from collector.kafka_message import octets_of
from collector.spill import Spill
from collector.spool import Spool

MIB = 1 << 20
WRITES = 200
PATIENCE_S = 120


def batch(number: int) -> Batch:
    frame = pl.DataFrame({"frame": [number], "time_ns": [number]})
    return Batch(frame, "tap", 1, number, number, reached_ns=number)


def sent_after(place: Path) -> tuple[list[int], Spool]:
    """Numbers of the batches that a process finds there and sends, and one of its own."""

    async def run() -> tuple[list[int], Spool]:
        spool = Spool(MemoryBus(1 << 10), 3, Spill(place, MIB))
        await spool.publish(batch(90))
        await spool.close()
        return [each.first async for each in spool], spool

    return asyncio.run(run())


def left(place: Path, count: int) -> list[Path]:
    """The files of so many batches of a process that is gone."""
    spill = Spill(place, MIB)
    made = [spill.put(batch(number)) for number in range(1, count + 1)]
    spill.close()
    return made


def looked_at() -> None:
    """Write a frame in one thread and look at it in another one."""
    frame = pl.DataFrame({f"c{column}": [*range(50)] for column in range(60)})
    writer = threading.Thread(target=lambda: [octets_of(frame) for _ in range(WRITES)])
    writer.start()
    while writer.is_alive():
        assert frame.height == 50
    writer.join()


def test_a_frame_may_be_looked_at_while_it_is_written() -> None:
    """The bus sends a batch while the spool puts it on disk: both waited for ever."""
    done = subprocess.run([sys.executable, __file__], timeout=PATIENCE_S, check=False)
    assert done.returncode == 0


def test_a_file_of_another_name_takes_no_place_of_a_batch(tmp_path: Path) -> None:
    made = left(tmp_path, 5)
    strange = made[2].rename(tmp_path / "3.batch")
    (tmp_path / "000000000009.batch").symlink_to(tmp_path / "nowhere")
    (tmp_path / "٣٣٣.batch").write_text("x")
    spill = Spill(tmp_path, MIB)
    assert spill.put(batch(6)).name == "000000000006.batch"
    spill.close()
    assert sent_after(tmp_path)[0] == [1, 2, 4, 5, 6, 90]
    assert strange.exists()


def test_what_cannot_be_read_now_is_left_to_the_next_process(tmp_path: Path) -> None:
    middle = left(tmp_path, 3)[1]
    whole = middle.read_bytes()

    async def run() -> Spool:
        spool = Spool(MemoryBus(1 << 10), 3, Spill(tmp_path, MIB))
        middle.unlink()
        middle.mkdir()  # whoever reads it hears of an error that may pass
        await spool.publish(batch(90))
        await spool.close()
        assert [each.first async for each in spool] == [1, 3, 90]
        return spool

    spool = asyncio.run(run())
    assert (spool.counts["spill_failed"], spool.counts["spill_damaged"]) == (1, 0)
    middle.rmdir()
    middle.write_bytes(whole)
    assert sent_after(tmp_path)[0] == [2, 90]
    assert not [*tmp_path.glob("*.batch")]


if __name__ == "__main__":
    looked_at()
