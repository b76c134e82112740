"""Frames of every format and envelope, grown header by header along the edges of the tables.

Nothing here knows a format: what a table checks, counts or names is drawn so that it holds, all
else is random. Lengths are written when what they count stands there.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial

from growing import Growing, put
from sprout import Sprout

from collector import CollectorSettings, Header
from collector.carriers import SPACES, edges, headers, option_edges, option_extra
from collector.scalar import judge
from collector.wire.place import Field, Place
from collector.wire.table import Branch

LONGEST = 2500
DEEPEST = 22
DEEP = 7
"""Headers after which a frame is led to its end."""
TRIES = 8
HALF = 0.5
FLAGS = 4
"""A mask of so many bits is one of flags, which may as well be clear."""
ROWS = 3
WEIGHT = defaultdict(lambda: 1, ipv4=5, ipv6=5, tcp=9, udp=6, gre=6, ethernet=2)
ENDS = ("ipv4", "ipv6", "tcp")
PROFILES: tuple[dict[str, object], ...] = (
    {},
    {
        "csig_layout": "uec", "int_dscp": 23, "aecn_numbering": "lsb", "ifa_flag_order": "reversed",
        "hpcc_udp_ports": (10000,), "hpcc_nack_protocols": (254,), "tcp_int_echo_order": "big",
        "ifa_name_spaces": {2: (("node", 28), ("cells", 32))}, "mpls_pseudowire": "bare",
        "csig_echo_udp_ports": (7001,), "csig_echo_udp_offset": 3, "csig_echo_udp_valid": 0x80,
    },
    {
        "timestamp_trailer": "metamako", "mirror_vnis": (7, 0x123456), "mirror_gre_keys": (99,),
        "mirror_gre_protocols": (0x6558,), "mirror_vxlan_udp_ports": (4788,),
        "mirror_geneve_udp_ports": (6080,), "csig_echo_length": "data", "csig_echo_exid": None,
        "csig_echo_kind": 200, "aecn_available_bandwidth": False, "int_dscp": 4,
        "int_dscp_mask": 4, "csig_echo_udp_ports": (7001,),
        "csig_echo_udp_variant": "expanded", "report_quirk": "cablelabs",
    },
    {
        "aecn_option_types": (0x31, 0x3E), "ioam_option_types": (0x31, 0x3E), "tcp_int_kind": 253,
        "csig_echo_exid": 0xACC1, "ifa_versions": (2, 3), "psp_udp_ports": (1000, 4500),
        "accecn_exids": {0xACC0: "e0b", 0xACC1: "e1b"}, "int_udp_ports": (555, 4789),
    },
    {
        "int_dscp": 12, "int_marker": 0x1122334455667788, "int_tcp_position": "before_options",
        "int_shim_length": "auto", "int_v1_profile": "auto", "int_gre_protocol": 0x4569,
        "int_source": (("device", 32),),
    },
)  # fmt: skip
"""Settings under which, together, every header can be met; the last make formats rivals."""

Choice = Callable[[random.Random, int], int]
Plan = tuple[list[tuple[Place, Choice]], list[Place], list[Place]]
"""Fields of a header that are drawn with care, that steer, and that are worth an attack."""


class Generator:
    """Draws frames by the tables of some settings."""

    def __init__(self, settings: CollectorSettings, seed: int) -> None:
        self.draw = random.Random(seed)
        self.tables = {each.name: each for each in headers(settings)}
        self.edges = edges(settings)
        self.options = option_edges(settings)
        self.extra = option_extra(settings)
        self.sprout = Sprout(self)
        self.numbers: dict[str, dict[str, list[int]]] = {}
        for space, numbers in self.edges.items():
            names: dict[str, list[int]] = defaultdict(list)
            for number, name in numbers.items():
                names[name].append(number)
            self.numbers[space] = names
        self.wanted = self._wanted()
        self.asked: Counter[str] = Counter()
        self.plans = {name: self._plan(header) for name, header in self.tables.items()}

    def _wanted(self) -> dict[str, list[Branch]]:
        """What branches compare columns with."""
        found: dict[str, list[Branch]] = defaultdict(list)
        for header in self.tables.values():
            for branch in header.branches:
                found[branch.column].append(branch)
                if branch.select:
                    found[branch.select].append(branch)
        return found

    def _plan(self, header: Header) -> Plan:
        """How a header is drawn."""
        by_name = {place.field.name: place for place in header.places()}
        careful = [
            (place, choice)
            for place in by_name.values()
            for choice in self._choices(header, place.field)
        ]
        rules = [header.length, header.extent, header.trailer, header.options_at]
        attacked = {rule.field for rule in rules if rule}
        attacked |= {check.field for check in header.checks}
        attacked |= {place.field.name for place, _ in careful}
        steering = [place for place in by_name.values() if place.field.column]
        points = [place for name, place in by_name.items()
                  if name in attacked or (place.field.column or "").startswith("_")]  # fmt: skip
        return careful, steering, points

    def _choices(self, header: Header, each: Field) -> Iterator[Choice]:
        """How to draw a field, weakest wish first."""
        rule = header.records
        if rule and each.column in rule.bitmap:
            yield lambda draw, old: old & draw.getrandbits(each.bits) & draw.getrandbits(each.bits)
        space = header.next[1] if header.next and header.next[0] == each.name else None
        counted = header.extent is not None and header.extent.field == each.name
        branches = [] if counted else self.wanted.get(str(each.column), [])
        if space or branches:
            yield (
                lambda draw, old: (
                    self._number(space, each.bits, old)
                    if space and (not branches or draw.random() < HALF)
                    else self._branch(self._seldom(branches), each, old)
                )
            )
        for check in header.checks:
            if check.field == each.name:
                yield partial(_within, check.low, min(check.high, (1 << each.bits) - 1))

    def _seldom(self, branches: list[Branch]) -> Branch:
        """A branch, the sooner the more seldom it was."""
        weights = [1 / (1 + self.asked[branch.to or ""]) for branch in branches]
        branch = self.draw.choices(branches, weights)[0]
        self.asked[branch.to or ""] += 1
        return branch

    def _branch(self, branch: Branch, each: Field, old: int) -> int:
        """A value that a branch asks for, or selects by, more often than not."""
        if self.draw.random() < 0.15:
            return old
        if branch.select == each.column:
            return self._number(str(branch.space), each.bits, old)
        told = self.draw.random() < HALF or branch.mask.bit_count() > FLAGS
        return (old & ~branch.mask | branch.value * told) & (1 << each.bits) - 1

    def _number(self, space: str, bits: int, old: int) -> int:
        """A number of a space, each header that it leads to being met."""
        draw, names = self.draw, self.numbers[space]
        deep = len(self.frame.starts) > DEEP
        if draw.random() < (0.4 if deep and SPACES[space] == 0 else 0.04) or not names:
            return old
        known = [name for name in ENDS if name in names] if deep else []
        chosen = known or list(names)
        name = draw.choices(chosen, [WEIGHT[each] for each in chosen])[0]
        fits = [number for number in names[name] if not number >> bits]
        return draw.choice(fits) if fits else old

    def grow(self) -> Growing:
        """One frame; `names` are its headers, the first of them by its link type."""
        self.frame, self.rows = Growing(), 0
        links = self.numbers["link_type"]
        name = "ethernet" if self.draw.random() < 0.8 else self.draw.choice(list(links))
        self.frame.link = self.draw.choice(links.get(name) or [1])
        self.walk(self.edges["link_type"][self.frame.link])
        return self.frame

    def walk(self, name: str | None) -> None:
        """Grow from a header on, until payload."""
        frame = self.frame
        while name and len(frame.starts) < DEEPEST and len(frame.octets) < LONGEST:
            at = len(frame.octets)
            header = self.fixed(name, at)
            while header.peek:
                seen = bytes(frame.octets[at:])
                self.sprout.body(header, at)
                if header.records:
                    self.sprout.stack(header)
                name = self.follow(header, at)
                if not name:
                    return self.end()
                header = self.looked(header, name, at, seen)
            self.sprout.body(header, at)
            if header.records:
                self.sprout.stack(header)
            name = self.follow(header, at)
        return self.end()

    def looked(self, peeked: Header, name: str, at: int, seen: bytes) -> Header:
        """The header whose first octets another one has looked at."""
        frame = self.frame
        header = self.fixed(name, at)
        self.learn(peeked, at)
        if self.follow(peeked, at) != name:
            frame.octets[at : at + len(seen)] = seen
            self.learn(peeked, at)
        self.learn(header, at)
        return header

    def end(self) -> None:
        """Payload, then what stands behind it."""
        frame = self.frame
        frame.octets += self.draw.randbytes(self.draw.choice((0, 1, 4, 9, 24)))
        self.finish()

    def finish(self) -> None:
        """Write extents, innermost first, and put trailers behind what they follow."""
        frame = self.frame
        while frame.pending:
            last = frame.pending.pop()
            if isinstance(last, bytes):
                frame.octets += last
                continue
            at, header = last
            assert header.extent is not None
            self.sprout.count(header, header.extent, at, len(frame.octets))
            if header.again and self.rows < ROWS and self.draw.random() < 0.6:
                self.rows += 1
                return self.walk(header.again)
        return None

    def fixed(self, name: str, at: int, most: int = LONGEST) -> Header:
        """The fixed fields of a header, or of one that is tried in its place."""
        chain = [self.tables[name]]
        while following := chain[-1].otherwise:
            chain.append(self.tables[following])
        for _ in range(TRIES):
            place = self.draw.randrange(len(chain))
            header, before = chain[place], chain[:place]
            octets = self.fields(header)
            if header.octets <= most and all(self.refused(each, octets) for each in before):
                break
        else:
            header, octets = chain[0], self.fields(chain[0])
        frame = self.frame
        frame.octets[at:] = octets
        frame.starts.append(at)
        frame.names.append(header.name)
        for place in self.plans[header.name][2]:
            frame.points += [(at + octet, 0xFF) for octet in place.rising()]
        self.learn(header, at)
        return header

    def learn(self, header: Header, at: int) -> None:
        """Keep what a header's octets say, as the walk would."""
        frame = self.frame
        for place in self.plans[header.name][1]:
            column = str(place.field.column)
            frame.steering[column] = place.read(frame.octets, at) | place.field.plus
            frame.written[column] = at, place
        frame.steering.update(header.marks)

    def fields(self, header: Header) -> bytearray:
        """Octets of the fields that the checks accept, as far as one draw can tell."""
        draw = self.draw
        octets = bytearray(draw.randbytes(header.octets))
        if draw.random() < 0.1:
            octets = bytearray(draw.choice((b"\0", b"\xff")) * header.octets)
        for place, choice in self.plans[header.name][0]:
            put(octets, 0, place, choice(draw, place.read(octets)))
        return octets

    def refused(self, header: Header, octets: bytes) -> bool:
        """Whether these octets are another header; changed until they are, where that is easy."""
        check = next((each for each in header.checks if each.reason is None), None)
        if check is None:
            return False
        padded = bytes(octets).ljust(header.octets, b"\0")
        return judge(header, header.unpack(padded)) == -1

    def follow(self, header: Header, at: int) -> str | None:
        """The header that these octets announce."""
        steering = self.frame.steering
        for branch in header.branches:
            if steering.get(branch.column, 0) & branch.mask == branch.value:
                if branch.to:
                    return branch.to
                number = steering.get(str(branch.select), 0) & 0xFFFF
                return self.edges[str(branch.space)].get(number)
        found = None
        if header.next:
            name, space = header.next
            place = next(each for each in header.places() if each.field.name == name)
            found = self.edges[space].get(place.read(self.frame.octets, at) & 0xFFFF)
            if found is None and SPACES[space]:
                return None
        return found or header.to


def _within(low: int, high: int, draw: random.Random, old: int) -> int:
    """A number that a check accepts."""
    return old if low <= old <= high else draw.randint(low, high)


def grown(profile: int, count: int, seed: int) -> list[Growing]:
    """So many frames under the settings of a profile."""
    generator = Generator(CollectorSettings.model_validate(PROFILES[profile]), seed)
    return [generator.grow() for _ in range(count)]
