"""Plain values as Lua writes them."""

from collections.abc import Iterator, Mapping
from typing import Any

KEYWORDS = frozenset(("and", "do", "end", "function", "goto", "local", "nil", "not", "or", "repeat",
                      "then", "until"))  # fmt: skip
"""Words of Lua that are names in Python."""
PLAIN = frozenset(range(ord(" "), ord("~") + 1)) - {ord('"'), ord("\\")}
"""Octets that a text has as they are."""
WIDTH = 96
"""Columns of a line of the written script."""


def literal(value: Any, depth: int = 0) -> str:
    """A value of dicts, lists, texts, numbers and booleans as a Lua expression."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    items = list(_items(value, depth))
    short = f"{{{', '.join(items)}}}"
    if len(short) + 2 * depth <= WIDTH and "\n" not in short:
        return short
    inside = "".join(f"{'  ' * (depth + 1)}{item},\n" for item in items)
    return f"{{\n{inside}{'  ' * depth}}}"


def _items(value: Any, depth: int) -> Iterator[str]:
    """What stands between the braces of a table."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            bare = isinstance(key, str) and key.isidentifier() and key not in KEYWORDS
            yield f"{key if bare else f'[{literal(key)}]'} = {literal(item, depth + 1)}"
    else:
        for item in value:
            yield literal(item, depth + 1)


def quoted(text: str) -> str:
    """A text between quotes: the escapes of Lua, three digits an octet that is no plain ASCII."""
    plain = (chr(octet) if octet in PLAIN else f"\\{octet:03d}" for octet in text.encode())
    return f'"{"".join(plain)}"'
