"""The main question, where a flow is bottlenecked, with its terms read."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address

MAPPED = 0xFFFF << 32
"""Where IPv4 stands among IPv6 addresses (::ffff:0:0/96)."""
HALF = 64
LOW_HALF = (1 << HALF) - 1
TEN_SECONDS_NS = 10_000_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """One flow and a window of time.

    `protocol`, `tenant`, `vrf` and `vni` narrow the answer where several flows share the ends; None
    means any. The window is the `window_ns` before `at_ns` (ns since 1970); without `at_ns` it ends
    with the last frame of the flow that is stored. `interval_ns` is the length of the intervals
    that answer; None: the longest that suits the window (`lengths`). With `frames` evidence names
    the frames that carried it, which takes the store as long again as all the rest.
    """

    src: IPv4Address | IPv6Address
    sport: int
    dst: IPv4Address | IPv6Address
    dport: int
    protocol: int | None = None
    at_ns: int | None = None
    window_ns: int = TEN_SECONDS_NS
    tenant: str | None = None
    vrf: str | None = None
    vni: int | None = None
    interval_ns: int | None = None
    frames: bool = True

    @property
    def last_ns(self) -> int | None:
        """The last moment of the window, which ends before `at_ns`; None: that of the flow."""
        return None if self.at_ns is None else self.at_ns - 1

    @property
    def seen(self) -> tuple[int | None, int | None]:
        """The window, in which the flow was seen that is meant; without a time it has no ends."""
        return (None, None) if self.at_ns is None else (self.at_ns - self.window_ns, self.at_ns)

    @property
    def flow_text(self) -> str:
        """`10.0.0.1:40000 → 10.0.1.1:5001`."""
        return f"{end_text(self.src, self.sport)} → {end_text(self.dst, self.dport)}"


def address_words(address: IPv4Address | IPv6Address) -> tuple[int, int]:
    """An address as the two 64-bit halves that the store keeps."""
    number = int(address) | (MAPPED if isinstance(address, IPv4Address) else 0)
    return number >> HALF, number & LOW_HALF


def end_text(address: object, port: int) -> str:
    """`10.0.0.1:5001` or `[2001:db8::1]:5001`."""
    text = str(address)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


def duration_text(ns: int) -> str:
    """A length of time as settings have it: `100 ms`, `1 s`."""
    for unit, length in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= length:
            return f"{ns / length:g} {unit}"
    return f"{ns} ns"


def time_text(time_ns: int) -> str:
    """A moment (ns since 1970) as RFC 3339 in UTC, to the microsecond."""
    moment = _EPOCH + timedelta(microseconds=time_ns // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
