"""Every form of pcapng is read as it is written; what is written is read back, and by tshark."""

import gzip
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector import compression, window
from collector.capture import Capture, open_capture
from collector.frame import Frames
from collector.pcapng import write_pcapng
from collector.resolution import LATEST_NS
from collector.window import CaptureError

Tool = Callable[..., str]

Row = tuple[int, int, int, int, int, str, bytes]
"""number, time_ns, captured, length, link, point, bytes"""


@dataclass(frozen=True)
class Section:
    """Writes the blocks of one section by the letter of the format."""

    order: str

    def block(self, kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(self.order + "I", len(body) + 12)
        return struct.pack(self.order + "I", kind) + size + body + size

    def head(self, options: bytes = b"") -> bytes:
        fields = struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
        return self.block(0x0A0D0D0A, fields + options)

    def option(self, code: int, value: bytes) -> bytes:
        padding = bytes(-len(value) % 4)
        return struct.pack(self.order + "HH", code, len(value)) + value + padding

    def interface(
        self,
        name: str = "",
        code: int | None = None,
        offset_s: int | None = None,
        link: int = 1,
        snaplen: int = 0,
    ) -> bytes:
        options = self.option(2, name.encode()) if name else b""
        options += self.option(9, bytes([code])) if code is not None else b""
        if offset_s is not None:
            options += self.option(14, struct.pack(self.order + "q", offset_s))
        options += self.option(0, b"") if options else b""
        return self.block(1, struct.pack(self.order + "HHI", link, 0, snaplen) + options)

    def packet(self, interface: int, ticks: int, data: bytes, length: int | None = None) -> bytes:
        sizes = (len(data), len(data) if length is None else length)
        time = (ticks >> 32, ticks & 0xFFFFFFFF)
        data += bytes(-len(data) % 4) + self.option(2, b"\0\0\0\1") + self.option(0, b"")
        return self.block(6, struct.pack(self.order + "5I", interface, *time, *sizes) + data)

    def old(self, interface: int, ticks: int, data: bytes) -> bytes:
        fields = (interface, 3, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data) + 4)
        return self.block(2, struct.pack(self.order + "HH4I", *fields) + data)

    def simple(self, length: int, data: bytes) -> bytes:
        return self.block(3, struct.pack(self.order + "I", length) + data)


NAMES = ["leaf1:Ethernet4", "leaf1:Ethernet8"]
ORDER = 0x1A2B3C4D
SECTION = 0x0A0D0D0A
MICROS = 1_700_000_000_123_456
NANOS = 1_700_000_000_123_456_789


def section(order: str) -> bytes:
    """One section with packets of every kind, among blocks that are none."""
    s = Section(order)
    return b"".join((
        s.head(s.option(1, b"a comment") + s.option(0, b"")),
        s.interface(NAMES[0], 9),
        s.packet(0, NANOS, b"first", 1500),
        s.interface(NAMES[1], link=113, snaplen=262144),
        s.block(4, bytes(8)),  # name resolution
        s.packet(1, MICROS, b"second frame"),
        s.packet(0, NANOS + 1, b""),
        s.block(10, struct.pack(order + "II", 0x544C534B, 4) + b"keys"),  # decryption secrets
        s.old(1, MICROS + 1, b"third"),
        s.block(5, struct.pack(order + "III", 0, 0, 0)),  # interface statistics
        s.block(0x7777, b"unknown"),
        s.interface("", 0x80 | 20, 1_600_000_000),
        s.packet(2, (5 << 20) + 3, b"fourth" * 50, 9000),
        s.packet(0, NANOS - 5, b"fifth"),
    ))  # fmt: skip


