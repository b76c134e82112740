"""Every field of a frame as tshark sees it, by where it stands; and as the tables do."""

import re
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from growing import Growing
from shark_fields import KNOWN, known
from shark_parts import NODES, TOLD, parts

from collector import CollectorSettings, Header, Reading
from collector.scalar import Scalar
from collector.wire.place import Place

FIELD = re.compile(rb'<field name="([^"]+)".*? pos="(\d+)".*? value="([0-9a-fA-F]+)"')
PLACED = re.compile(r"([^@]+)(?:@(\d+)(?:>>(\d+)|<<(\d+)/(\d+))?)?")
OPTIONS = (
    "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE",
    "-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE",
    "-d", "udp.port==8472,vxlan",
)  # fmt: skip
"""Frames stand for themselves; a port of ours that tshark has for another protocol."""
PACKET, PACKET_END = b"<packet>", b"</packet>"
MAGIC_NS, LONGEST = 0xA1B23C4D, 262_144
ICMP = ("icmp.type", "icmpv6.type")
IOAM_SHOWN, IOAM_NAMESPACE, IOAM_HEAD = "ipv6.opt.ioam.trace.ns", 4, 12
"""A field of an IOAM option and where it stands, and where its nodes' data begin."""
Key = tuple[str, int]
Seen = dict[Key, int]


def _named() -> Iterator[str]:
    """Wireshark's names that are compared, or say what a frame carries."""
    for names in KNOWN.values():
        for several in names.values():
            yield from several.split("|")
    yield from (name for pairs in TOLD.values() for _, name in pairs)
    yield from (*NODES, *ICMP)


NAMED = frozenset(name.partition("@")[0].encode() for name in _named())


@dataclass
class Agreement:
    """How many fields were compared, and which differ."""

    frames: int = 0
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    headers: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: "Agreement") -> None:
        """Take in another run."""
        self.frames += other.frames
        self.fields += other.fields
        self.headers += other.headers
        self.unseen += other.unseen
        self.differences += other.differences


@dataclass(frozen=True, slots=True)
class Stand:
    """Where Wireshark's field stands from a header's start, and how it lies to the table's."""

    name: str
    octet: int
    shift: int = 0
    bits: int = 0
    """0: it is the table's field; below: that above its `shift` bits; else bits of the table's."""

    @classmethod
    def told(cls, text: str, place: Place) -> Self:
        """What the tables of names write."""
        matched = PLACED.fullmatch(text)
        assert matched is not None, text
        name, octet, wider, shift, bits = matched.groups()
        octet = place.octet if octet is None else int(octet)
        if wider is not None:
            return cls(name, octet, int(wider), -place.field.bits)
        return cls(name, octet, int(shift or 0), int(bits or 0))

    def agrees(self, shown: int, read: int) -> bool:
        """Whether the value that is shown is the one that was read."""
        if self.bits < 0:
            return shown >> self.shift & (1 << -self.bits) - 1 == read
        return shown == (read >> self.shift & (1 << self.bits) - 1 if self.bits else read)


