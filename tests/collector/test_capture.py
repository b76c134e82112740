"""Capture files of every kind are read to the octet, and damage is counted, never raised."""

import gzip
import os
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector import compression, window
from collector.capture import FILE_REASONS, Capture, open_capture
from collector.window import CaptureError

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
CAPTURES = sorted((SHARED / "captures").glob("*.pcap"))
ORACLES = sorted((SHARED / "oracles").glob("*/*.pcap.zst"))

Tool = Callable[..., str]

Row = tuple[int, int, int, int, bytes]
"""number, time_ns, captured, length, bytes"""

KINDS = {
    "microseconds": (0xA1B2C3D4, 16, 1000),
    "nanoseconds": (0xA1B23C4D, 16, 1),
    "modified": (0xA1B2CD34, 24, 1000),
}


def pcap(order: str, kind: str, frames: list[bytes], minor: int = 4, link: int = 1) -> bytes:
    """Write a pcap file by the letter of the format."""
    magic, record_bytes, _ = KINDS[kind]
    octets = struct.pack(order + "IHHiIII", magic, 2, minor, 0, 0, 65535, link)
    for i, frame in enumerate(frames):
        lengths = (len(frame), len(frame) + 4)
        if minor < 3:
            lengths = lengths[::-1]
        octets += struct.pack(order + "IIII", 1_700_000_000 + i, 999_990 + i, *lengths)
        octets += bytes(record_bytes - 16) + frame
    return octets


def plainly(octets: bytes) -> tuple[list[Row], dict[str, int]]:
    """Read a pcap file record by record, the simplest way."""
    order, (_, record_bytes, unit) = next(
        (order, kind)
        for order in "<>"
        for kind in KINDS.values()
        if octets[:4] == struct.pack(order + "I", kind[0])
    )
    minor = struct.unpack(order + "H", octets[6:8])[0]
    rows: list[Row] = []
    at = 24
    while at < len(octets):
        head = octets[at : at + record_bytes]
        if len(head) < record_bytes:
            return rows, {"file_truncated": 1}
        seconds, fraction, captured, length = struct.unpack(order + "IIII", head[:16])
        if minor < 3 or (minor == 3 and captured > length):
            captured, length = length, captured
        if captured > 256 << 20:
            return rows, {"file_corrupt": 1}
        body = octets[at + record_bytes : at + record_bytes + captured]
        if len(body) < captured:
            return rows, {"file_truncated": 1}
        time_ns = seconds * 10**9 + fraction * unit
        rows.append((len(rows) + 1, time_ns, captured, min(length, 2**31 - 1), body))
        at += record_bytes + captured
    return rows, {}


def rows_of(capture: Capture, frames_per_chunk: int = 65536) -> Iterator[Row]:
    for frames in capture.chunks(frames_per_chunk):
        assert 1 <= len(frames) <= frames_per_chunk
        assert not frames.data.flags.writeable
        assert (frames.interface < len(capture.points)).all()
        for i in range(len(frames)):
            begin, captured = int(frames.offset[i]), int(frames.captured[i])
            assert 0 <= begin <= begin + captured <= len(frames.data)
            yield (
                frames.first + i,
                int(frames.time_ns[i]),
                captured,
                int(frames.length[i]),
                frames.data[begin : begin + captured].tobytes(),
            )


def read(path: Path, frames_per_chunk: int = 65536) -> tuple[list[Row], dict[str, int]]:
    with open_capture(path) as capture:
        rows = list(rows_of(capture, frames_per_chunk))
        assert capture.delivered == len(rows)
        assert capture.seen == len(rows) + sum(capture.reasons.values())
        assert capture.reasons.keys() <= FILE_REASONS.keys()
        return rows, capture.reasons


FRAMES = [bytes([i]) * size for i, size in enumerate((0, 1, 60, 61, 300, 1500, 14))]
PLAIN = pcap("<", "nanoseconds", FRAMES)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(octets: bytes, name: str = "x") -> Path:
    path = Path(name)
    path.write_bytes(octets)
    return path


