"""The text of a topology file as a tree, and the line on which each place of it stands."""

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import yaml

from pipeline.yaml_tree import Builder, TreeError

Tree = Mapping[Any, Any]
Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class TopologyError(ValueError):
    """A topology that cannot be used; the text names the place and its line."""

    def __init__(self, text: str, place: str = "") -> None:
        """`place` is the path of keys, joined by dots."""
        super().__init__(f"{place}: {text}" if place else text)
        self.text = text
        self.place = place
        self.line = 0

    def at(self, lines: Mapping[str, int]) -> "TopologyError":
        """The same with its line in front."""
        line = line_of(self.place, lines)
        made = TopologyError(f"line {line}: {self}")
        made.line, made.place, made.text = line, self.place, self.text
        return made


class SkippedError(TopologyError):
    """A section that is left out for what is wrong in it, which was told before."""


class Faults:
    """What is wrong in a file: the first thing is raised or, where `every` is wanted, all kept."""

    def __init__(self, *, every: bool = False) -> None:
        """Nothing yet."""
        self.every = every
        self.found: list[TopologyError] = []

    def add(self, error: TopologyError) -> None:
        """One thing, that what follows can be read beside."""
        if not self.every:
            raise error
        if not isinstance(error, SkippedError):
            self.found.append(error)

    def tried(
        self, make: Callable[Arguments, Made], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Made | None:
        """What a call makes; None where it cannot."""
        try:
            return make(*args, **kwargs)
        except TopologyError as error:
            self.add(error)
            return None


STRICT = Faults()
"""Raises the first fault."""


def load(text: str, faults: Faults = STRICT) -> tuple[Tree, dict[str, int]]:
    """The tree and the line of each place in it. Raises TopologyError for what is no mapping."""
    made = Builder()
    try:
        made.read(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TopologyError(f"line {mark.line + 1 if mark else 1}: not YAML") from None
    except TreeError as error:
        raise TopologyError(str(error)) from None
    for twice in made.twice:
        faults.add(TopologyError(str(twice)))
    if not isinstance(made.tree, Mapping):
        raise TopologyError("a topology is a mapping with the keys version, devices and hosts")
    return made.tree, made.lines


def line_of(place: str, lines: Mapping[str, int]) -> int:
    """The line of a place, or of the nearest one around it; the first where there is none."""
    path = place.removeprefix("topology.")
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)
