"""Checksums: right ones, every single wrong bit, and what cannot be looked at."""

import zlib

import numpy as np
import pytest

from collector import CollectorSettings, Decoder
from collector.frame import Frames
from collector.integrity import INVALID, UNCHECKED, VALID, checked

MACS = bytes(12)
KNOWN = bytes.fromhex("45000073000040004011b861c0a80001c0a800c7")
"""A header whose checksum, b861, is the example that textbooks work out by hand."""


def complement(octets: bytes) -> bytes:
    """The checksum that makes 16-bit words sum up to all ones, by Python's own integers."""
    octets += bytes(len(octets) % 2)
    total = sum(int.from_bytes(octets[at : at + 2], "big") for at in range(0, len(octets), 2))
    return (0xFFFF - total % 0xFFFF).to_bytes(2, "big")


def packet(protocol: int, payload: bytes, version: int = 4) -> bytes:
    """TCP or UDP with right checksums."""
    ends = bytes(range(1, 9 if version == 4 else 33))
    if protocol == 6:
        segment = bytes.fromhex("1f40138800000001000000025018ffff") + b"\0\0" + b"\0\0" + payload
    else:
        segment = (
            bytes.fromhex("1f401388") + (8 + len(payload)).to_bytes(2, "big") + b"\0\0" + payload
        )
    place = 16 if protocol == 6 else 6
    words = ends + bytes([0, protocol]) + len(segment).to_bytes(2, "big") + segment
    segment = segment[:place] + complement(words) + segment[place + 2 :]
    size = len(segment).to_bytes(2, "big")
    if version == 6:
        return bytes.fromhex("86dd60000000") + size + bytes([protocol, 64]) + ends + segment
    head = b"\x45\0" + (20 + len(segment)).to_bytes(2, "big") + bytes([0, 1, 64, 0, 64, protocol])
    return b"\x08\0" + head + complement(head + ends) + ends + segment


def frames(*octets: bytes, cut: int = 0) -> Frames:
    data = np.frombuffer(b"".join(octets), np.uint8)
    length = np.array([len(each) for each in octets], np.int32)
    offset = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    zeros = np.zeros(len(octets), np.uint16)
    return Frames(data, offset, length - cut, length, offset, zeros + 1, zeros, 1)


def told(*octets: bytes, cut: int = 0) -> list[int]:
    return [int(each) for each in checked(frames(*octets, cut=cut), CollectorSettings())]


RIGHT = {
    (protocol, version, size): MACS + packet(protocol, bytes(range(size)), version)
    for protocol in (6, 17)
    for version in (4, 6)
    for size in (0, 1, 101)
}


def test_the_textbooks_header_is_right_and_its_segment_unchecked() -> None:
    assert complement(KNOWN[:10] + KNOWN[12:]) == bytes.fromhex("b861")
    frame = MACS + b"\x08\0" + KNOWN + bytes(0x73 - 20)
    assert told(frame, frame[:24] + b"\xb8\x62" + frame[26:]) == [UNCHECKED, INVALID]


@pytest.mark.parametrize("key", RIGHT, ids=str)
def test_what_is_right_and_every_bit_that_is_not(key: tuple[int, int, int]) -> None:
    frame = RIGHT[key]
    assert told(frame) == [VALID]
    assert told(frame + bytes(9)) == [VALID]
    transport = 14 + (20 if key[1] == 4 else 40)
    wrong = [
        frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :]
        for at in range(transport, len(frame))
        for bit in (0, 7)
        if not (key[0] == 17 and at in (transport + 4, transport + 5))
    ]
    assert set(told(*wrong)) == {INVALID}


def test_tags_before_the_header_are_stepped_over() -> None:
    plain = RIGHT[6, 4, 101]
    vlan = plain[:12] + bytes.fromhex("81000005") + plain[12:]
    assert told(vlan) == [VALID]


def test_what_cannot_be_looked_at_is_unchecked() -> None:
    udp = RIGHT[17, 6, 101]
    without = udp[:60] + bytes(2) + udp[62:]
    other = MACS + b"\x08\x06" + bytes(60)
    assert told(without, other, b"short") == [UNCHECKED] * 3
    assert told(RIGHT[6, 4, 101], cut=1) == [UNCHECKED]


def test_fragments_and_other_protocols_are_unchecked() -> None:
    frame = RIGHT[6, 4, 101]
    flags = bytes.fromhex("2000")
    head = frame[14:20] + flags + frame[22:24]
    fragment = frame[:14] + head + complement(head + frame[26:34]) + frame[26:]
    gre = frame[14:22] + frame[22:23] + bytes([47])
    other = frame[:14] + gre + complement(gre + frame[26:34]) + frame[26:]
    assert told(frame, fragment, other) == [VALID, UNCHECKED, UNCHECKED]


