"""Published octets of capture files: headers of both formats, written out, with one packet."""

from pathlib import Path

import pytest

from collector.capture import open_capture

PACKET = bytes.fromhex("0200000000020200000000010800" + "45")
NANOSECONDS = "4d3cb2a1020004000000000000000000ffff000001000000"
INTERFACE = "0100000020000000010000000000000009000100090000000000000020000000"
SECTION = "0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000"
RECORD = "00f15365" + "15cd5b07" + "0f000000" + "dc050000"
ENHANCED = (
    "0600000030000000" + "00000000" + "fe9c9717" + "15cd853d" + "0f000000" + "dc050000"
    + PACKET.hex() + "00" + "30000000"
)  # fmt: skip
Frame = tuple[int, int, int, int, bytes]


def frames(path: Path, octets: str) -> list[Frame]:
    """(time, captured, length, link, octets) of every frame of a file of these octets."""
    path.write_bytes(bytes.fromhex(octets))
    with open_capture(path) as capture:
        found = [
            (
                int(each.time_ns[i]),
                int(each.captured[i]),
                int(each.length[i]),
                int(each.link[i]),
                each.data[each.offset[i] : each.offset[i] + each.captured[i]].tobytes(),
            )
            for each in capture.chunks(10)
            for i in range(len(each))
        ]
        assert capture.reasons == {}
    return found


def test_the_published_header_of_nanoseconds(tmp_path: Path) -> None:
    (frame,) = frames(tmp_path / "x.pcap", NANOSECONDS + RECORD + PACKET.hex())
    assert frame == (1_700_000_000_123_456_789, 15, 1500, 1, PACKET)


@pytest.mark.parametrize(
    ("magic", "unit_ns"),
    [("d4c3b2a1", 1000), ("4d3cb2a1", 1), ("a1b2c3d4", 1000), ("a1b23c4d", 1)],
)
def test_a_magic_number_tells_unit_and_byte_order(tmp_path: Path, magic: str, unit_ns: int) -> None:
    little = magic[0] != "a"
    numbers = ["0002", "0004", "00000000", "00000000", "0000ffff", "00000001",
               "6553f100", "0001e240", "0000000f", "000005dc"]  # fmt: skip
    rest = "".join(bytes.fromhex(each)[::-1].hex() if little else each for each in numbers)
    (frame,) = frames(tmp_path / "x.pcap", magic + rest + PACKET.hex())
    assert frame == (1_700_000_000 * 10**9 + 123_456 * unit_ns, 15, 1500, 1, PACKET)


def test_the_modified_format_has_longer_records(tmp_path: Path) -> None:
    head = "34cdb2a1020004000000000000000000ffff000001000000"
    record = "00f1536540e201000f000000dc050000" + "0200000000080400"
    (frame,) = frames(tmp_path / "x.pcap", head + record + PACKET.hex())
    assert frame == (1_700_000_000_123_456_000, 15, 1500, 1, PACKET)


def test_the_published_interface_counts_nanoseconds(tmp_path: Path) -> None:
    (frame,) = frames(tmp_path / "x.pcapng", SECTION + INTERFACE + ENHANCED)
    assert frame == (1_700_000_000_123_456_789, 15, 1500, 1, PACKET)


def test_an_interface_without_a_resolution_counts_microseconds(tmp_path: Path) -> None:
    plain = "01000000140000000100000000000000" + "14000000"
    enhanced = ENHANCED.replace("fe9c971715cd853d", "240a0600" + "40222018")
    (frame,) = frames(tmp_path / "x.pcapng", SECTION + plain + enhanced)
    assert frame[0] == 1_700_000_000_123_456_000
