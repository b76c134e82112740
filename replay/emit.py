"""Emission: what the taps at the hosts' ports saw of a run, as the frames of a capture.

Frames are made by layout, never one by one: a matrix a layout, packed by the collector's wire
tables. They are cut to a snap length with their true length kept; payloads are zeros. Checksums are
right.
"""

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings, Frames
from replay.content import FIRST, LAST, Content
from replay.fabric import Run
from replay.identity import identities
from replay.layout import Layouts, Shape, size
from replay.state import ACK, DATA, INT

SNAP = 256
ETHERNET = 1
TCP_PROTOCOL = 6
IPV4_CHECKSUM, TCP_CHECKSUM = 10, 16
"""Octet of the checksum in its header."""
ROWS = 32768
"""Frames packed at a time: what fits the processor's cache."""


def frames_of(run: Run, settings: CollectorSettings, snap: int = SNAP) -> Frames:
    """All sightings of a run in order of time; at equal times acknowledgments come before data.

    `Frames.interface` indexes into `wiring.points(run.world)`. ValueError when the settings leave
    int_dscp open.
    """
    if settings.int_dscp is None:
        raise ValueError("int_dscp must name a value: it announces INT over TCP")
    rows, edge = sightings(run)
    shape, shapes = shape_codes(run, rows, edge)
    layouts = Layouts(settings)
    octets = np.array([layouts.octets(each, run.world.payload_bytes) for each, _ in shapes])
    captured = np.minimum(octets, snap)[shape]
    by_shape = np.argsort(shape, kind="stable")
    offset = np.empty(len(rows), np.int64)
    offset[by_shape] = np.cumsum(captured[by_shape]) - captured[by_shape]
    data = np.empty(int(captured.sum()), np.uint8)
    names, heard = identities(run), heard_ns(run)
    start = 0
    for code, (each, side) in enumerate(shapes):
        chosen = rows[by_shape[start : start + int((shape == code).sum())]]
        start += len(chosen)
        for first in range(0, len(chosen), ROWS):
            part = chosen[first : first + ROWS]
            content = Content(run, names, settings, layouts, each, side, part, heard[part])
            at = int(offset[by_shape[start - len(chosen) + first]])
            width = min(int(octets[code]), snap)
            data[at : at + len(part) * width] = pack(content, width).ravel()
    time = np.where(edge == FIRST, run.packets["first_ns"][rows], run.packets["last_ns"][rows])
    order = np.lexsort((rows, run.packets["kind"][rows] == DATA, time))
    return Frames(
        data=data,
        offset=offset[order],
        captured=captured[order].astype(np.int32),
        length=octets[shape][order].astype(np.int32),
        time_ns=(run.world.start_ns + time)[order],
        link=np.full(len(rows), ETHERNET, np.uint16),
        interface=tap(run, rows, edge)[order].astype(np.uint16),
        first=1,
    )


def sightings(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Packets (rows) and the edges at which they were seen within the run's time."""
    until = run.world.duration_ns
    sent = np.flatnonzero((run.packets["first_ns"] >= 0) & (run.packets["first_ns"] < until))
    received = np.flatnonzero(run.packets["last_ns"] > 0)
    edge = np.repeat([FIRST, LAST], [len(sent), len(received)])
    return np.concatenate([sent, received]), edge


def tap(run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row of the host at whose port each sighting was made."""
    flow = run.flows[run.packets["flow"][rows]]
    at_client = (run.packets["kind"][rows] % 2 == 0) == (edge == FIRST)
    host: NDArray[np.int64] = np.where(at_client, flow["src"], flow["dst"])
    return host


def shape_codes(
    run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[tuple[Shape, int]]]:
    """Number of each sighting's (shape, edge), and what the numbers mean."""
    packets = run.packets[["flow", "kind", "path"]][rows]
    telemetry = run.flows["kind"][packets["flow"]].astype(np.int64)
    hops = run.paths["hops"][packets["path"]]
    stacked = (telemetry == INT) & (
        (packets["kind"] == ACK) | (packets["kind"] == DATA) & (edge == LAST)
    )
    code = (packets["kind"] * 8 + telemetry) * 8 + hops * stacked
    found, number = np.unique(code * 2 + edge, return_inverse=True)
    return number, [
        (Shape(int(c) >> 7, int(c) >> 4 & 7, int(c) >> 1 & 7), int(c) & 1) for c in found
    ]


def heard_ns(run: Run) -> NDArray[np.int64]:
    """When the sender of each packet last heard from the other end before sending it; -1: never."""
    packets = run.packets
    way = packets["flow"] * 2 + packets["kind"] % 2
    span = run.world.duration_ns + 1
    arrived = packets["last_ns"] > 0
    keys = np.sort((way * span + packets["last_ns"])[arrived])
    mine = (way ^ 1) * span
    at = np.searchsorted(keys, mine + np.maximum(packets["first_ns"], 0), side="right") - 1
    heard = keys[np.maximum(at, 0)] - mine
    known: NDArray[np.int64] = np.where((at >= 0) & (heard >= 0), heard, -1)
    return known


def pack(content: Content, width: int) -> NDArray[np.uint8]:
    """Octets of the frames of one shape, shape [frames, width]."""
    pieces = content.layouts.pieces(content.shape)
    rows = len(content.rows)
    headers = sum(map(size, pieces))
    frames = np.zeros((rows, max(width, headers)), np.uint8)
    at, places = 0, {}
    for piece in pieces:
        end = at + size(piece)
        if isinstance(piece, bytes):
            frames[:, at:end] = np.frombuffer(piece, np.uint8)
        else:
            places[piece.name] = at
            frames[:, at:end] = piece.pack(rows, content.values(piece.name))
        at = end
    fill_checksums(frames, places, headers, content.octets)
    return frames[:, :width]


def fill_checksums(
    frames: NDArray[np.uint8], places: dict[str, int], headers: int, octets: int
) -> None:
    """IPv4 and TCP checksums (RFC 9293 section 3.1); payloads are zeros and add nothing."""
    tcp = places["tcp"]
    if "ipv4" in places:
        ip = places["ipv4"]
        addresses = frames[:, ip + 12 : ip + 20]
        put(frames, ip + IPV4_CHECKSUM, total(frames[:, ip : ip + 20]))
    else:
        addresses = frames[:, places["ipv6"] + 8 : places["ipv6"] + 40]
    pseudo = total(addresses) + np.uint64(TCP_PROTOCOL) + np.uint64(octets - tcp)
    put(frames, tcp + TCP_CHECKSUM, pseudo + total(frames[:, tcp:headers]))


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
