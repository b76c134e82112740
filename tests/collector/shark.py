"""Every field of a frame as tshark sees it, by where it stands; and as the tables do."""

import re
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from growing import Growing
from shark_fields import KNOWN, known

from collector import CollectorSettings, Header
from collector.scalar import Scalar
from collector.wire.place import Place

FIELD = re.compile(rb'<field name="([^"]+)".*? pos="(\d+)".*? value="([0-9a-fA-F]+)"')
PLACED = re.compile(r"([^@]+)(?:@(\d+)(?:>>(\d+))?)?")
OPTIONS = (
    "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE",
    "-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE",
    "-d", "udp.port==8472,vxlan",
)  # fmt: skip
"""Frames stand for themselves; a port of ours that tshark has for another protocol."""
PACKET, PACKET_END = b"<packet>", b"</packet>"
MAGIC_NS, LONGEST = 0xA1B23C4D, 262_144
Seen = dict[tuple[str, int], int]
Looked = tuple[Place, list[tuple[str, int, int | None]]]
NAMED = frozenset(
    name.partition("@")[0].encode()
    for names in KNOWN.values()
    for several in names.values()
    for name in several.split("|")
)


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


def written(path: Path, packets: Sequence[bytes], link: int) -> None:
    """A capture of these packets."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, LONGEST, link))
        for at, packet in enumerate(packets):
            file.write(struct.pack("<IIII", 1_700_000_000, at, len(packet), len(packet)) + packet)


def dissected(tool: Callable[..., str], path: Path) -> Iterator[Seen]:
    """Fields of each packet that are known by name and first octet: their values."""
    command = [tool("tshark"), "-r", str(path), "-T", "pdml", *OPTIONS]
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


def plan(header: Header) -> list[Looked]:
    """Each field that tshark knows, with where its own field may stand."""
    names = known(header.name)
    return [
        (place, [_stands(name, place) for name in names[place.field.name].split("|")])
        for place in header.places()
        if place.field.name in names
    ]


def _stands(name: str, place: Place) -> tuple[str, int, int | None]:
    """Name, octet from the header's first, and bits below (none: it is the whole field)."""
    matched = PLACED.fullmatch(name)
    assert matched is not None
    shift = None if matched[3] is None else int(matched[3])
    return matched[1], place.octet if matched[2] is None else int(matched[2]), shift


def held(seen: Seen, looked: Looked, at: int) -> int | None:
    """The value that tshark gives a table's field whose header begins at octet `at`."""
    place, stands = looked
    for name, octet, shift in stands:
        if (found := seen.get((name, at + octet))) is not None:
            return found if shift is None else found >> shift & place.mask
    return None


class Comparison:
    """Holds frames against tshark, under some settings."""

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar
        self.plans = {name: plan(header) for name, header in scalar.tables.items()}
        self.found = Agreement()

    def frame(self, octets: bytes, link: int, seen: Seen) -> None:
        """Hold every field of every header of a frame against tshark's."""
        self.found.frames += 1
        for reading in self.scalar.read(octets, link):
            for name, at in reading.headers:
                if self.plans[name]:
                    self.header(name, at, octets, seen)

    def header(self, name: str, at: int, octets: bytes, seen: Seen) -> None:
        """Hold the fields of one header."""
        compared = 0
        for looked in self.plans[name]:
            value = held(seen, looked, at)
            if value is not None:
                compared += 1
                place = looked[0]
                self.found.fields[name, place.field.name] += 1
                if value != place.read(octets, at):
                    self.found.differences.append(
                        f"{name}.{place.field.name} at {at}: {place.read(octets, at)}, "
                        f"tshark {value}: {octets.hex()}"
                    )
        self.found.headers[name] += 1
        self.found.unseen[name] += compared == 0


def agreement(
    tool: Callable[..., str], path: Path, settings: CollectorSettings, frames: Sequence[Growing]
) -> Agreement:
    """Hold frames against tshark, link type by link type; types it cannot read are left out."""
    comparison = Comparison(Scalar(settings))
    links: dict[int, list[bytes]] = defaultdict(list)
    for frame in frames:
        links[frame.link].append(bytes(frame.octets))
    for link, packets in links.items():
        written(path, packets, link)
        for octets, seen in zip(packets, dissected(tool, path), strict=False):
            comparison.frame(octets, link, seen)
    return comparison.found