@pytest.mark.parametrize("outer", [True, False], ids=["outer checksum", "none"])
def test_an_overlay_around_a_flow_says_nothing_of_it(outer: bool) -> None:
    """The wrong segment inside is not called right because the packet around it is."""
    inner = bytearray(RIGHT[6, 4, 101])
    inner[-1] ^= 1
    around = bytearray(MACS + packet(17, bytes.fromhex("0800000000000500") + inner))
    around[36:38] = (4789).to_bytes(2, "big")
    around[40:42] = bytes(2)
    if outer:
        segment = bytes(around[34:])
        words = bytes(around[26:34]) + b"\0\x11" + len(segment).to_bytes(2, "big") + segment
        around[40:42] = complement(words)
    run = frames(bytes(around))
    assert told(bytes(around)) == [VALID if outer else UNCHECKED]
    settings = CollectorSettings(verify_checksums=True)
    made = Decoder(settings).decode_plainly(run, ["a"], "s")
    assert made["sport"].to_list() == [8000]
    assert "integrity" not in made.columns


def test_an_observation_says_it_only_when_it_is_asked_for() -> None:
    right, wrong = RIGHT[6, 4, 101], bytearray(RIGHT[6, 4, 101])
    wrong[-1] ^= 1
    run = frames(right, bytes(wrong))
    asked = Decoder(CollectorSettings(verify_checksums=True)).decode_plainly(run, ["a"], "s")
    assert asked["integrity"].to_list() == [1, 2]
    silent = Decoder(CollectorSettings()).decode_plainly(run, ["a"], "s")
    assert silent.equals(asked.drop("integrity"))


def roce(version: int, body: bytes) -> bytes:
    """RoCEv2 with its ICRC by the standard library: what routers change is taken as ones."""
    ends = bytes(range(1, 9 if version == 4 else 33))
    size = 8 + len(body) + 4
    udp = bytes.fromhex("c00012b7") + size.to_bytes(2, "big")
    if version == 6:
        head = bytes.fromhex("6b012345") + size.to_bytes(2, "big") + bytes([17, 63]) + ends
        ones = b"\x6f\xff\xff\xff" + head[4:7] + b"\xff" + ends
    else:
        front = b"\x45\x02" + (20 + size).to_bytes(2, "big") + bytes([0, 1, 64, 0, 63, 17])
        head = front + complement(front + ends) + ends
        ones = b"\x45\xff" + front[2:8] + b"\xff\x11\xff\xff" + ends
    masked = b"\xff" * 8 + ones + udp + b"\xff\xff" + body[:4] + b"\xff" + body[5:]
    icrc = zlib.crc32(masked).to_bytes(4, "little")
    kind = b"\x86\xdd" if version == 6 else b"\x08\0"
    return MACS + kind + head + udp + b"\0\0" + body + icrc


BTH = bytes.fromhex("0a00ffff4000000200000000")


@pytest.mark.parametrize("version", [4, 6])
def test_an_icrc_is_looked_at_and_every_octet_counts_that_no_router_changes(version: int) -> None:
    frame = roce(version, BTH + bytes(range(40)))
    assert told(frame) == [VALID]
    ip = 14
    changed = {ip + at for at in ((1, 8, 10, 11) if version == 4 else (1, 2, 3, 7))}
    udp = ip + (20 if version == 4 else 40)
    changed |= {udp + 6, udp + 7, udp + 12}
    for at in range(udp, len(frame)):
        other = frame[:at] + bytes([frame[at] ^ 0x10]) + frame[at + 1 :]
        if at in {udp + 2, udp + 3}:  # another port: no RoCE, and a UDP checksum of 0
            continue
        if at in {udp + 6, udp + 7}:  # a UDP checksum, which is wrong
            assert told(other) == [INVALID]
        else:
            assert told(other) == [VALID if at in changed else INVALID], at
    if version == 6:
        for at in (1, 2, 3, 7):
            assert told(frame[: ip + at] + b"\x5a" + frame[ip + at + 1 :]) == [VALID]


def test_options_in_front_of_a_segment_are_passed_over() -> None:
    plain = packet(6, bytes(range(30)), 6)
    for options in (bytes([6, 0, 1, 4, 0, 0, 0, 0]), bytes([6, 1]) + bytes(14)):
        size = (int.from_bytes(plain[6:8], "big") + len(options)).to_bytes(2, "big")
        for kind in (0, 60):
            with_options = plain[:6] + size + bytes([kind]) + plain[9:42] + options + plain[42:]
            assert told(MACS + with_options) == [VALID]
            assert told(MACS + with_options[:-1] + b"x") == [INVALID]
