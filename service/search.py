"""What people paste to find a flow: ends, 5-tuples, hosts, lines of ss, lsof, tcpdump and such."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from pipeline import PROTOCOLS
from service.endpoint import parse_address, parse_port

ACCEPTED = (
    "write an address, ADDRESS:PORT, :PORT, a host of the topology, two of them such as"
    " 10.0.1.2:40001 10.0.2.3:5001, or paste a line of ss, lsof, tcpdump, iperf3 or conntrack;"
    " flows of a switch or a prefix are found by a filter: device = leaf1, host in 10.1.0.0/24"
)
MOST_ENDS = 2
MOST_ADDRESSES = 16
"""Addresses of a host that are looked for one by one."""
MOST_TEXT = 2000
"""Longest text, characters: lines of ss can be long."""
BESIDE = frozenset(
    [
        *("tcp", "tcp6", "udp", "udp6", "icmp", "ip", "ip6", "in", "out", "to", "from", "and"),
        *("listen", "unconn", "estab", "established", "syn-sent", "syn-recv", "time-wait"),
        *("close-wait", "fin-wait-1", "fin-wait-2", "last-ack", "closing", ">", "<"),
        *("local", "port", "connected", "with"),
    ]
)
"""Words around the ends in what ss, tcpdump, iperf3 and hopsight itself print."""
PAIRED = re.compile(r"\b(src|dst|saddr|daddr|sport|dport)\s*[=:]\s*([^\s,;]+)", re.IGNORECASE)
"""Ends as conntrack and logs write them: src=10.0.1.2 dst=10.0.2.3 sport=40001 dport=5001."""
BETWEEN = re.compile(r"[\s,;()]+|<?[-=]>|→")
"""What stands between words; an arrow may have no space beside it, as lsof prints it."""
LINE = re.compile(r"(?:^|\s)(\S+ > \S+?):(?=\s|$)")
"""Both ends in a line of tcpdump, whatever it prints before them: -e and -v print much."""
STREAM = re.compile(r"^\s*\[ *\d+\](?=\s)")
"""The number of a stream, which iperf3 prints before its ends."""
OF_SIX = re.compile(r"\s*(?:tcp|udp)6\s", re.IGNORECASE)
"""How a line of netstat begins whose addresses are followed by a colon and a port."""
SIX_PORT = re.compile(r"([0-9a-f:.]*:[0-9a-f:.]*):(\d+|\*)", re.IGNORECASE)
ZONE = r"(?:%[\w.-]+)?"
BRACKETED = re.compile(rf"\[([0-9a-f:.]+){ZONE}\]{ZONE}(?:[:.](\d+|\*))?", re.IGNORECASE)
FOUR = re.compile(rf"(\d+\.\d+\.\d+\.\d+){ZONE}(?:[:.](\d+|\*))?")
SIX = re.compile(r"([0-9a-f:]*:[0-9a-f:.]*:[0-9a-f.]*?)(?:%[\w-]+)?(?:\.(\d+|\*))?", re.IGNORECASE)
SIX_FOUR = re.compile(rf"([0-9a-f:]*:\d+\.\d+\.\d+\.\d+){ZONE}(?:\.(\d+|\*))?", re.IGNORECASE)
"""IPv6 whose last half is written as IPv4: ::ffff:10.1.0.1."""
FORMS = BRACKETED, FOUR, SIX_FOUR, SIX, SIX_PORT
"""How addresses are written, with or without a port; the first that gives one counts."""
HOST = re.compile(r"([a-z_][\w.-]*?)(?::(\d+|\*))?", re.IGNORECASE)
Network = IPv4Network | IPv6Network
Hosts = Callable[[str], Iterable[str]]
"""Gives the prefixes of a host by its name; none for a name that is not known."""


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """One end to look for: an address of any of the networks (none: any), and a port (or any)."""

    networks: tuple[Network, ...]
    port: int | None

    @property
    def addresses(self) -> tuple[IPv4Address | IPv6Address, ...]:
        """The addresses that it can have, where they are few; else none."""
        few = len(self.networks) <= MOST_ADDRESSES
        alone = all(network.num_addresses == 1 for network in self.networks)
        return tuple(each.network_address for each in self.networks) if few and alone else ()

    def matches(self, address: str, port: int) -> bool:
        """Whether an end of a stored flow is this one."""
        here = parse_address(address)
        same = not self.networks or any(here in network for network in self.networks)
        return same and (self.port is None or port == self.port)


def parse_search(text: str, hosts: Hosts = lambda _: ()) -> tuple[SearchEnd, ...]:
    """The ends in a text, at most two; none means every flow.

    Raises ValueError with one sentence that says what is accepted.
    """
    if paired := dict(reversed(PAIRED.findall(text.lower()))):
        return _paired(paired)
    ends: list[SearchEnd] = []
    strange: list[str] = []
    numbers: list[tuple[int, str]] = []
    forms = (SIX_PORT, *FORMS) if OF_SIX.match(text) else FORMS
    for word in _words(text):
        if word.isdigit():
            numbers.append((len(ends), word))
        elif (end := _end(word, hosts, forms)) is not None:
            ends.append(end)
        elif word.lower() not in BESIDE:
            strange.append(word)
    line = len(ends) == MOST_ENDS and all(end.port is not None for end in ends)
    if strange and not line:
        raise ValueError(f"{strange[0]!r} is no end of a flow; {ACCEPTED}")
    made = tuple(ends) if line else _numbered(ends, numbers)
    if len(made) > MOST_ENDS:
        raise ValueError(f"{text!r} has more than two ends; {ACCEPTED}")
    return made


def in_one_line(text: str) -> str:
    """A text with blanks for its tabs and ends of lines: terminals and sheets paste them."""
    return re.sub(r"[\t\r\n]+", " ", text)


def parse_protocol(text: str) -> int | None:
    """The protocol that a text names before or beside its ends; None: none, or several."""
    told = {PROTOCOLS.get(word.lower().removesuffix("6")) for word in _words(text)} - {None}
    return told.pop() if len(told) == 1 else None


def _words(text: str) -> Iterator[str]:
    """Words of a text; of a line of tcpdump those before the colon, after its time."""
    head = LINE.search(text)
    for word in re.split(BETWEEN, head[1] if head else STREAM.sub("", text)):
        if word:
            yield word


def _end(word: str, hosts: Hosts, forms: Iterable[re.Pattern[str]]) -> SearchEnd | None:
    """The end that a word is; None for one that is no end. ValueError for a wrong port."""
    if word.startswith(":") and word[1:].isdigit():
        return SearchEnd((), parse_port(word[1:]))
    for form in forms:
        found = form.fullmatch(word)
        if found and (address := _address(found[1])):
            return SearchEnd((ip_network(address),), _port(found[2]))
    found = HOST.fullmatch(word)
    networks = tuple(ip_network(prefix) for prefix in hosts(found[1])) if found else ()
    return SearchEnd(networks, _port(found[2])) if found and networks else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _port(text: str | None) -> int | None:
    return None if text in (None, "*") else parse_port(str(text))


def _paired(found: dict[str, str]) -> tuple[SearchEnd, ...]:
    """Ends whose parts are named; of two tuples, as conntrack prints them, the first."""
    ends = []
    for address, other, port in (("src", "saddr", "sport"), ("dst", "daddr", "dport")):
        told = found.get(address) or found.get(other)
        network = (ip_network(parse_address(told)),) if told else ()
        if told or port in found:
            ends.append(SearchEnd(network, _port(found.get(port))))
    return tuple(ends)


def _numbered(ends: list[SearchEnd], numbers: list[tuple[int, str]]) -> tuple[SearchEnd, ...]:
    """Ends with the numbers beside them as ports: each behind its end, or all behind both.

    `numbers` come with how many ends stand before them.
    """
    if not ends:
        return tuple(SearchEnd((), parse_port(number)) for _, number in numbers)
    before = [each for each, _ in numbers]
    ports = [number for _, number in numbers]
    if before[:2] in ([1, 2], [2, 2]):
        ports = _without_protocol(ports)
    elif before == [2] and int(ports[0][:6]) in PROTOCOLS.values():
        ports = []
    places = range(len(ports)) if before[:2] == [2, 2] else [each - 1 for each in before]
    made = list(ends)
    for place, number in zip(places, ports, strict=False):
        if not 0 <= place < len(made) or made[place].port is not None:
            raise ValueError(f"{number!r} belongs to no end; {ACCEPTED}")
        made[place] = SearchEnd(made[place].networks, parse_port(number))
    return tuple(made)


def _without_protocol(ports: list[str]) -> list[str]:
    """Two ports, without the number of a protocol behind them."""
    behind = ports[MOST_ENDS:]
    known = len(behind) == 1 and int(behind[0][:6]) in PROTOCOLS.values()
    return ports[:MOST_ENDS] if known else ports
