"""Checksums of frames that are made: IPv4's, TCP's (RFC 9293 section 3.1) and the ICRC of RoCEv2.

Payloads are zeros and add nothing to sums. What a snap length cuts off is not there to be filled.
"""

import numpy as np
from numpy.typing import NDArray

from collector import TCP, crc_of_octets
from replay.content import Content
from replay.layout import ICRC, size

IPV4_CHECKSUM, TCP_CHECKSUM = 10, 16
"""Octet of the checksum in its header."""
UDP_OCTETS = 8
ONES = 0xFFFFFFFF
LINK = 8
"""Octets of ones that stand for the link header (InfiniBand Architecture Annex A17)."""
CHANGING = (1, 8, 10, 11)
"""Octets of IPv4 that routers change: TOS, TTL, checksum; so may the UDP checksum."""


def fill(frames: NDArray[np.uint8], places: dict[str, int], headers: int, content: Content) -> None:
    """Fill what the headers at these places leave open."""
    shape, layouts = content.shape, content.layouts
    begin = sum(map(size, layouts.report(shape))) if shape.report else 0
    for ip in (places[name] for name in ("outer_ipv4", "tunnel_ipv4", "ipv4") if name in places):
        put(frames, ip + IPV4_CHECKSUM, total(frames[:, ip : ip + 20]))
    if "tcp" in places:
        of_tcp(frames, places, headers, begin + content.inner)
    if "roce" in places and frames.shape[1] >= begin + content.inner:
        frames = frames[:, : begin + content.inner]
        icrc(frames, places["ipv4"], places["udp"], places["roce"])


def of_tcp(frames: NDArray[np.uint8], places: dict[str, int], headers: int, octets: int) -> None:
    """TCP's checksum; `octets` is where the packet ends. IFA's stack is none of TCP's."""
    tcp, end = places["tcp"], places.get("ifa_metadata", headers)
    end = headers if end < tcp else end
    octets -= headers - end
    if "ipv4" in places:
        addresses = frames[:, places["ipv4"] + 12 : places["ipv4"] + 20]
    else:
        addresses = frames[:, places["ipv6"] + 8 : places["ipv6"] + 40]
    pseudo = total(addresses) + np.uint64(TCP) + np.uint64(octets - tcp)
    put(frames, tcp + TCP_CHECKSUM, pseudo + total(frames[:, tcp:end]))


def total(octets: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Sum of each row's 16-bit words."""
    words = np.ascontiguousarray(octets).view(">u2")
    summed: NDArray[np.uint64] = words.sum(axis=1, dtype=np.uint64)
    return summed


def put(frames: NDArray[np.uint8], at: int, value: NDArray[np.uint64]) -> None:
    """Write the ones' complement of a sum."""
    for _ in range(2):
        value = (value & np.uint64(0xFFFF)) + (value >> np.uint64(16))
    frames[:, at : at + 2] = (
        (~value & np.uint64(0xFFFF)).astype(">u2").view(np.uint8).reshape(-1, 2)
    )


def icrc(frames: NDArray[np.uint8], ip: int, udp: int, bth: int) -> None:
    """Write the ICRC behind whole packets over IPv4; what routers change counts as ones."""
    end = frames.shape[1] - ICRC
    fixed = frames[:, ip:end].copy()
    udp, bth = udp - ip, bth - ip
    fixed[:, [*CHANGING, udp + 6, udp + 7, udp + UDP_OCTETS + 4]] = 255
    table = crc_of_octets()
    crc = np.full(len(frames), ONES, np.uint32)
    ones = np.full((LINK, len(frames)), 255, np.uint8)
    for octets in (*ones, *fixed.T):
        crc = table[(crc ^ octets) & np.uint32(255)] ^ (crc >> np.uint32(8))
    frames[:, end:] = (~crc).astype("<u4").view(np.uint8).reshape(-1, ICRC)
