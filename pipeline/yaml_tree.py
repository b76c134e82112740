"""A YAML text as a tree, with the line of every place, in one pass over the parser's events.

The compiled parser makes events fast. Composing nodes of them, as the library does, takes five
times as long for the many objects that it keeps, and recurs as deeply as a text likes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import yaml

Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""YAML's safe loader, the compiled one where there is one: ten times as fast."""
MOST_DEPTH = 40
"""Levels of a text; no topology has as many."""
MERGE = "tag:yaml.org,2002:merge"
"""Tag of the key `<<`, whose mappings are laid under the one that it stands in."""
TEXT = "tag:yaml.org,2002:str"
PLAIN = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
"""Tags of what is just a mapping or a list."""
UNDER = object()
"""The key `<<` once it is read."""


class TreeError(ValueError):
    """A text that makes no tree, and its line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")


class Level:
    """A mapping or list that is being filled; `name` is the key, as written, of what comes next."""

    __slots__ = ("key", "name", "place", "seen", "tree", "under", "waits")

    def __init__(self, tree: Any, place: str) -> None:
        """A level without content."""
        self.tree, self.place = tree, place
        self.key: Any = None
        self.name, self.waits = "", False
        self.seen: set[str] = set()
        self.under: list[tuple[int, Any]] = []


class Builder:
    """Takes events; `tree` is what they make, `lines` the line of each place, joined by dots.

    `twice` has the keys that are given twice, of which the last one is in the tree.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.tree: Any = None
        self.lines: dict[str, int] = {}
        self.levels: list[Level] = []
        self.anchors: dict[str, Any] = {}
        self.documents = 0
        self.twice: list[TreeError] = []
        self.words: dict[str, Any] = {}
        self.reader = Base("")
        self.takes: Mapping[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar, yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._open, yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close, yaml.SequenceEndEvent: self._close,
            yaml.DocumentStartEvent: self._document,
        }  # fmt: skip

    def read(self, text: str) -> None:
        """The whole text. Raises TreeError, or the library's YAMLError."""
        takes = self.takes
        try:
            for event in yaml.parse(text, Base):
                take = takes.get(type(event))
                if take is not None:
                    take(event)
        finally:
            self.reader.dispose()

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            raise TreeError(line_of(event), "not YAML: a second document begins")

    def _scalar(self, event: Any) -> None:
        """A word, or a key."""
        level = self.levels[-1] if self.levels else None
        if level and type(level.tree) is dict and not level.waits:
            self._key(event, level)
            return
        value = self._meaning(event)
        if event.anchor:
            self.anchors[event.anchor] = value
        self._put(event, value)

    def _key(self, event: Any, level: Level) -> None:
        """A key; one that is given twice is the mistake that it is."""
        name, value = event.value, self._meaning(event)
        if name in level.seen:
            self.twice.append(TreeError(line_of(event), f"{name} is given twice"))
        if event.anchor:
            self.anchors[event.anchor] = value
        level.seen.add(name)
        level.key, level.name, level.waits = value, name, True
        self.lines[f"{level.place}.{name}" if level.place else name] = line_of(event)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise TreeError(line_of(event), f"not YAML: there is no anchor {event.anchor}")
        level = self.levels[-1] if self.levels else None
        if level and type(level.tree) is dict and not level.waits:
            raise TreeError(line_of(event), "not YAML: an alias as a key")
        self._put(event, self.anchors[event.anchor])

    def _open(self, event: Any) -> None:
        """A mapping or list begins."""
        if event.tag not in PLAIN:
            raise TreeError(line_of(event), f"not YAML: what {event.tag} is, is not known")
        if len(self.levels) == MOST_DEPTH:
            raise TreeError(line_of(event), "nested too deeply")
        tree: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.anchor:
            self.anchors[event.anchor] = tree
        self.levels.append(Level(tree, self._put(event, tree)))

    def _close(self, _event: Any) -> None:
        """A mapping or list is whole: what `<<` names stands under its own keys."""
        level = self.levels.pop()
        for line, told in level.under:
            for lower in merged(told, line):
                for key, value in lower.items():
                    level.tree.setdefault(key, value)

    def _put(self, event: Any, value: Any) -> str:
        """A value in its place, which is given."""
        if not self.levels:
            self.tree = value
            return ""
        level = self.levels[-1]
        if type(level.tree) is list:
            name = str(len(level.tree))
            level.tree.append(value)
        elif not level.waits:
            raise TreeError(line_of(event), "not YAML: a key must be a word")
        else:
            name, level.waits = level.name, False
            if level.key is UNDER:
                level.under.append((line_of(event), value))
            else:
                level.tree[level.key] = value
        place = f"{level.place}.{name}" if level.place else name
        if type(level.tree) is list:
            self.lines[place] = line_of(event)
        return place

    def _meaning(self, event: Any) -> Any:
        """What a word means: itself where it is quoted, else what YAML takes it for."""
        if event.tag is None and event.implicit[0]:
            if event.value not in self.words:
                tag = self.reader.resolve(yaml.ScalarNode, event.value, (True, False))
                self.words[event.value] = self._read(event, tag)
            return self.words[event.value]
        return event.value if event.tag in (None, "!", TEXT) else self._read(event, event.tag)

    def _read(self, event: Any, tag: str) -> Any:
        """A word by its tag."""
        if tag in (TEXT, MERGE):
            return event.value if tag == TEXT else UNDER
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            return self.reader.construct_object(node)
        except (ValueError, LookupError, AttributeError):
            raise TreeError(line_of(event), f"not YAML: {event.value!r} is not {tag}") from None


def merged(value: Any, line: int) -> list[Mapping[Any, Any]]:
    """The mappings that `<<` names; of several the first ones hold."""
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(each, Mapping) for each in found):
        raise TreeError(line, "not YAML: << wants mappings")
    return found


def line_of(event: Any) -> int:
    """The line on which an event begins."""
    return int(event.start_mark.line) + 1
