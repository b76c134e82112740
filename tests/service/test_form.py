"""Forms of texts: every pattern that a stranger meets is told in words."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from service.app import create_app
from service.form import SAID, lacking, said_of
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


class Told(BaseModel):
    """One field of each kind that is told in other words than pydantic's."""

    name: str
    some: list[int] = Field(min_length=1)
    few: dict[str, int] = Field(max_length=1)
    pair: tuple[int, ...] = ()


def test_values_that_are_refused_are_told_in_our_words() -> None:
    with pytest.raises(ValidationError) as caught:
        Told.model_validate({"some": [], "few": {"a": 1, "b": 2}, "pair": 3})
    assert {str(each["loc"][0]): said_of(each) for each in caught.value.errors()} == {
        "name": "is required",
        "some": "should have 1 or more items",
        "few": "should have at most 1 items",
        "pair": "should be a list",
    }