SECTIONS = {
    "little": section("<"),
    "big": section(">"),
    "both": section("<") + section(">") + section("<"),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(octets: bytes) -> Path:
    path = Path("x")
    path.write_bytes(octets)
    return path


def rows_of(capture: Capture, frames_per_chunk: int = 65536) -> Iterator[Row]:
    for f in capture.chunks(frames_per_chunk):
        assert 1 <= len(f) <= frames_per_chunk
        for i in range(len(f)):
            begin, captured = int(f.offset[i]), int(f.captured[i])
            assert 0 <= begin <= begin + captured <= len(f.data)
            point = capture.points[f.interface[i]]
            data = f.data[begin : begin + captured].tobytes()
            facts = (int(f.time_ns[i]), captured, int(f.length[i]), int(f.link[i]))
            yield (f.first + i, *facts, point, data)


def read(path: Path, frames_per_chunk: int = 65536) -> tuple[list[Row], dict[str, int]]:
    with open_capture(path) as capture:
        rows = list(rows_of(capture, frames_per_chunk))
        assert capture.delivered == len(rows)
        assert capture.seen == len(rows) + sum(capture.reasons.values())
        assert len(set(capture.points)) == len(capture.points)
        return rows, capture.reasons


def exactly(ticks: int, code: int, offset_s: int) -> int:
    """Nanoseconds of a timestamp, by rational arithmetic."""
    unit = Fraction(1, (2 if code & 0x80 else 10) ** (code & 0x7F))
    whole = int(ticks * unit * 10**9) + offset_s * 10**9
    return max(-LATEST_NS, min(LATEST_NS, whole))


def plainly(octets: bytes) -> tuple[list[Row], dict[str, int]]:
    """Read a pcapng file block by block, the simplest way."""
    rows: list[Row] = []
    reasons: dict[str, int] = {}
    interfaces: list[tuple[str, int, int, int, int]] = []
    order, at, number = "<", 0, 1
    try:
        while at < len(octets):
            order, kind, body = plain_block(octets[at:], order)
            if kind == SECTION:
                interfaces = []
            elif kind == 1:
                interfaces.append(plain_interface(order, body))
            elif kind in {9, 0xBAD, 0x40000BAD}:
                number += 1
            elif kind in {2, 3, 6}:
                if row := plain_packet(order, kind, body, interfaces):
                    rows.append((number, *row))
                    number += 1
                else:
                    reasons["file_unknown_interface"] = reasons.get("file_unknown_interface", 0) + 1
            at += len(body) + 12
    except EOFError:
        reasons["file_truncated"] = 1
    except (ValueError, struct.error):
        reasons["file_corrupt"] = 1
    return rows, reasons


def plain_block(octets: bytes, order: str) -> tuple[str, int, bytes]:
    """Read byte order, type and body of a block; raises EOFError or ValueError."""
    if len(octets) < 12:
        raise EOFError
    if octets[:4] == b"\n\r\r\n":
        order = {struct.pack(o + "I", ORDER): o for o in "<>"}.get(octets[8:12], "damaged")
    kind, total = struct.unpack(order + "II", octets[:8])
    if total < (28 if kind == SECTION else 12) or total % 4 or total > 256 << 20:
        raise ValueError
    if len(octets) < total:
        raise EOFError
    version = struct.unpack(order + "H", octets[12:14])[0] if kind == SECTION else 1
    if version != 1 or octets[total - 4 : total] != octets[4:8]:
        raise ValueError
    return order, kind, octets[8 : total - 4]


def plain_interface(order: str, body: bytes) -> tuple[str, int, int, int, int]:
    """Read name, resolution, offset, link type and snap length."""
    link, snaplen = struct.unpack(order + "HxxI", body[:8])
    options, at = {2: b"", 9: b"\x06", 14: bytes(8)}, 8
    while at < len(body):
        code, size = struct.unpack(order + "HH", body[at : at + 4])
        if code == 0:
            break
        options[code] = body[at + 4 : at + 4 + size]
        if len(options[code]) < size:
            raise ValueError
        at += 4 + size + -size % 4
    name = options[2].rstrip(b"\0").decode(errors="replace") or "unknown"
    (code,), (offset_s,) = struct.unpack("B", options[9]), struct.unpack(order + "q", options[14])
    return name, code, offset_s, link, snaplen or 1 << 40


def plain_packet(
    order: str, kind: int, body: bytes, interfaces: list[tuple[str, int, int, int, int]]
) -> tuple[int, int, int, int, str, bytes] | None:
    """Read a packet block; None when its interface is unknown."""
    if kind == 3:
        which, ticks, data = 0, None, body[4:]
        (length,) = struct.unpack(order + "I", body[:4])
        captured = min(length, interfaces[0][4]) if interfaces else 0
    else:
        form = {6: "I", 2: "Hxx"}[kind] + "4I"
        which, high, low, captured, length = struct.unpack(order + form, body[:20])
        ticks, data = high << 32 | low, body[20:]
    if captured > len(data):
        raise ValueError
    if which >= len(interfaces):
        return None
    name, code, offset_s, link, _ = interfaces[which]
    time_ns = 0 if ticks is None else exactly(ticks, code, offset_s)
    return time_ns, captured, min(length, 2**31 - 1), link, name, data[:captured]


def test_a_section_by_hand() -> None:
    rows, reasons = read(put(SECTIONS["big"]))
    assert reasons == {}
    assert [row[:-1] for row in rows] == [
        (1, NANOS, 5, 1500, 1, NAMES[0]),
        (2, MICROS * 1000, 12, 12, 113, NAMES[1]),
        (3, NANOS + 1, 0, 0, 1, NAMES[0]),
        (4, MICROS * 1000 + 1000, 5, 9, 113, NAMES[1]),
        (5, 1_600_000_005_000_002_861, 300, 9000, 1, "unknown"),
        (6, NANOS - 5, 5, 5, 1, NAMES[0]),
    ]
    assert [row[-1][:6] for row in rows] == [
        b"first", b"second", b"", b"third", b"fourth", b"fifth",
    ]  # fmt: skip


@pytest.mark.parametrize("which", SECTIONS)
@pytest.mark.parametrize("chunk", [1, 2, 5, 65536])
def test_sections_of_either_order(which: str, chunk: int) -> None:
    assert read(put(SECTIONS[which]), chunk) == plainly(SECTIONS[which])


@pytest.mark.parametrize("window_bytes", [1, 100, 1000])
def test_the_window_changes_nothing(window_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "WINDOW_BYTES", window_bytes)
    monkeypatch.setattr(compression, "INFLATE_BYTES", 50)
    path = put(gzip.compress(SECTIONS["both"]))
    assert read(path) == plainly(SECTIONS["both"])


def test_simple_packets_have_no_time_and_the_snap_length_of_the_first_interface() -> None:
    s = Section("<")
    octets = s.head() + s.interface("a", snaplen=6) + s.interface("b")
    octets += s.simple(4, b"four") + s.simple(9000, b"sixsix") + s.simple(3, b"six")
    rows, reasons = read(put(octets))
    assert [row[1:] for row in rows] == [
        (0, 4, 4, 1, "a", b"four"),
        (0, 6, 9000, 1, "a", b"sixsix"),
        (0, 3, 3, 1, "a", b"six"),
    ]
    assert reasons == {}


@pytest.mark.parametrize("order", ["<", ">"])
def test_frames_of_no_interface_are_counted(order: str) -> None:
    s = Section(order)
    octets = s.head() + s.simple(4, b"none") + s.interface("a") + s.packet(1, 1, b"x")
    octets += s.packet(0, 1, b"y") + s.old(7, 1, b"z") + s.packet(0xFFFFFFFF, 1, b"")
    octets += s.head() + s.packet(0, 1, b"forgotten")
    rows, reasons = read(put(octets))
    assert [row[-1] for row in rows] == [b"y"]
    assert reasons == {"file_unknown_interface": 5}


@pytest.mark.parametrize("kind", [9, 0xBAD, 0x40000BAD])
def test_records_without_a_frame_take_a_number_as_in_wireshark(kind: int, tool: Tool) -> None:
    s = Section("<")
    journal = b"__REALTIME_TIMESTAMP=1\n"
    other = s.block(kind, journal if kind == 9 else struct.pack("<I", 32473) + b"some")
    octets = s.head() + s.interface("a") + other + s.packet(0, 1, b"x" * 14) + other + other
    octets += s.packet(0, 2, b"y" * 14) + s.packet(0, 3, b"z" * 14) + other
    rows, reasons = read(put(octets))
    assert reasons == {}
    assert [row[0] for row in rows] == [2, 5, 6]
    assert [(row[0], row[1]) for row in rows] == [
        row[:2] for row in tshark(tool, Path("x")) if row[2] == 14
    ]


def test_every_capture_takes_a_name_once() -> None:
    s = Section("<")
    octets = (s.head() + s.interface("a") + s.interface() + s.packet(1, 1, b"x")) * 2
    octets += s.head() + s.interface("b") + s.packet(0, 1, b"x")
    with open_capture(put(octets)) as capture:
        numbers = [n for frames in capture.chunks() for n in frames.interface.tolist()]
    assert capture.points == ["a", "unknown", "b"]
    assert numbers == [1, 1, 2]


def test_many_interfaces() -> None:
    s = Section("<")
    octets = s.head() + b"".join(
        s.interface(f"port{i}", 9) + s.packet(i, i, bytes(i % 7)) for i in range(1000)
    )
    rows, reasons = read(put(octets))
    assert [row[5] for row in rows] == [f"port{i}" for i in range(1000)]
    assert reasons == {}


CORRUPT = {
    "length_zero": bytes(12),
    "length_odd": struct.pack("<II", 5, 14) + bytes(20),
    "length_large": struct.pack("<II", 5, 0x20000000) + bytes(20),
    "lengths_differ": struct.pack("<III", 5, 12, 16),
    "captured_beyond_block": Section("<").block(6, struct.pack("<5I", 0, 0, 0, 5, 5) + b"four"),
    "captured_huge": Section("<").block(6, struct.pack("<5I", 0, 0, 0, 2**32 - 1, 5)),
    "packet_short": Section("<").block(6, bytes(16)),
    "old_packet_short": Section("<").block(2, bytes(16)),
    "simple_short": Section("<").block(3, b""),
    "simple_beyond_block": Section("<").block(3, struct.pack("<I", 5) + b"four"),
    "interface_short": Section("<").block(1, bytes(4)),
    "option_beyond_block": Section("<").block(1, bytes(8) + struct.pack("<HH", 2, 9) + b"four"),
    "option_cut": Section("<").block(1, bytes(8) + struct.pack("<HH", 9, 0) + bytes(4)),
    "section_order": Section("<").block(0x0A0D0D0A, bytes(16)),
    "section_short": Section("<").block(0x0A0D0D0A, struct.pack("<II", ORDER, 1)),
    "section_version": Section("<").block(0x0A0D0D0A, struct.pack("<IIq", ORDER, 2, -1)),
}


@pytest.mark.parametrize("kind", CORRUPT)
def test_what_cannot_be_a_block_ends_the_reading(kind: str) -> None:
    octets = SECTIONS["little"] + CORRUPT[kind] + SECTIONS["little"]
    assert read(put(octets)) == (plainly(SECTIONS["little"])[0], {"file_corrupt": 1})
    assert plainly(octets)[1] == {"file_corrupt": 1}


def test_a_file_cut_anywhere() -> None:
    octets = section(">")
    for size in range(12, len(octets)):
        assert read(put(octets[:size])) == plainly(octets[:size])


changes_of = st.lists(
    st.tuples(st.integers(0, 2**16), st.one_of(st.binary(max_size=9), st.integers(-40, 40))),
    max_size=5,
)


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(sorted(SECTIONS)), changes_of, st.integers(1, 9))
def test_mutated_pcapng_is_read_as_the_simplest_reader_does(
    which: str, changes: list[tuple[int, bytes | int]], chunk: int
) -> None:
    octets = SECTIONS[which]
    for where, change in changes:
        at = 12 + where % (len(octets) - 12)
        if isinstance(change, bytes):
            octets = octets[:at] + change + octets[at + len(change) :]
        else:  # octets at a word's border are doubled or taken out
            at -= at % 4
            octets = octets[: at + max(-change, 0)] + octets[at + max(change, 0) :]
        if len(octets) < 13:
            break
    assert read(put(octets), chunk) == plainly(octets)