@pytest.mark.parametrize("minor", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_every_kind_of_pcap(order: str, kind: str, minor: int) -> None:
    octets = pcap(order, kind, FRAMES, minor)
    rows, reasons = read(put(octets))
    assert reasons == {}
    assert (rows, reasons) == plainly(octets)
    assert [row[4] for row in rows] == FRAMES
    unit = KINDS[kind][2]
    assert [row[1] for row in rows[:2]] == [
        1_700_000_000_000_000_000 + 999_990 * unit,
        1_700_000_001_000_000_000 + 999_991 * unit,
    ]


def test_lengths_may_stand_the_other_way_round_at_version_2_3() -> None:
    octets = pcap("<", "microseconds", [], 3)
    octets += struct.pack("<IIII", 1, 0, 9, 2) + b"ab" + struct.pack("<IIII", 1, 0, 2, 9) + b"cd"
    rows, _ = read(put(octets))
    assert [row[2:] for row in rows] == [(2, 9, b"ab"), (2, 9, b"cd")]


def test_the_link_type_is_the_lower_half_of_its_field() -> None:
    path = put(pcap(">", "microseconds", FRAMES, link=0x24000071))
    with open_capture(path) as capture:
        (frames,) = capture.chunks()
    assert set(frames.link.tolist()) == {113}
    assert capture.points == ["unknown"]
    assert set(frames.interface.tolist()) == {0}


def test_a_length_beyond_31_bits_is_bounded() -> None:
    octets = pcap("<", "microseconds", []) + struct.pack("<IIII", 1, 0, 2, 2**32 - 1) + b"ab"
    assert [row[3] for row in read(put(octets))[0]] == [2**31 - 1]


SKIPPED = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
COMPRESSED = {
    "plain": PLAIN,
    "gzip": gzip.compress(PLAIN),
    "gzip_members": gzip.compress(PLAIN[:100]) + gzip.compress(PLAIN[100:]) + bytes(100),
    "gzip_padded": gzip.compress(PLAIN[:9]) + bytes(5) + gzip.compress(PLAIN[9:]),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress(PLAIN),
    "zstd_frames": zstandard.compress(PLAIN[:100]) + zstandard.compress(PLAIN[100:]),
    "zstd_skip": SKIPPED + zstandard.compress(PLAIN) + SKIPPED,
    "lz4": lz4.frame.compress(PLAIN),
    "lz4_checked": lz4.frame.compress(PLAIN, block_checksum=True, content_checksum=True),
    "lz4_independent": lz4.frame.compress(PLAIN, block_linked=False, store_size=False),
    "lz4_frames": lz4.frame.compress(PLAIN[:9]) + lz4.frame.compress(PLAIN[9:]),
    "lz4_skip": SKIPPED * 2
    + lz4.frame.compress(PLAIN[:9])
    + SKIPPED
    + lz4.frame.compress(PLAIN[9:]),
}


@pytest.mark.parametrize("name", ["x.pcap", "x.gz", "x.zst", "x.lz4"])
@pytest.mark.parametrize("form", COMPRESSED)
def test_compression_is_told_by_the_first_bytes(form: str, name: str) -> None:
    assert read(put(COMPRESSED[form], name)) == plainly(PLAIN)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["plain", "gzip_members", "zstd", "lz4_skip"])
def test_standard_input(form: str) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from collector.capture import open_capture\n"
        "def tell():\n"
        "    capture = open_capture('-')\n"
        "    print(capture.source, sum(map(len, capture.chunks())), capture.reasons)\n"
        "tell()\n"
        "os.dup2(os.open(sys.argv[2], os.O_RDONLY), 0)\n"
        "tell()"
    )
    command = [sys.executable, "-c", code, str(ROOT), str(put(COMPRESSED[form]))]
    done = subprocess.run(command, input=COMPRESSED[form], capture_output=True, check=True)
    assert done.stdout == b"stdin 7 {}\n" * 2, "of a pipe, and of a file"


