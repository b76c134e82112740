"""JSON documents of foreign systems: read, and looked into without trusting their shape."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.topology_text import TopologyError


def parsed(name: str, text: str) -> Any:
    """A JSON document. Raises TopologyError that names it and the line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TopologyError(f"{name}: line {error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise TopologyError(f"{name}: nested too deeply") from None
    except ValueError as error:  # a number with more digits than anybody may have
        raise TopologyError(f"{name}: not JSON ({error})") from None


def inner(tree: Any, *path: str) -> Any:
    """What stands below these keys, None where the way there is another one."""
    for key in path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree


def members(tree: Any, *path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and mapping of everything below these keys; what is no mapping counts as empty."""
    found = inner(tree, *path)
    for name, value in found.items() if isinstance(found, Mapping) else ():
        yield str(name), value if isinstance(value, Mapping) else {}


def whole(value: Any) -> int | None:
    """A whole number that may be written as text."""
    try:
        return int(str(value))
    except ValueError:
        return None
