"""Values of a topology file, read and written by its table of keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pipeline.topology_key import Key
from pipeline.topology_text import STRICT, Faults, SkippedError, TopologyError, Tree

NESTED = {"mapping", "sections", "list"}
"""Kinds that are read by those who know what is below."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(keys: Sequence[Key], tree: Tree, place: str, faults: Faults = STRICT) -> dict[str, Any]:
    """The values of a section by the names of their fields; nested ones are left out.

    What is missing, wrong or what no row of the table has is a fault. Raises SkippedError where
    nothing can be made without it.
    """
    found: dict[str, Any] = {}
    met = 0
    whole = True
    for key in keys:
        value, known = tree.get(key.name), key.default
        if value is not None:
            try:
                known = READERS[key.kind](value, key, f"{place}.{key.name}")
            except TopologyError as error:
                faults.add(error)
                whole = whole and not key.required
        elif key.required:
            faults.add(TopologyError(MISSING[key.kind], f"{place}.{key.name}"))
            whole = False
        met += key.name in tree
        if key.kind not in NESTED and (value is not None or key.target not in found):
            found[key.target] = known
    if met < len(tree):
        refuse_unknown(keys, tree, place, faults)
    if not whole:
        raise SkippedError("", place)
    return found


def refuse_unknown(keys: Iterable[Key], tree: Tree, place: str, faults: Faults) -> None:
    """A key that was misspelled must not be ignored in silence."""
    known = [key.name for key in keys]
    for name in tree:
        if str(name) not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            faults.add(TopologyError(f"there is no such key; {hint}", f"{place}.{name}"))


def written(keys: Sequence[Key], made: Any, *, whole: bool = False) -> dict[str, Any]:
    """The values of an object as `read` takes them; what it need not be told is left out.

    `whole` writes every key, for what is laid over another.
    """
    told = {}
    for key in keys:
        if key.kind in NESTED:
            continue
        value = getattr(made, key.target)
        if whole or key.required or value != key.default:
            told[key.name] = WRITERS.get(key.kind, plain)(value, key)
    return told


def section(tree: Tree, key: Any, place: str) -> Tree:
    """A mapping below `key`, empty when absent."""
    value = tree.get(key)
    return {} if value is None else mapping(value, None, f"{place}.{key}")


def sections(
    tree: Tree, key: str, place: str, faults: Faults = STRICT
) -> Iterable[tuple[str, Tree, str]]:
    """The sections below `key`: name, tree and place of each."""
    named = faults.tried(section, tree, key, place) or {}
    own = f"{place}.{key}".removeprefix("topology.")
    for name in named:
        inner = faults.tried(section, named, name, own)
        if inner is not None:
            yield str(name), inner, f"{own}.{name}"


def rows(tree: Tree, key: str, place: str, faults: Faults = STRICT) -> Iterable[tuple[Tree, str]]:
    """The mappings of a list below `key`: tree and place of each."""
    listed = faults.tried(listing, tree.get(key) or [], None, f"{place}.{key}") or []
    own = f"{place}.{key}".removeprefix("topology.")
    for row, value in enumerate(listed):
        inner = faults.tried(mapping, value, None, f"{own}.{row}")
        if inner is not None:
            yield inner, f"{own}.{row}"


def mapping(value: Any, _key: Key | None, place: str) -> Tree:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise TopologyError("must be a mapping", place)
    return value


def listing(value: Any, _key: Key | None, place: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise TopologyError("must be a list", place)
    return value


def real(value: Any, key: Key, place: str) -> float:
    """A number, in the unit of columns; `1e9`, which YAML takes for a word, is one too."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise TopologyError(MISSING["number"], place) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not finite(value):
        raise TopologyError(MISSING["number"], place)
    if not key.least <= value <= key.most:
        raise TopologyError(f"must be from {key.least:g} to {key.most:g}", place)
    if isinstance(value, int):
        return float(value * key.scale)
    return float(Decimal(repr(value)) * key.scale)


def number(value: Any, key: Key, place: str) -> int:
    """A number that columns have as a whole one."""
    return round(real(value, key, place))


def finite(value: float) -> bool:
    """Whether a number is one that floats hold."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def whole(value: Any, key: Key, place: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TopologyError(MISSING["whole"], place)
    if not key.least <= value <= key.most:
        raise TopologyError(f"must be from {key.least} to {key.most}", place)
    return value


def text(value: Any, key: Key, place: str) -> str:
    """A word; numbers are taken as they are written."""
    if isinstance(value, Mapping | list):
        raise TopologyError(MISSING["text"], place)
    said = str(value)
    if key.accepted and said not in (*key.accepted, key.default):
        raise TopologyError(f"must be one of {', '.join(key.accepted)}", place)
    return said


def flag(value: Any, _key: Key, place: str) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise TopologyError(MISSING["flag"], place)
    return value


def moment(value: Any, key: Key, place: str) -> int:
    """A time in ns since 1970."""
    if isinstance(value, int) and not isinstance(value, bool):
        return whole(value, key, place)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise TopologyError(MISSING["time"], place) from None
    zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1) * 1000


def several(one: Callable[[Any, Key, str], Any]) -> Callable[[Any, Key, str], tuple[Any, ...]]:
    """A list of values, each read by `one`."""

    def read_all(value: Any, key: Key, place: str) -> tuple[Any, ...]:
        listed = listing(value, key, place)
        return tuple(one(each, key, f"{place}.{row}") for row, each in enumerate(listed))

    return read_all


def part(value: Any, _key: Key, place: str) -> tuple[str, int]:
    """A part of a locator: its name and bits."""
    match value:
        case [str(name), int(bits)]:
            return name, bits
    raise TopologyError("must be [NAME, BITS]", place)


def plain(value: Any, key: Key) -> Any:
    """A value in the unit of the file."""
    return value if value is None or key.scale == 1 else float(Decimal(repr(value)) / key.scale)


READERS: Mapping[str, Callable[[Any, Any, str], Any]] = {
    "text": text, "whole": whole, "number": number, "real": real, "flag": flag, "time": moment,
    "texts": several(text), "wholes": several(whole), "reals": several(real),
    "parts": several(part), "mapping": mapping, "sections": mapping, "list": listing,
}  # fmt: skip
WRITERS: Mapping[str, Callable[[Any, Key], Any]] = {
    "texts": lambda value, _: list(value),
    "wholes": lambda value, _: list(value),
    "reals": lambda value, key: [plain(each, key) for each in value],
    "parts": lambda value, _: [list(each) for each in value],
}
MISSING = {"text": "must be a word", "whole": "must be a whole number",
           "number": "must be a number", "real": "must be a number", "flag": "must be yes or no",
           "time": "must be a time as ISO 8601 or a whole number of ns", "texts": "must be a list",
           "sections": "must be a mapping"}  # fmt: skip
