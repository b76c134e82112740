"""A file that grows is read as it grows, and it is said why that ends."""

import asyncio
import gzip
import os
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import lz4.frame
import pytest
import zstandard
from octets import ethernet, ipv4, tcp

from collector import CaptureError, CollectorSettings, Decoder, Frames, MemoryBus, feed
from collector.capture import Capture, open_capture
from collector.follow import Follow

POLL_S = 0.005
PACKET = ethernet(ipv4(tcp(payload=b"data")))


def record(number: int, octets: bytes = PACKET) -> bytes:
    """A pcap record whose time tells its number."""
    return struct.pack("<IIII", 1, number, len(octets), len(octets)) + octets


def block(number: int, octets: bytes = PACKET) -> bytes:
    """An enhanced packet block whose time tells its number."""
    padded = octets + bytes(-len(octets) % 4)
    total = 32 + len(padded)
    sizes = (len(octets), len(octets))
    head = struct.pack("<7I", 6, total, 0, 0, 1_000_000_000 + number, *sizes)
    return head + padded + struct.pack("<I", total)


PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
INTERFACE = struct.pack("<IIHHI", 1, 28, 1, 0, 0) + struct.pack("<HHBxxxI", 9, 1, 9, 28)
FORMS = {"pcap": (PCAP, record), "pcapng": (SECTION + INTERFACE, block)}


def numbers(frames: Frames) -> list[int]:
    """Which records these are, by their times."""
    return [time_ns - 1_000_000_000 for time_ns in frames.time_ns.tolist()]


