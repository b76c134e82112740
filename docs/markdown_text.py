"""The few pieces of Markdown that the generated pages are made of."""

from collections.abc import Iterable
from typing import Any

LONGEST_VALUE = 60


def title(name: str, sentence: str) -> str:
    """How a page begins."""
    return f"# {name}\n\n<!-- written by `make docs`, not by hand -->\n\n{sentence}\n"


def table(head: tuple[str, ...], body: Iterable[tuple[Any, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *body]
    return "\n".join(f"| {' | '.join(cell(value) for value in line)} |" for line in lines) + "\n"


def cell(value: Any) -> str:
    """Text that a table can hold."""
    return str(value if value is not None else "").replace("|", "\\|").replace("\n", " ")


def code(value: Any) -> str:
    """A name or a value as it is typed; nothing for none."""
    return "" if value is None or value == "" else f"`{value}`"


def shortened(value: Any) -> str:
    """A default that fits a table."""
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
