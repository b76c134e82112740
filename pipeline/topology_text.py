"""The text of a topology file as a tree, and the line on which each place of it stands."""

from collections.abc import Mapping
from typing import Any

import yaml

from pipeline.yaml_tree import Builder, TreeError

Tree = Mapping[Any, Any]


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


def load(text: str) -> tuple[Tree, dict[str, int]]:
    """The tree and the line of each place in it. Raises TopologyError for what is no mapping."""
    made = Builder()
    try:
        made.read(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TopologyError(f"line {mark.line + 1 if mark else 1}: not YAML") from None
    except TreeError as error:
        raise TopologyError(str(error)) from None
    if not isinstance(made.tree, Mapping):
        raise TopologyError("a topology is a mapping with the keys version, devices and hosts")
    return made.tree, made.lines


def line_of(place: str, lines: Mapping[str, int]) -> int:
    """The line of a place, or of the nearest one around it; the first where there is none."""
    path = place.removeprefix("topology.")
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)
