"""Checksums of whole frames: IPv4's header, TCP or UDP behind it, RoCEv2's ICRC, on Ethernet.

A pass of its own behind the walk, so that whoever does not ask for it pays nothing. Read are
Ethernet, VLAN and CSIG tags, IPv4 without fragments or IPv6 with options in front, TCP, UDP, RoCEv2
(InfiniBand Architecture Annex A17); whatever else a frame is, fragments, a UDP checksum of 0 and
what the snap length has cut stay unchecked, though a wrong IPv4 header is invalid. Of a flow inside
an overlay or a mirror only the outer packet is summed: valid there says nothing of the flow.
Checksum complements (INT, Advanced ECN, IOAM) exist to keep the checksum of TCP or UDP right, so
that a wrong one shows there. A capture on the sending host sees frames before its card has filled
their checksums in: invalid there says nothing of the wire.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.frame import Frames
from collector.kernel import borrowing, inlined
from collector.layer import BIT
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
HOP_BY_HOP, DESTINATION = 0, 60
"""IPv6 headers of options; unlike routing headers they leave the ends of the checksum alone."""
ROCE = 4791
"""UDP destination port of RoCEv2."""
OF_BTH, OF_ICRC = 12, 4
CRC = 0xEDB88320
"""The generator of Ethernet's CRC, its bits mirrored."""
CRC_BEGUN = 0xDEBB20E3
"""Its state behind the eight octets of ones that stand for the link header (A17)."""
ALL_ONES = 0xFFFF
AROUND = sum(
    1 << BIT[name]
    for name in ("gre", "erspan", "vxlan", "vxlan_gpe", "geneve", "nsh", "sflow", "report")
)
"""Layers that carry another packet."""


def crc_of_octets() -> NDArray[np.uint32]:
    """The CRC of each octet."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(CRC), table >> 1).astype(np.uint32)
    return table


REMAINDERS = crc_of_octets()


def checked(frames: Frames, settings: CollectorSettings) -> NDArray[np.uint8]:
    """UNCHECKED, VALID or INVALID of each frame."""
    tags = [(tpid, 4) for tpid in (*VLAN, *settings.csig_compact_tpids)]
    tags += [(tpid, 8) for tpid in settings.csig_expanded_tpids]
    found = np.zeros(len(frames), np.uint8)
    verify(
        frames.data, frames.offset, frames.captured, frames.length, frames.link,
        np.array(tags, np.int64), REMAINDERS, found,
    )  # fmt: skip
    return found


def integrity(
    frames: Frames, row: NDArray[np.int32], layers: pl.Series, settings: CollectorSettings
) -> pl.Series:
    """The column of observations with these `layers`: 1 valid, 2 invalid, null unchecked."""
    found = checked(frames, settings)[row]
    inside = layers.to_numpy() & np.uint64(AROUND) != 0
    found[inside & (found == VALID)] = UNCHECKED
    told = pl.Series("integrity", found)
    return told.set(told == UNCHECKED, None)


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
    crcs: NDArray[np.uint32],
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
        found[frame] = of_ip(data, at, end, kind, crcs)


@inlined
def of_ip(data: NDArray[np.uint8], at: int, end: int, kind: int, crcs: NDArray[np.uint32]) -> int:
    """What the checksums of an IP packet say."""
    found = UNCHECKED
    if kind == IPV4 and at + OF_IPV4 <= end:
        header = int(data[at] & 15) * 4
        whole = int(data[at + 2]) * 256 + int(data[at + 3])
        if data[at] >> 4 == VERSION_4 and OF_IPV4 <= header <= whole and at + whole <= end:
            part = (int(data[at + 6]) * 256 + int(data[at + 7])) & FRAGMENT
            if not right(summed(data, at, at + header)):
                found = INVALID
            elif part == 0:
                rest = at + header, at + whole
                protocol = int(data[at + 9])
                found = of_transport(data, (at + 12, 8), rest, protocol)
                if header == OF_IPV4:
                    found = worse(found, of_roce(data, at, rest, protocol, crcs))
    elif kind == IPV6 and at + OF_IPV6 <= end:
        whole = OF_IPV6 + int(data[at + 4]) * 256 + int(data[at + 5])
        if at + whole <= end:
            protocol, place = int(data[at + 6]), at + OF_IPV6
            while protocol in (HOP_BY_HOP, DESTINATION) and place + 8 <= at + whole:
                protocol, place = int(data[place]), place + 8 + 8 * int(data[place + 1])
            rest = place, at + whole
            found = of_transport(data, (at + 8, 32), rest, protocol)
            if place == at + OF_IPV6:
                found = worse(found, of_roce(data, at, rest, protocol, crcs))
    return found


@inlined
def worse(one: int, other: int) -> int:
    """Of two findings the one that counts: invalid before valid before unchecked."""
    return max(one, other)


@inlined
def of_transport(
    data: NDArray[np.uint8],
    ends: tuple[int, int],
    rest: tuple[int, int],
    protocol: int,
) -> int:
    """What a TCP or UDP checksum says; UNCHECKED where there is none.

    `ends` are where both addresses begin and their octets, `rest` where the segment stands.
    """
    at, end = rest
    size = end - at
    looked = protocol == TCP and size >= OF_TCP
    if protocol == UDP and size >= OF_UDP:
        looked = data[at + 6] != 0 or data[at + 7] != 0
    if not looked:
        return UNCHECKED
    total = summed(data, ends[0], ends[0] + ends[1]) + protocol + size + summed(data, at, end)
    return VALID if right(total) else INVALID


@inlined
def of_roce(
    data: NDArray[np.uint8],
    ip: int,
    rest: tuple[int, int],
    protocol: int,
    crcs: NDArray[np.uint32],
) -> int:
    """What the ICRC of a RoCEv2 packet says, behind an IP header at `ip` without options."""
    at, end = rest
    if protocol != UDP or end - at < OF_UDP + OF_BTH + OF_ICRC:
        return UNCHECKED
    if int(data[at + 2]) * 256 + int(data[at + 3]) != ROCE:
        return UNCHECKED
    six = at - ip == OF_IPV6
    crc = np.uint32(CRC_BEGUN)
    for place in range(ip, end - OF_ICRC):
        octet = int(data[place])
        own = place - ip
        if place < at:
            if six and own == 0:
                octet |= 15
            elif own in ((1, 2, 3, 7) if six else (1, 8, 10, 11)):
                octet = 255
        elif place - at in (6, 7, OF_UDP + 4):
            octet = 255
        crc = crcs[(int(crc) ^ octet) & 255] ^ (crc >> np.uint32(8))
    told = 0
    for place in range(OF_ICRC):
        told |= int(data[end - OF_ICRC + place]) << (8 * place)
    return VALID if int(crc) ^ 0xFFFFFFFF == told else INVALID
