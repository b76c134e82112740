"""The text of a topology file as a tree, and the line on which each place of it stands."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import yaml

Tree = Mapping[Any, Any]
Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""YAML's safe loader, the compiled one where there is one: ten times as fast."""
MOST_DEPTH = 40
"""Levels of a file; no topology has as many."""


class TopologyError(ValueError):
    """A topology that cannot be used; the text names the place and its line."""

    def __init__(self, text: str, place: str = "") -> None:
        """`place` is the path of keys, joined by dots."""
        super().__init__(f"{place}: {text}" if place else text)
        self.text = text
        self.place = place

    def at(self, lines: Mapping[str, int]) -> "TopologyError":
        """The same with its line in front."""
        return TopologyError(f"line {line_of(self.place, lines)}: {self}")


class _Loader(Base):  # type: ignore[misc] # which of the two is known when it runs
    """YAML's safe loader, which takes a key that is given twice for the mistake it is."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT002 - the signature is the loader's
        """See yaml.SafeLoader."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                place = f"line {key.start_mark.line + 1}"
                raise TopologyError(f"{place}: {key.value} is given twice")
            seen.add(str(key.value))
        made: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return made


def load(text: str) -> tuple[Tree, dict[str, int]]:
    """The tree and the line of each place in it. Raises TopologyError for what is no mapping."""
    try:
        loader = _Loader(text)
        try:
            depth_of(text)
            node = loader.get_single_node()
            tree = loader.construct_document(node) if node else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TopologyError(f"line {mark.line + 1 if mark else 1}: not YAML") from None
    except RecursionError:
        raise TopologyError("line 1: nested too deeply") from None
    if not isinstance(tree, Mapping):
        raise TopologyError("a topology is a mapping with the keys version, devices and hosts")
    return tree, dict(places(node, "", set()))


def depth_of(text: str) -> None:
    """Refuse a file that is nested deeper than any topology, before anything recurs into it."""
    depth = 0
    for event in yaml.parse(text, Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_DEPTH:
            mark = event.start_mark
            raise TopologyError(f"line {mark.line + 1 if mark else 1}: nested too deeply")


def places(node: yaml.Node, place: str, met: set[int]) -> Iterator[tuple[str, int]]:
    """Every place below a node with its line; what an alias repeats stands where it was first."""
    if id(node) in met:
        return
    met.add(id(node))
    inner: list[tuple[str, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        inner = [(str(key.value), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        inner = [(str(row), value, value) for row, value in enumerate(node.value)]
    for name, marked, value in inner:
        below = f"{place}.{name}" if place else name
        yield below, marked.start_mark.line + 1
        yield from places(value, below, met)


def line_of(place: str, lines: Mapping[str, int]) -> int:
    """The line of a place, or of the nearest one around it; the first where there is none."""
    path = place.removeprefix("topology.")
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)
