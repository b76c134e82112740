"""Options in the address of a bus, `scheme://place?name=value`."""

from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import SplitResult, parse_qsl, urlsplit

from collector.bus import BusError

Option = TypeVar("Option", bool, int, str)

READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"on": True, "off": False}.__getitem__, "on or off"),
    int: (int, "a whole number"),
    str: (str, "text"),
}
"""How an option is read from the text of an address, and what is accepted."""


def parted(url: str) -> SplitResult:
    """The parts of a bus address; raises BusError, which does not repeat what cannot be read."""
    try:
        return urlsplit(url)
    except ValueError:
        raise BusError(
            "a bus address cannot be read; a bus is memory:// or kafka://host:port/topic"
        ) from None


def option(url: str, name: str, default: Option, accepted: tuple[str, ...]) -> Option:
    """The option `name` of a bus address, in the type of its default; raises BusError."""
    given = dict(parse_qsl(parted(url).query, keep_blank_values=True))
    if unknown := set(given) - set(accepted):
        raise BusError(f"{url}: no option {min(unknown)!r}, there are {', '.join(accepted)}")
    if name not in given:
        return default
    read, accepts = READERS[type(default)]
    try:
        return cast("Option", read(given[name]))
    except (KeyError, ValueError):
        raise BusError(f"{url}: {name} must be {accepts}") from None
