"""What people paste to find a flow, read into addresses and ports."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from service.endpoint import parse_address, parse_endpoint, parse_port

ACCEPTED = "write an address, ADDRESS:PORT, :PORT, or two ends such as 10.0.1.2:40001 10.0.2.3:5001"
MOST_ENDS = 2
NOISE = frozenset({"tcp", "udp", "estab", "ip", "ip6", ">", "->", "→", "to"})
"""Words around the ends in lines of ss, tcpdump and of hopsight itself."""


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """One end to look for; None means any."""

    address: IPv4Address | IPv6Address | None
    port: int | None

    def matches(self, address: str, port: int) -> bool:
        """Whether an end of a stored flow is this one."""
        same = self.address is None or parse_address(address) == self.address
        return same and (self.port is None or port == self.port)


def parse_search(text: str) -> tuple[SearchEnd, ...]:
    """The ends in a text, at most two; none means every flow.

    Raises ValueError with one sentence that says what is accepted.
    """
    words = [word for word in re.split(r"[\s,]+", text.strip()) if word.lower() not in NOISE]
    words = [word for word in words if word]
    if len(words) > MOST_ENDS:
        raise ValueError(f"{text!r} has more than two ends; {ACCEPTED}")
    return tuple(_end(word) for word in words)


def _end(word: str) -> SearchEnd:
    try:
        if word.startswith(":") and word[1:].isdigit():
            return SearchEnd(None, parse_port(word[1:]))
        if word.isdigit():
            return SearchEnd(None, parse_port(word))
        if word.count(":") == 1 or "]:" in word:
            end = parse_endpoint(word)
            return SearchEnd(end.address, end.port)
        return SearchEnd(parse_address(word), None)
    except ValueError:
        raise ValueError(f"{word!r} is no end of a flow; {ACCEPTED}") from None
