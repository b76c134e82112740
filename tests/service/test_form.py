"""Forms of texts: every pattern that a stranger meets is told in words."""

from collections.abc import Iterator
from typing import Any

from service.app import create_app
from service.form import SAID, lacking
from service.settings import Settings


def patterns(tree: Any) -> Iterator[str]:
    """Every pattern of a document."""
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if name == "pattern" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from patterns(value)


def test_every_pattern_of_the_api_has_words() -> None:
    store: Any = None
    found = {*patterns(create_app(Settings(), store).openapi())}
    assert found
    assert found <= SAID.keys()


def test_a_pattern_without_words_is_told_itself() -> None:
    assert lacking("^x$") == "is not of the form ^x$"