def test_a_named_pipe() -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["sh", "-c", "cat > pipe"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write(PLAIN)
        writer.stdin.close()
        assert read(Path("pipe")) == plainly(PLAIN)


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd", "lz4", "lz4_skip"])
@pytest.mark.parametrize("frames_per_chunk", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("window_bytes", [1, 200, 1 << 20])
def test_the_cut_changes_nothing(
    form: str, frames_per_chunk: int, window_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "WINDOW_BYTES", window_bytes)
    monkeypatch.setattr(window, "SHOWN_BYTES", window_bytes)
    monkeypatch.setattr(compression, "INFLATE_BYTES", 64)
    monkeypatch.setattr(compression, "FEED_BYTES", 16)
    assert read(put(COMPRESSED[form]), frames_per_chunk) == plainly(PLAIN)


def test_frames_outlive_their_capture() -> None:
    for form in ("plain", "gzip"):
        capture = open_capture(put(COMPRESSED[form], form))
        chunks = list(capture.chunks(2))
        capture.close()
        last = chunks[-1]
        held = [f.data[f.offset[-1] :][: f.captured[-1]].tobytes() for f in (chunks[0], last)]
        assert held == [FRAMES[1], FRAMES[6]]
        assert [frames.first for frames in chunks] == [1, 3, 5, 7]


def test_reading_a_closed_capture_is_a_sentence() -> None:
    for form in ("plain", "gzip"):
        capture = open_capture(put(COMPRESSED[form], form))
        chunks = capture.chunks(2)
        next(chunks)
        capture.close()
        if form == "plain":
            with pytest.raises(CaptureError, match=r"^plain: i/o operation on closed file"):
                list(chunks)


def test_a_chunk_holds_a_frame_at_least() -> None:
    with (
        open_capture(put(PLAIN)) as capture,
        pytest.raises(ValueError, match="frames_per_chunk must be 1 or more"),
    ):
        next(capture.chunks(0))


def test_a_file_that_shrinks_while_it_is_read() -> None:
    path = put(pcap("<", "nanoseconds", [bytes(1000)] * 100))
    with open_capture(path) as capture:
        chunks = capture.chunks(10)
        next(chunks)
        os.truncate(path, 24 + 1016 * 20 + 500)
        assert 10 + sum(map(len, chunks)) == 20
        assert capture.reasons == {"file_truncated": 1}


@pytest.mark.parametrize("pack", [zstandard.compress, lz4.frame.compress, gzip.compress])
def test_memory_is_bounded_by_the_window(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "WINDOW_BYTES", 1 << 20)
    record = struct.pack("<IIII", 1, 1, 5000, 5000) + np.random.default_rng(2).bytes(5000)
    path = put(pack(pcap("<", "nanoseconds", []) + record * 20_000))
    with open_capture(path) as capture:
        tracemalloc.start()
        assert sum(map(len, capture.chunks())) == 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48 << 20


FOREIGN = {
    "empty": (b"", "empty file"),
    "empty_gzip": (gzip.compress(b""), "empty file"),
    "empty_zstd": (zstandard.compress(b""), "empty file"),
    "empty_lz4": (lz4.frame.compress(b""), "empty file"),
    "skipped_only": (SKIPPED, "empty file"),
    "zip": (b"PK\x03\x04" + bytes(30), r"not a capture file \(first bytes 504b0304\)"),
    "short": (b"\xa1", r"not a capture file \(first bytes a1\)"),
    "text_in_gzip": (gzip.compress(b"hello"), r"not a capture file \(first bytes 68656c6c\)"),
    "twice": (gzip.compress(gzip.compress(PLAIN)), r"not a capture file \(first bytes 1f8b08"),
    "cut_header": (PLAIN[:23], "pcap header is cut after 23 bytes"),
    "version": (PLAIN[:4] + b"\x03" + PLAIN[5:], r"pcap version 3\.4 is not known"),
    "gzip_header_only": (gzip.compress(PLAIN)[:7], "cannot be decompressed"),
    "bad_gzip": (b"\x1f\x8b\xff" + bytes(50), "cannot be decompressed"),
    "bad_zstd": (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "cannot be decompressed"),
    "bad_lz4": (b"\x04\x22\x4d\x18" + b"\xff" * 50, "cannot be decompressed"),
    "lz4_header_only": (lz4.frame.compress(PLAIN)[:9], "cannot be decompressed"),
    "cut_skipped": (SKIPPED[:-1], "cannot be decompressed"),
    "cut_skipped_head": (SKIPPED[:6], "cannot be decompressed"),
    "plain_behind_skipped": (SKIPPED + PLAIN, "cannot be decompressed"),
    "no_section": (b"\n\r\r\n" + bytes(40), r"not a capture file \(first bytes 0a0d0d0a\)"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_refused_in_one_sentence(kind: str) -> None:
    octets, sentence = FOREIGN[kind]
    with pytest.raises(CaptureError, match=rf"^{kind}: {sentence}") as refusal:
        open_capture(put(octets, kind))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("missing", "no such file or directory"),
        (".", "is a directory"),
        ("nul\0", "embedded null byte"),
        ("/dev/null", "empty file"),
    ],
)
def test_what_cannot_be_opened_is_a_sentence(path: str, sentence: str) -> None:
    with pytest.raises(CaptureError) as refusal:
        open_capture(path)
    assert str(refusal.value) == f"{path}: {sentence}"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission() -> None:
    put(PLAIN).chmod(0)
    with pytest.raises(CaptureError, match=r"^x: permission denied$"):
        open_capture("x")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere(kind: str) -> None:
    octets = pcap(">", kind, FRAMES[:4])
    for size in range(24, len(octets)):
        assert read(put(octets[:size])) == plainly(octets[:size])


def test_absurd_lengths_end_the_reading() -> None:
    octets = PLAIN + struct.pack("<IIII", 1, 1, (256 << 20) + 1, 9) + bytes(100)
    rows, reasons = read(put(octets))
    assert rows == plainly(PLAIN)[0]
    assert reasons == {"file_corrupt": 1}


LONG = pcap("<", "nanoseconds", np.random.default_rng(5).bytes(200_000).split(b"\x11"))


def test_damaged_gzip_gives_what_precedes_the_damage() -> None:
    whole, _ = plainly(LONG)
    octets = gzip.compress(LONG, 1)
    assert read(put(octets[:-8] + bytes(8))) == (whole, {"file_corrupt": 1})
    assert read(put(octets[:-1])) == (whole, {"file_truncated": 1})
    assert read(put(octets + b"junk")) == (whole, {"file_corrupt": 1})
    rows, reasons = read(put(octets[: len(octets) // 2]))
    assert reasons == {"file_truncated": 1}
    assert len(whole) * 0.48 < len(rows) < len(whole) * 0.52
    assert rows == whole[: len(rows)]


def test_damaged_zstd_gives_what_precedes_the_damage() -> None:
    whole, _ = plainly(LONG)
    octets = zstandard.ZstdCompressor(write_checksum=True).compress(LONG)
    rows, reasons = read(put(octets[:-1] + bytes([octets[-1] ^ 1])))
    assert reasons == {"file_corrupt": 1}
    assert len(rows) > len(whole) * 0.3
    assert rows == whole[: len(rows)]
    assert read(put(octets[:-1])) == (whole, {"file_truncated": 1})
    assert read(put(octets + b"junk")) == (whole, {"file_corrupt": 1})
    rows, reasons = read(put(octets[: len(octets) * 3 // 4]))
    assert reasons == {"file_truncated": 1}
    assert rows == whole[: len(rows)]


def test_damaged_lz4_gives_what_precedes_the_damage() -> None:
    # Octets that compress: a block that does not is stored, and given before its checksum is seen.
    bits = np.random.default_rng(5).integers(0, 2, 400_000, dtype=np.uint8).tobytes()
    plain = pcap("<", "nanoseconds", bits.split(bytes(11)))
    whole, _ = plainly(plain)
    octets = lz4.frame.compress(plain, block_checksum=True, content_checksum=True)
    assert read(put(octets[:-1])) == (whole, {"file_truncated": 1})
    assert read(put(octets + b"junkjunk")) == (whole, {"file_corrupt": 1})
    rows, reasons = read(put(octets[: len(octets) * 3 // 4]))
    assert reasons == {"file_truncated": 1}
    assert len(rows) > len(whole) * 0.5
    assert rows == whole[: len(rows)]
    for at in (len(octets) // 2, len(octets) - 1):
        rows, reasons = read(put(octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]))
        assert reasons == {"file_corrupt": 1}
        assert len(rows) > len(whole) * 0.3
        assert rows == whole[: len(rows)]


@pytest.mark.parametrize(("name", "flags"), [("gzip", ["-c"]), ("zstd", ["-c"]), ("lz4", ["-cB4"])])
def test_what_the_commands_compress_is_read(name: str, flags: list[str]) -> None:
    command = shutil.which(name)
    if command is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([command, *flags], input=LONG, capture_output=True, check=True)
    octets = done.stdout
    assert read(put(octets)) == plainly(LONG)


mutations = st.lists(
    st.tuples(st.integers(0, 2**16), st.one_of(st.binary(max_size=9), st.integers(0, 40))),
    max_size=6,
)


def mutate(octets: bytes, changes: list[tuple[int, bytes | int]], keep: int = 0) -> bytes:
    """Overwrite with bytes, or take a number of them out, at places beyond `keep`."""
    for where, change in changes:
        at = keep + where % max(len(octets) - keep, 1)
        if isinstance(change, bytes):
            octets = octets[:at] + change + octets[at + len(change) :]
        else:
            octets = octets[:at] + octets[at + change :]
    return octets


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from("<>"),
    st.sampled_from(sorted(KINDS)),
    st.integers(2, 4),
    mutations,
    st.integers(1, 9),
)
def test_mutated_pcap_is_read_as_the_simplest_reader_does(
    order: str, kind: str, minor: int, changes: list[tuple[int, bytes | int]], chunk: int
) -> None:
    octets = mutate(pcap(order, kind, FRAMES, minor), changes, keep=24)
    assert read(put(octets), chunk) == plainly(octets)
    assert read(put(gzip.compress(octets, 1)), chunk) == plainly(octets)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(sorted(COMPRESSED)), mutations, st.integers(1, 9))
def test_mutated_files_never_fail(
    form: str, changes: list[tuple[int, bytes | int]], chunk: int
) -> None:
    path = put(mutate(COMPRESSED[form], changes))
    try:
        rows, reasons = read(path, chunk)
    except CaptureError:
        return
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(reasons.values()) <= 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("minor", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_generated_pcap_is_read_as_tshark_does(
    order: str, kind: str, minor: int, tool: Tool
) -> None:
    path = put(pcap(order, kind, FRAMES[1:], minor))
    assert [row[:4] for row in read(path)[0]] == tshark(tool, path)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", CAPTURES + ORACLES, ids=lambda path: path.name)
def test_captures_of_others_are_read_as_tshark_does(path: Path, tool: Tool) -> None:
    with open_capture(path) as capture:
        mine = [
            row
            for f in capture.chunks(10_000)
            for row in zip(
                range(f.first, f.first + len(f)),
                f.time_ns.tolist(),
                f.captured.tolist(),
                f.length.tolist(),
                strict=True,
            )
        ]
    assert capture.reasons == {}
    if path.suffix == ".zst":
        unpacked = Path("unpacked.pcap")
        with path.open("rb") as packed, unpacked.open("wb") as file:
            zstandard.ZstdDecompressor().copy_stream(packed, file)
        path = unpacked
    assert mine == tshark(tool, path)


def tshark(tool: Tool, path: Path) -> list[tuple[int, int, int, int]]:
    """What tshark says of each frame: number, time_ns, captured, length."""
    fields = ("frame.number", "frame.time_epoch", "frame.cap_len", "frame.len")
    command = [tool("tshark"), "-n", "-r", str(path), "--disable-protocol", "eth", "-T", "fields"]
    command += [part for field in fields for part in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    return [
        (int(number), int(Decimal(time) * 10**9), int(captured), int(length))
        for number, time, captured, length in (line.split("\t") for line in lines)
    ]
