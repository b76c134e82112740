"""Emission: what the taps saw of a run, as the frames of a capture.

Frames are made by layout, never one by one: a matrix a layout, packed by the collector's wire
tables. They are cut to a snap length with their true length kept; payloads are zeros. Checksums are
right.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings, Frames
from replay import wiring
from replay.carriage import EACH_HOP, GROWING, REPORTING, TUNNELS
from replay.check import check
from replay.checksums import fill
from replay.content import Content
from replay.fabric import Run
from replay.identity import identities
from replay.layout import Layouts, Shape, size
from replay.packet_content import Heard
from replay.sampling import sampled
from replay.state import (
    ABOVE,
    ACK,
    CSIG_COMPACT,
    DATA,
    EDGES,
    FIRST,
    HOPS,
    KINDS,
    LAST,
    REPORTED,
    SINK,
    TELEMETRIES,
)
from replay.taps import ALL, Taps
from replay.wiring import points

SNAP = 256
ETHERNET = 1
REPORT_NS = 5_000
"""From a packet's departure to the report of it at the collector."""
ROWS = 32768
"""Frames packed at a time: what fits the processor's cache."""


class Sightings(NamedTuple):
    """Packets (`rows`) and the edges at which they were seen, those of one layout side by side."""

    rows: NDArray[np.int64]
    edge: NDArray[np.int64]
    shape: NDArray[np.int64]
    """Index into `shapes`, ascending."""
    shapes: list[tuple[Shape, int]]
    """Shape and edge."""


def frames_of(
    run: Run, settings: CollectorSettings, snap: int | None = None, taps: Taps = ALL
) -> Frames:
    """Sightings of a run in order of time; at equal times acknowledgments come before data.

    `snap` octets of each are kept, by default `SNAP`, or as many as the longest headers take.
    `Frames.interface` indexes into `wiring.points(run.world)`. ValueError when the settings leave
    open what the frames need.
    """
    check(run, settings)
    seen, layouts = sightings(run, taps), Layouts(settings)
    rows, packets = seen.rows, run.packets
    octets = np.array([layouts.octets(shape, run.world.payload_bytes) for shape, _ in seen.shapes])
    snap = snap or max(SNAP, *(layouts.headers(shape) for shape, _ in seen.shapes))
    snaps = [
        length if shape.report else snap
        for length, (shape, _) in zip(octets, seen.shapes, strict=True)
    ]
    captured = np.minimum(octets, snaps)[seen.shape]
    offset = np.cumsum(captured) - captured
    data = np.empty(int(captured.sum()), np.uint8)
    at = 0
    for block in blocks(run, settings, layouts, seen, snap):
        data[at : at + block.size] = block.ravel()
        at += block.size
    place = tap(run, rows, seen.edge)
    time = seen_ns(run, rows, seen.edge) + taps.offsets_ns(len(points(run.world)))[place]
    order = np.lexsort((rows, packets["kind"][rows] == DATA, time))
    frames = Frames(
        data=data,
        offset=offset[order],
        captured=captured[order].astype(np.int32),
        length=octets[seen.shape][order].astype(np.int32),
        time_ns=(run.world.start_ns + time)[order],
        link=np.full(len(rows), ETHERNET, np.uint16),
        interface=place[order].astype(np.uint16),
        first=1,
    )
    reported = seen.edge[order] >= REPORTED
    return sampled(frames, settings, taps.one_in, reported) if taps.sflow else frames