def tshark(tool: Tool, path: Path) -> list[tuple[int, int, int, int, str]]:
    """What tshark says of each frame: number, time_ns, captured, length, point."""
    fields = ("number", "time_epoch", "cap_len", "len", "interface_name")
    command = [tool("tshark"), "-n", "-r", str(path), "--disable-protocol", "eth", "-T", "fields"]
    command += [part for field in fields for part in ("-e", f"frame.{field}")]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    return [
        (int(number), int(Decimal(time or 0) * 10**9), int(captured or 0), int(length or 0), point)
        for number, time, captured, length, point in (line.split("\t") for line in lines)
    ]


@pytest.mark.parametrize("which", SECTIONS)
def test_sections_are_read_as_tshark_does(which: str, tool: Tool) -> None:
    rows, _ = read(put(SECTIONS[which]))
    mine = [(*row[:4], row[5]) for row in rows if row[2]]
    assert mine == [row for row in tshark(tool, Path("x")) if row[2]]


def frames(count: int, points: int, longest: int = 300) -> Frames:
    """Frames with random bytes, sizes and points, one after the other in time."""
    draw = np.random.default_rng(count)
    captured = draw.integers(0, longest, count, dtype=np.int32)
    offset = np.cumsum(captured, dtype=np.int64) - captured
    data = draw.integers(0, 256, int(captured.sum()), dtype=np.uint8)
    data.flags.writeable = False
    return Frames(
        data=data,
        offset=offset,
        captured=captured,
        length=captured + draw.integers(0, 2, count, dtype=np.int32) * 1200,
        time_ns=NANOS + np.cumsum(draw.integers(0, 2**33, count)),
        link=np.ones(count, np.uint16),
        interface=draw.integers(0, points, count).astype(np.uint16),
        first=1,
    )