class Growing:
    """A file that is followed in one thread and written in another."""

    def __init__(self, path: Path, begin: bytes = b"") -> None:
        self.path = path
        self.follow = Follow(poll_s=POLL_S)
        path.write_bytes(begin)
        self.capture = open_capture(path, self.follow)
        self.runs: list[list[int]] = []
        self.error: CaptureError | None = None
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        try:
            for frames in self.capture.chunks(1000):
                held = [
                    frames.data[at : at + size].tobytes()
                    for at, size in zip(frames.offset, frames.captured, strict=True)
                ]
                assert set(held) <= {PACKET}
                self.runs.append(numbers(frames))
        except CaptureError as error:
            self.error = error

    def write(self, octets: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(octets)

    @property
    def read(self) -> list[int]:
        return [number for run in self.runs for number in run]

    def wait_for(self, count: int) -> None:
        """Return when so many frames were read."""
        until = time.monotonic() + 20
        while sum(map(len, self.runs)) < count:
            assert time.monotonic() < until
            time.sleep(POLL_S)

    def end(self) -> None:
        """Return when the reading has ended by itself."""
        self._thread.join(20)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.follow.stop.set()
        self.end()
        self.capture.close()


@pytest.mark.parametrize("form", FORMS)
def test_frames_are_given_as_they_come(form: str, tmp_path: Path) -> None:
    head, one = FORMS[form]
    with Growing(tmp_path / "x", head + one(0)) as file:
        for number in range(1, 6):
            file.wait_for(number)
            file.write(one(number))
    assert file.runs == [[0], [1], [2], [3], [4], [5]]
    assert file.capture.reasons == {}
    assert (file.capture.delivered, file.capture.seen) == (6, 6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_a_file_that_begins_empty_and_grows_by_any_number_of_octets(
    form: str, size: int, tmp_path: Path
) -> None:
    head, one = FORMS[form]
    count = 3 if size == 1 else 30
    whole = head + b"".join(map(one, range(count)))
    with Growing(tmp_path / "x") as file:
        for at in range(0, len(whole), size):
            file.write(whole[at : at + size])
            time.sleep(POLL_S / 5)
        file.wait_for(count)
    assert file.read == list(range(count))
    assert file.capture.reasons == {}


def test_a_writer_faster_than_the_reader(tmp_path: Path) -> None:
    with Growing(tmp_path / "x", PCAP) as file:
        for first in range(0, 100_000, 1000):
            file.write(b"".join(map(record, range(first, first + 1000))))
    assert file.read == list(range(100_000))
    assert all(len(run) <= 1000 for run in file.runs)


def test_what_is_there_when_it_is_stopped_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(PCAP + b"".join(map(record, range(5000))))
    follow = Follow()
    with open_capture(path, follow) as capture:
        follow.stop.set()
        assert sum(map(len, capture.chunks())) == 5000
        assert capture.reasons == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_record_that_is_not_whole_at_the_end_is_counted(form: str, tmp_path: Path) -> None:
    head, one = FORMS[form]
    with Growing(tmp_path / "x", head + one(0) + one(1)[:-1]) as file:
        file.wait_for(1)
    assert file.read == [0]
    assert file.capture.reasons == {"file_truncated": 1}


def test_it_ends_when_nothing_comes_for_long_enough(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(PCAP + record(0))
    begun = time.monotonic()
    with open_capture(path, Follow(poll_s=POLL_S, idle_s=0.1)) as capture:
        assert [numbers(frames) for frames in capture.chunks()] == [[0]]
    assert time.monotonic() - begun >= 0.1
    assert capture.reasons == {}


def test_a_file_that_is_replaced_is_read_to_its_end_and_no_further(tmp_path: Path) -> None:
    with Growing(tmp_path / "x", PCAP + record(0)) as file:
        file.wait_for(1)
        file.write(record(1))
        file.path.rename(tmp_path / "x.1")
        file.path.write_bytes(PCAP + record(9))
        file.end()
    assert file.read == [0, 1]
    assert file.capture.reasons == {"file_replaced": 1}


def test_a_file_that_is_removed_has_ended(tmp_path: Path) -> None:
    with Growing(tmp_path / "x", PCAP + record(0)) as file:
        file.wait_for(1)
        file.path.unlink()
        file.end()
    assert file.capture.reasons == {"file_replaced": 1}


def test_a_file_that_is_cut_has_ended(tmp_path: Path) -> None:
    with Growing(tmp_path / "x", PCAP + b"".join(map(record, range(100)))) as file:
        file.wait_for(100)
        os.truncate(file.path, 0)
        file.end()
    assert file.read == list(range(100))
    assert file.capture.reasons == {"file_replaced": 1}


def test_a_file_that_stays_empty_has_no_frames(tmp_path: Path) -> None:
    with Growing(tmp_path / "x") as file:
        pass
    assert (file.read, file.error, file.capture.seen) == ([], None, 0)
    assert file.capture.points == []


PACKERS = [gzip.compress, zstandard.compress, lz4.frame.compress]


@pytest.mark.parametrize("pack", PACKERS)
def test_a_compressed_file_is_refused(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "x"
    octets = pack(PCAP + record(0))
    path.write_bytes(octets)
    sentence = rf"^{path}: a compressed file cannot be followed$"
    with pytest.raises(CaptureError, match=sentence):
        open_capture(path, Follow())
    with Growing(path) as file:
        file.write(octets)
        file.end()
    assert str(file.error) == f"{path}: a compressed file cannot be followed"


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        (b"no capture file, whatever comes", "not a capture file (first bytes 6e6f2063)"),
        (PCAP[:4] + b"\3" + PCAP[5:], "pcap version 3.4 is not known"),
    ],
)
def test_what_becomes_no_capture_file_is_refused(
    octets: bytes, sentence: str, tmp_path: Path
) -> None:
    with Growing(tmp_path / "x") as file:
        file.write(octets)
        file.end()
    assert str(file.error) == f"{file.path}: {sentence}"


def test_a_header_that_is_never_whole_is_refused(tmp_path: Path) -> None:
    with Growing(tmp_path / "x", PCAP[:20]) as file:
        pass
    assert str(file.error) == f"{file.path}: pcap header is cut after 20 bytes"


def test_a_header_that_was_not_whole_when_reading_was_stopped_is_refused(tmp_path: Path) -> None:
    path, follow = tmp_path / "x", Follow(poll_s=POLL_S)
    path.write_bytes(PCAP[:20])
    with open_capture(path, follow) as capture:
        chunks = capture.chunks(wait=False)
        assert len(next(chunks)) == 0
        follow.stop.set()
        with pytest.raises(CaptureError, match="pcap header is cut after 20 bytes"):
            list(chunks)


def test_without_waiting_there_are_runs_without_frames(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    follow = Follow()
    with open_capture(path, follow) as capture:
        chunks = capture.chunks(wait=False)
        assert [len(next(chunks)) for _ in range(3)] == [0, 0, 0]
        path.write_bytes(PCAP + record(0) + record(1))
        assert numbers(next(chunks)) == [0, 1]
        nothing = next(chunks)
        assert (len(nothing), nothing.first) == (0, 3)
        follow.stop.set()
        assert [len(frames) for frames in chunks if len(frames)] == []


def test_frames_of_a_pipe_are_given_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    wanted = iter(range(1, 5))

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(PCAP + record(0))
            for number in wanted:
                assert come.wait(20)
                come.clear()
                pipe.write(record(number))

    come = threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    with open_capture(path, Follow(poll_s=POLL_S)) as capture:
        runs = []
        for frames in capture.chunks():
            runs.append(numbers(frames))
            come.set()
    writer.join()
    assert runs == [[0], [1], [2], [3], [4]]
    assert capture.reasons == {}


def test_a_pipe_can_be_stopped_while_its_writer_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)
    os.write(end, PCAP + record(0))
    follow = Follow(poll_s=POLL_S)
    with open_capture(path, follow) as capture:
        chunks = capture.chunks()
        assert numbers(next(chunks)) == [0]
        follow.stop.set()
        assert list(chunks) == []
    os.close(end)
    assert capture.reasons == {}


def test_the_bus_gets_what_has_come_while_another_file_is_silent(tmp_path: Path) -> None:
    busy, silent, whole = (tmp_path / name for name in ("busy", "silent", "whole"))
    busy.write_bytes(PCAP + record(0))
    silent.write_bytes(b"")
    whole.write_bytes(PCAP + b"".join(map(record, range(5))))
    follow = Follow(poll_s=POLL_S)

    async def run(captures: list[Capture]) -> list[tuple[str, int, int, bool]]:
        bus = MemoryBus(capacity=1)
        publishing = asyncio.create_task(feed(captures, Decoder(CollectorSettings()), bus))
        batches = []
        async for batch in bus:
            batches.append((batch.source, batch.first, batch.last, batch.ended))
            if batch.source == "busy" and batch.last < 4:
                with busy.open("ab") as file:
                    file.write(record(batch.last))
            elif batch.source == "busy":
                follow.stop.set()
        await publishing
        return batches

    captures = [open_capture(path, follow) for path in (busy, silent)] + [open_capture(whole)]
    batches = asyncio.run(run(captures))
    for capture in captures:
        capture.close()
    rows = [batch for batch in batches if not batch[3]]
    assert [row for row in rows if row[0] == "busy"] == [
        ("busy", number, number, False) for number in range(1, 5)
    ]
    assert [row for row in rows if row[0] != "busy"] == [("whole", 1, 5, False)]
    assert {batch[0] for batch in batches if batch[3]} == {"busy", "silent", "whole"}


def test_a_feed_that_follows_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(PCAP + record(0))

    async def run(capture: Capture) -> None:
        bus = MemoryBus()
        publishing = asyncio.create_task(feed([capture], Decoder(CollectorSettings()), bus))
        async for batch in bus:
            assert batch.last == 1
            publishing.cancel()
        with suppress(asyncio.CancelledError):
            await publishing

    with open_capture(path, Follow(poll_s=POLL_S)) as capture:
        asyncio.run(asyncio.wait_for(run(capture), 20))