def seen_ns(run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Virtual time of each sighting."""
    packet = run.packets[rows]
    reported = packet["ts_ns"][np.arange(len(rows)), np.maximum(edge - REPORTED, 0)] + REPORT_NS
    stamps = [packet["first_ns"], packet["last_ns"], packet["up_ns"], reported]
    at: NDArray[np.int64] = np.choose(np.minimum(edge, REPORTED), stamps)
    return at


def reports(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Packets of which switches reported, and the edges: a sink's last hop, or every hop."""
    form = run.flows["form"][run.packets["flow"]]
    made = np.flatnonzero(np.isin(form, REPORTING) & (run.packets["kind"] == DATA))
    hops = run.paths["hops"][run.packets["path"][made]]
    rows, edge = [], []
    for hop in range(int(hops.max(initial=0))):
        here = (hop < hops) & (np.isin(form[made], EACH_HOP) | (hop == hops - 1))
        # A hop that was passed has a time of departure.
        here &= (run.packets["ts_ns"][made, hop] > 0) & (run.packets["hop"][made] > hop)
        rows.append(made[here])
        edge.append(np.full(len(rows[-1]), REPORTED + hop))
    nothing = np.zeros(0, np.int64)
    return np.concatenate([nothing, *rows]), np.concatenate([nothing, *edge])


def sightings(run: Run, taps: Taps = ALL) -> Sightings:
    """What the taps saw within the run's time, and switches reported, as far as it arrives."""
    until = run.world.duration_ns
    sent = np.flatnonzero((run.packets["first_ns"] >= 0) & (run.packets["first_ns"] < until))
    received = np.flatnonzero(run.packets["last_ns"] > 0)
    rows = np.concatenate([sent, received])
    edge = np.repeat([FIRST, LAST], [len(sent), len(received)])
    if taps.where != "hosts":
        risen = np.flatnonzero((run.packets["up_ns"] > 0) & (run.packets["up_ns"] < until))
        both = taps.where == "both"
        rows = np.concatenate([rows, risen]) if both else risen
        edge = np.concatenate([edge, np.full(len(risen), ABOVE)])[-len(rows) :]
    told, by = reports(run)
    rows, edge = np.concatenate([rows, told]), np.concatenate([edge, by])
    leaf = tap_leaf(run, rows, edge)
    kept = taps.kept(rows, run.packets["flow"][rows], leaf)
    rows, edge = rows[kept], edge[kept]
    shape, shapes = shape_codes(run, rows, edge)
    order = np.argsort(shape, kind="stable")
    return Sightings(rows[order], edge[order], shape[order], shapes)


def blocks(
    run: Run, settings: CollectorSettings, layouts: Layouts, seen: Sightings, snap: int
) -> Iterator[NDArray[np.uint8]]:
    """Octets of all frames in the order of the sightings, some frames at a time."""
    names, heard = identities(run), Heard(heard_ns(run), *arrived(run))
    edges = np.searchsorted(seen.shape, np.arange(len(seen.shapes) + 1))
    for (shape, edge), first, end in zip(seen.shapes, edges, edges[1:], strict=False):
        for start in range(first, end, ROWS):
            part = seen.rows[start : min(start + ROWS, end)]
            content = Content(run, names, settings, layouts, shape, edge, part, heard)
            yield pack(content, content.octets if shape.report else min(content.octets, snap))


def tap(run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number in `wiring.points` of the port at which each sighting was made."""
    flow = run.packets["flow"][rows]
    at_client = (run.packets["kind"][rows] % 2 == 0) == (edge != LAST)
    host: NDArray[np.int64] = np.where(at_client, run.flows["src"][flow], run.flows["dst"][flow])
    packet = run.packets[rows]
    first = run.paths["port"][packet["path"], packet["kind"] % 2, 0]
    above = np.array(wiring.point_of_port(run.world))[first]
    there = np.where(edge == ABOVE, above, host)
    return np.where(edge >= REPORTED, len(points(run.world)) - 1, there)


def tap_leaf(run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leaf, from 0, whose mirror made each sighting; of reports -1."""
    names = [point.partition(":")[0] for point in wiring.points(run.world)]
    leaf = np.array([int(name[4:]) - 1 if name != wiring.REPORTS else -1 for name in names])
    found: NDArray[np.int64] = leaf[tap(run, rows, edge)]
    return found


def shape_codes(
    run: Run, rows: NDArray[np.int64], edge: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[tuple[Shape, int]]]:
    """Number of each sighting's (shape, edge), and what the numbers mean."""
    packet, nowhere = run.packets[rows], np.zeros(len(rows), np.uint8)
    kind = packet["kind"].astype(np.int64)
    telemetry = run.flows["form"][packet["flow"]].astype(np.int64)
    put_on = [nowhere, packet["inserted"], packet["up_inserted"], nowhere]
    inserted = np.choose(np.minimum(edge, REPORTED), put_on) == 1
    telemetry = np.where(inserted, CSIG_COMPACT, telemetry)
    hops = run.paths["hops"][packet["path"]]
    data, reported = kind == DATA, edge >= REPORTED
    stacked = np.isin(telemetry, GROWING[ACK]) & (kind == ACK) & (packet["bare"] == 0) | reported
    stacked |= np.isin(telemetry, GROWING[DATA]) & data & (edge != FIRST)
    stacked |= (telemetry == SINK) & data & (edge == ABOVE)
    hops = np.where(data & (edge == ABOVE), 1, hops) * stacked
    code = packet["bare"].astype(np.int64) * len(TUNNELS) + run.flows["tunnel"][packet["flow"]]
    code = (code * KINDS + kind) * TELEMETRIES + telemetry
    code = (code * (HOPS + 1) + hops) * EDGES + edge
    found, number = np.unique(code, return_inverse=True)
    return number, [shape_of(int(each)) for each in found]


def shape_of(code: int) -> tuple[Shape, int]:
    """What a number of `shape_codes` means."""
    rest, edge = divmod(code, EDGES)
    rest, hops = divmod(rest, HOPS + 1)
    rest, telemetry = divmod(rest, TELEMETRIES)
    rest, kind = divmod(rest, KINDS)
    bare, tunnel = divmod(rest, len(TUNNELS))
    return Shape(kind, telemetry, hops, edge >= REPORTED, tunnel, bool(bare)), edge


def arrived(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """With each packet of data: how many its flow's receiver has got, how many of them marked."""
    packets = run.packets
    here = np.flatnonzero((packets["kind"] == DATA) & (packets["last_ns"] > 0))
    here = here[np.lexsort((packets["last_ns"][here], packets["flow"][here]))]
    flow, marked = packets["flow"][here], np.cumsum(packets["ce"][here].astype(np.int64))
    first = np.searchsorted(flow, flow)
    counts = np.zeros((2, len(packets)), np.int64)
    counts[0, here] = np.arange(len(here)) - first + 1
    counts[1, here] = marked - np.concatenate([[0], marked])[first]
    return counts[0], counts[1]


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
    fill(frames, places, headers, content)
    return frames[:, :width]