def frame_rows(run: Frames, points: list[str]) -> list[Row]:
    return [
        (
            i + 1,
            int(run.time_ns[i]),
            int(run.captured[i]),
            int(run.length[i]),
            1,
            points[run.interface[i]],
            run.data[run.offset[i] : run.offset[i] + run.captured[i]].tobytes(),
        )
        for i in range(len(run))
    ]


POINTS = ["leaf1:Ethernet4", "leaf2:Ethernet0", "leaf2:Ethernét8", "x"]


@pytest.mark.parametrize("cuts", [1, 3])
def test_what_is_written_is_read_back(cuts: int) -> None:
    run = frames(40_000, len(POINTS))
    at = [len(run) * i // cuts for i in range(cuts + 1)]
    parts = [
        replace(
            run,
            **{
                name: getattr(run, name)[begin:end]
                for name in ("offset", "captured", "length", "time_ns", "link", "interface")
            },
        )
        for begin, end in pairwise(at)
    ]
    write_pcapng("x", POINTS, iter(parts))
    assert read(Path("x")) == (frame_rows(run, POINTS), {})


def test_what_is_written_is_read_by_tshark(tool: Tool) -> None:
    run = frames(2000, 3)
    write_pcapng(Path("x"), POINTS[:3], [run])
    mine = [(*row[:4], row[5]) for row in frame_rows(run, POINTS)]
    assert tshark(tool, Path("x")) == mine


def test_nothing_is_a_file_without_frames() -> None:
    write_pcapng("x", [], [])
    assert read(Path("x")) == ([], {})


def test_what_cannot_be_written_is_refused() -> None:
    run = frames(3, 2)
    with pytest.raises(CaptureError, match=r"^missing/x: cannot be written \(No such file"):
        write_pcapng("missing/x", POINTS, [run])
    with pytest.raises(ValueError, match="not among 1"):
        write_pcapng("x", POINTS[:1], [replace(run, interface=np.ones(3, np.uint16))])
    with pytest.raises(ValueError, match="only Ethernet"):
        write_pcapng("x", POINTS, [replace(run, link=np.zeros(3, np.uint16))])
    with pytest.raises(ValueError, match="before 1970"):
        write_pcapng("x", POINTS, [replace(run, time_ns=np.full(3, -1))])
