"""Checksums of whole frames: IPv4's header and TCP or UDP behind it, on plain Ethernet.

A pass of its own behind the walk, so that whoever does not ask for it pays nothing. Read are
Ethernet, VLAN and CSIG tags, IPv4 without fragments or IPv6 without extension headers, TCP, UDP;
whatever else a frame is, what the snap length has cut and a UDP checksum of 0 stay unchecked.
A capture on the sending host sees frames before its card has filled their checksums in: invalid
there says nothing of the wire.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.frame import Frames
from collector.kernel import borrowing, inlined
from collector.settings import CollectorSettings

UNCHECKED, VALID, INVALID = 0, 1, 2
ETHERNET = 1
"""LINKTYPE_ of Ethernet."""
IPV4, IPV6, TCP, UDP = 0x0800, 0x86DD, 6, 17
LEAST = {IPV4: 20, IPV6: 40, TCP: 20, UDP: 8}
"""Octets of a header without options."""
OF_IPV4, OF_IPV6, OF_TCP, OF_UDP = LEAST[IPV4], LEAST[IPV6], LEAST[TCP], LEAST[UDP]
TYPE = 12
"""Where an Ethernet header has its type."""
VLAN = (0x8100, 0x88A8)
VERSION_4 = 4
FRAGMENT = 0x3FFF
"""More fragments, or an offset."""
MOST_TAGS = 8
ALL_ONES = 0xFFFF


def checked(frames: Frames, settings: CollectorSettings) -> NDArray[np.uint8]:
    """UNCHECKED, VALID or INVALID of each frame."""
    tags = [(tpid, 4) for tpid in (*VLAN, *settings.csig_compact_tpids)]
    tags += [(tpid, 8) for tpid in settings.csig_expanded_tpids]
    found = np.zeros(len(frames), np.uint8)
    verify(
        frames.data, frames.offset, frames.captured, frames.length, frames.link,
        np.array(tags, np.int64), found,
    )  # fmt: skip
    return found


def integrity(frames: Frames, row: NDArray[np.int32], settings: CollectorSettings) -> pl.Series:
    """The column of an observation: 1 valid, 2 invalid, null unchecked."""
    found = pl.Series("integrity", checked(frames, settings)[row])
    return found.set(found == UNCHECKED, None)


@inlined
def summed(data: NDArray[np.uint8], at: int, end: int) -> int:
    """Sum of 16-bit words, an odd octet padded (RFC 1071)."""
    total = 0
    for place in range(at, end - 1, 2):
        total += int(data[place]) * 256 + int(data[place + 1])
    if (end - at) % 2:
        total += int(data[end - 1]) * 256
    return total


@inlined
def right(total: int) -> bool:
    """Whether a sum that holds its own checksum comes out as all ones."""
    while total >= 1 << 16:
        total = (total & ALL_ONES) + (total >> 16)
    return total == ALL_ONES


@borrowing
def verify(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    link: NDArray[np.uint16],
    tags: NDArray[np.int64],
    found: NDArray[np.uint8],
) -> None:
    """Write what each frame's checksums say."""
    for frame in range(offset.size):
        first, end = offset[frame], offset[frame] + captured[frame]
        if link[frame] != ETHERNET or captured[frame] < length[frame]:
            continue
        if captured[frame] < TYPE + 2 + OF_IPV4:
            continue
        at = first + TYPE
        kind = int(data[at]) * 256 + int(data[at + 1])
        for _ in range(MOST_TAGS):
            octets = 0
            for tag in range(tags.shape[0]):
                if tags[tag, 0] == kind:
                    octets = tags[tag, 1]
            if octets == 0 or at + octets + 2 > end:
                break
            at += octets
            kind = int(data[at]) * 256 + int(data[at + 1])
        at += 2
        found[frame] = of_ip(data, at, end, kind)


@inlined
def of_ip(data: NDArray[np.uint8], at: int, end: int, kind: int) -> int:
    """What the checksums of an IP packet say."""
    found = UNCHECKED
    if kind == IPV4 and at + OF_IPV4 <= end:
        header = int(data[at] & 15) * 4
        whole = int(data[at + 2]) * 256 + int(data[at + 3])
        if data[at] >> 4 == VERSION_4 and OF_IPV4 <= header <= whole and at + whole <= end:
            part = (int(data[at + 6]) * 256 + int(data[at + 7])) & FRAGMENT
            found = VALID if right(summed(data, at, at + header)) else INVALID
            if found == VALID and part == 0:
                rest = at + header, at + whole
                found = of_transport(data, (at + 12, 8), rest, int(data[at + 9]), VALID)
    elif kind == IPV6 and at + OF_IPV6 <= end:
        whole = OF_IPV6 + int(data[at + 4]) * 256 + int(data[at + 5])
        if at + whole <= end:
            rest = at + OF_IPV6, at + whole
            found = of_transport(data, (at + 8, 32), rest, int(data[at + 6]), UNCHECKED)
    return found


@inlined
def of_transport(
    data: NDArray[np.uint8],
    ends: tuple[int, int],
    rest: tuple[int, int],
    protocol: int,
    otherwise: int,
) -> int:
    """What a TCP or UDP checksum says; of other protocols what the header above said.

    `ends` are where both addresses begin and their octets, `rest` where the segment stands.
    """
    at, end = rest
    size = end - at
    looked = protocol == TCP and size >= OF_TCP
    if protocol == UDP and size >= OF_UDP:
        looked = data[at + 6] != 0 or data[at + 7] != 0
    if not looked:
        return otherwise
    total = summed(data, ends[0], ends[0] + ends[1]) + protocol + size + summed(data, at, end)
    return VALID if right(total) else INVALID