def written(path: Path, packets: Sequence[bytes], link: int) -> None:
    """A capture of these packets."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, LONGEST, link))
        for at, packet in enumerate(packets):
            file.write(struct.pack("<IIII", 1_700_000_000, at, len(packet), len(packet)) + packet)


def dissected(tool: Callable[..., str], path: Path, *options: str) -> Iterator[Seen]:
    """Fields of each packet that are known by name and first octet: their values."""
    command = [tool("tshark"), "-r", str(path), "-T", "pdml", *OPTIONS, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        seen: Seen = {}
        for line in running.stdout:
            if PACKET in line:
                seen = {}
            elif PACKET_END in line:
                yield seen
            elif line.split(b'"', 2)[1:2] and line.split(b'"', 2)[1] in NAMED:
                found = FIELD.search(line)
                if found is not None:
                    seen[found[1].decode(), int(found[2])] = int(found[3], 16)


def plan(header: Header) -> list[tuple[Place, list[Stand], bool]]:
    """Each field that tshark knows, with where its own may stand, and whether it has to."""
    found: list[tuple[Place, list[Stand], bool]] = []
    places = {place.field.name: place for place in header.places()}
    for name, shown in known(header.name).items():
        if name in places:
            place = places[name]
            found.append((place, [Stand.told(each, place) for each in shown.split("|")], True))
    for name, shown in parts(header.name):
        if name in places:
            found.append((places[name], [Stand.told(shown, places[name])], False))
    return found


class Comparison:
    """Holds frames against tshark, under some settings."""

    def __init__(self, scalar: Scalar, found: Agreement | None = None) -> None:
        self.scalar = scalar
        self.plans = {name: plan(header) for name, header in scalar.tables.items()}
        self.found = Agreement() if found is None else found

    def frame(
        self, octets: bytes, link: int, seen: Mapping[Key, int], length: int | None = None
    ) -> tuple[list[Reading], set[Key]]:
        """Hold every field of every header of a frame against tshark's: rows, what was held."""
        self.found.frames += 1
        held: set[Key] = set()
        rows = self.scalar.read(octets, link, length)
        for reading in rows:
            for name, at in reading.headers:
                if self.plans[name]:
                    self.header(name, at, octets, seen, held)
            self.nodes(reading, octets, seen, held)
        return rows, held

    def header(
        self, name: str, at: int, octets: bytes, seen: Mapping[Key, int], held: set[Key]
    ) -> None:
        """Hold the fields of one header."""
        compared = 0
        for place, stands, _ in self.plans[name]:
            key = next(
                ((each.name, at + each.octet, each) for each in stands
                 if (each.name, at + each.octet) in seen), None,
            )  # fmt: skip
            if key is not None:
                shown = seen[key[:2]]
                held.add(key[:2])
                compared += 1
                self.found.fields[name, place.field.name] += 1
                if not key[2].agrees(shown, place.read(octets, at)):
                    self.found.differences.append(
                        f"{name}.{place.field.name} at {at}: {place.read(octets, at)}, "
                        f"tshark's {key[0]} {shown}: {octets.hex()}"
                    )
        self.found.headers[name] += 1
        self.found.unseen[name] += compared == 0

    def nodes(
        self, reading: Reading, octets: bytes, seen: Mapping[Key, int], held: set[Key]
    ) -> None:
        """Hold what nodes wrote into IOAM's option, when that is what gives the hops."""
        stacks = [(name, at) for name, at in reading.headers if self.scalar.tables[name].records]
        name, at = stacks[-1] if stacks else ("", 0)
        if reading.reason != "decoded" or (IOAM_SHOWN, at + IOAM_NAMESPACE) not in seen:
            return
        span = range(at + IOAM_HEAD, at + 2 + octets[at + 1])
        if name == "ioam_incremental" and (octets[at + 7] & 0x7F) * 4 > len(span):
            return  # RemLen is what may still be added; tshark 4.0 takes it for space in the option
        for shown, columns in NODES.items():
            keys = [(first, key) for key in seen if (first := key[1]) in span and key[0] == shown]
            values = [seen[key] for _, key in sorted(keys, reverse=True)]
            read = [hop[each] for hop in reading.hops for each in columns[::-1] if each in hop]
            held.update(key for _, key in keys)
            self.found.fields[name, shown] += len(read)
            if read != values:
                self.found.differences.append(f"{shown}: {read}, {values}: {octets.hex()}")


def agreement(
    tool: Callable[..., str],
    path: Path,
    given: Iterable[tuple[CollectorSettings, Sequence[Growing]]],
) -> Agreement:
    """Hold frames, each under its settings, against tshark, which is begun once a link type.

    Types that it cannot read are left out.
    """
    found = Agreement()
    links: dict[int, list[tuple[Comparison, bytes]]] = defaultdict(list)
    for settings, frames in given:
        comparison = Comparison(Scalar(settings), found)
        for frame in frames:
            links[frame.link].append((comparison, bytes(frame.octets)))
    for link, packets in links.items():
        written(path, [octets for _, octets in packets], link)
        shown: Iterable[Seen] = dissected(tool, path)
        for (comparison, octets), seen in zip(packets, shown, strict=False):
            comparison.frame(octets, link, seen)
    return found
