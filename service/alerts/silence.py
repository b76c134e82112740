"""Silences and maintenance windows: which alerts are not delivered, and until when."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import polars as pl
from pydantic import Field

from pipeline import TABLES
from service.endpoint import DAY_NS
from service.form import LABEL, Text

KINDS = ("silence", "maintenance")
MOST_DAYS = 366
LONGEST_NS = MOST_DAYS * DAY_NS
"""The farthest end, from now: the same day of the next year, also of a leap year."""
Labels = Mapping[str, str]
Matchers = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=64, pattern=LABEL)], Text],
    Field(min_length=1, max_length=20, description="Labels an alert must have; * is any text."),
]
"""What can be asked for; silences that were kept before may have other texts."""


def like(wanted: str, text: str) -> bool:
    """Whether a text fits a matcher, in which * stands for any text.

    Part by part: a pattern of many stars would be tried in more ways than anybody can wait for.
    """
    first, *rest = wanted.split("*")
    if not rest:
        return text == wanted
    last = rest.pop()
    at, end = len(first), len(text) - len(last)
    if end < at or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in rest:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@dataclass(frozen=True, slots=True)
class Silence:
    """One silence; `matchers` are labels that an alert must have, * stands for any text."""

    id: str
    written_ns: int
    from_ns: int
    to_ns: int
    matchers: Labels
    kind: str
    author: str
    comment: str

    def fits(self, labels: Labels, now_ns: int) -> bool:
        """Whether an alert is silent now. Without matchers every one is."""
        return self.from_ns <= now_ns < self.to_ns and all(
            name in labels and like(wanted, labels[name]) for name, wanted in self.matchers.items()
        )

    def ended(self, now_ns: int) -> Self:
        """The same, over now."""
        return replace(self, written_ns=now_ns, to_ns=now_ns)

    def row(self) -> pl.DataFrame:
        """The silence as a row of the store."""
        told = {name: getattr(self, name) for name in self.__slots__}
        told["matchers"] = json.dumps(dict(self.matchers), sort_keys=True)
        return pl.DataFrame([told], schema=TABLES["silences"].schema)

    def shown(self) -> dict[str, Any]:
        """The silence as answers have it."""
        return {name: getattr(self, name) for name in self.__slots__}


def silences_of(rows: pl.DataFrame) -> list[Silence]:
    """Silences out of rows of the store."""
    return [
        Silence(**{**row, "matchers": json.loads(row["matchers"])})
        for row in rows.iter_rows(named=True)
    ]


def ending(silences: Iterable[Silence], name: str, now_ns: int) -> Silence:
    """The silence of that name, over now. KeyError's text is a sentence where there is none."""
    for each in silences:
        if each.id == name:
            return each.ended(now_ns)
    raise KeyError(f"no silence {name!r} is in force or to come")


def silencing(silences: Iterable[Silence], labels: Labels, now_ns: int) -> list[str]:
    """Names of the silences that an alert is under."""
    return [each.id for each in silences if each.fits(labels, now_ns)]
