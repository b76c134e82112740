"""Captures that the benchmarks decode, made by matrices of octets, a row a frame."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE_HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
RECORD_HEAD = 16
BEGIN_S = 1_770_000_000
STEP_NS = 120
AT_ONCE = 100_000
FLOWS = 256
CAPTURED, WIRE = 96, 1090
HOPS = 5
PORT, SEGMENT, ACK_BYTES, MARKED = 5001, 1024, 52, 16
INT_DSCP = 0x17
INT_SETTINGS: dict[str, Any] = {"int_dscp": INT_DSCP}
"""Settings under which the INT of `vxlan_int` is found."""

MACS = bytes.fromhex("020000000002 020000000001")
IPV4 = bytes.fromhex("4500 0434 0000 4000 4006 0000 0a000001 0a010001")
TCP = bytes.fromhex("9c40 1389 00000000 00000000 8010 01f5 0000 0000 0101 080a 00000000 00000000")
CSIG = bytes.fromhex("9900 0000")
IP_TYPE = bytes.fromhex("0800")
VXLAN = bytes.fromhex("c001 12b5 0000 0000 0800 0000 000a 0100")
SHIM = bytes.fromhex("102b 0000")
"""INT-MD behind TCP, NPT 0; 43 words follow it."""
MD = bytes.fromhex("2000 0803 d400 0000 c000 0000")
"""Eight words a hop: node, ports, queue, egress timestamp; the domain's sent bytes and capacity."""
HOP = bytes.fromhex("00000001 00010002 00000400 0000000000000000 0000000000000000 000186a0")


def csig(path: Path, frames: int, *, tagged: bool = True) -> None:
    """TCP in IPv4, of 256 flows, behind a CSIG tag or without it; 96 octets captured of each."""
    ethernet = MACS + (CSIG if tagged else b"") + IP_TYPE
    at = len(ethernet)
    one = (ethernet + IPV4 + TCP).ljust(CAPTURED, b"\0")

    def varied(rows: NDArray[np.uint8], number: NDArray[np.int64]) -> None:
        flowing(rows, at, number)
        if tagged:
            put(rows, 14, 2, (number % 3 << 13) | (number * 7 % 32 << 7) | number % 100)

    write(path, one, WIRE + at, frames, varied)


def conversations(path: Path, frames: int) -> None:
    """TCP of 256 flows, each segment followed by its acknowledgment, as DCTCP's ends send them."""
    ethernet = MACS + IP_TYPE
    at = len(ethernet)
    one = (ethernet + IPV4 + TCP).ljust(CAPTURED, b"\0")
    back = np.frombuffer(IPV4[16:20] + IPV4[12:16], np.uint8)

    def varied(rows: NDArray[np.uint8], number: NDArray[np.int64]) -> None:
        pair, answers = number // 2, number % 2 == 1
        flow, segment = pair % FLOWS, pair // FLOWS
        marked = (segment * 7 + flow) % MARKED == 0
        rows[:, at + 1] |= np.where(answers, 0, np.where(marked, 3, 2)).astype(np.uint8)
        rows[answers, at + 12 : at + 20] = back
        put(rows, at + 2, 2, np.where(answers, ACK_BYTES, SEGMENT + ACK_BYTES))
        put(rows, at + 4, 2, pair)
        put(rows, at + 20, 2, np.where(answers, PORT, 40_000 + flow))
        put(rows, at + 22, 2, np.where(answers, 40_000 + flow, PORT))
        put(rows, at + 24, 4, np.where(answers, 1, 1 + segment * SEGMENT))
        put(rows, at + 28, 4, np.where(answers, 1 + (segment + 1) * SEGMENT, 1))
        put(rows, at + 33, 1, np.where(answers & marked, 0x50, 0x10))

    write(path, one, WIRE + at, frames, varied)


def vxlan_int(path: Path, frames: int) -> None:
    """INT-MD of five hops behind TCP in IPv4 inside VXLAN."""
    inner = bytearray(IPV4)
    inner[1] = INT_DSCP << 2
    outer = MACS + IP_TYPE + IPV4.replace(b"\x40\x06", b"\x40\x11", 1)
    ethernet = outer + VXLAN + MACS + IP_TYPE
    at, tcp = len(ethernet), TCP[:12] + b"\x50" + TCP[13:20]
    one = ethernet + bytes(inner) + tcp + SHIM + MD + HOP * HOPS
    stack = len(one) - len(HOP) * HOPS

    def varied(rows: NDArray[np.uint8], number: NDArray[np.int64]) -> None:
        flowing(rows, at, number)
        for hop in range(HOPS):
            start = stack + hop * len(HOP)
            put(rows, start, 4, number % 8 + 10 * hop)
            put(rows, start + 9, 3, number * 13 % 100_000)
            put(rows, start + 12, 8, number * STEP_NS)
            put(rows, start + 20, 8, number * 1000)

    write(path, one, WIRE + stack, frames, varied)


def flowing(rows: NDArray[np.uint8], ip: int, number: NDArray[np.int64]) -> None:
    """What changes from segment to segment: flow, id, ECN, numbers, timestamp."""
    flow = number % FLOWS
    rows[:, ip + 1] |= np.where(number % 16 == 0, 3, 2).astype(np.uint8)
    put(rows, ip + 4, 2, number)
    put(rows, ip + 14, 2, flow)
    put(rows, ip + 20, 2, 40_000 + flow)
    put(rows, ip + 24, 4, number // FLOWS * 1024)
    put(rows, ip + 28, 4, number // FLOWS)
    if rows.shape[1] == CAPTURED:
        put(rows, ip + 44, 4, number // 1000)


def put(rows: NDArray[np.uint8], at: int, octets: int, value: NDArray[np.int64]) -> None:
    """Write numbers into every row, most significant octet first."""
    for octet in range(octets):
        rows[:, at + octet] = (value >> (8 * (octets - 1 - octet)) & 0xFF).astype(np.uint8)


def write(path: Path, one: bytes, wire: int, frames: int, varied: Any) -> None:
    """A pcap file of so many copies of a frame, each varied by its number."""
    head = struct.pack("<IIII", 0, 0, len(one), wire)
    record = np.frombuffer(head + one, np.uint8)
    with path.open("wb") as file:
        file.write(FILE_HEAD)
        for first in range(0, frames, AT_ONCE):
            number = np.arange(first, min(first + AT_ONCE, frames), dtype=np.int64)
            rows = np.tile(record, (len(number), 1))
            varied(rows[:, RECORD_HEAD:], number)
            time_ns = number * STEP_NS
            times = np.stack([BEGIN_S + time_ns // 10**9, time_ns % 10**9], axis=1)
            rows[:, :8] = np.ascontiguousarray(times.astype("<u4")).view(np.uint8)
            file.write(rows.tobytes())
