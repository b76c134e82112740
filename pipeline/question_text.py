"""The texts of questions, out of the files of `pipeline/sql`, with what they share and filters.

`-- part: NAME` stands for what several questions share, `pipeline/sql/part/NAME.sql`. Where a text
has `-- filter: SUBJECT [COLUMNS]` a filter over that subject may be put: with columns, these have
to be among the rows that it keeps (`pipeline/sql/filter/SUBJECT.sql`); without, it sifts the
answer's own rows. Every value is a parameter.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from pipeline.store_error import StoreError

PART = re.compile(r"^-- part: (\w+)\n", re.MULTILINE)
"""Where a question says what it shares with others."""
FILTER = re.compile(r"^-- filter: (\w+)(?: (.+))?\n", re.MULTILINE)
CONDITION = "-- condition\n"
COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
"""Lines for people, which the engine would read each time."""
PARAMETER = re.compile(r"\{(\w+):[^{}]+\}")


@dataclass(frozen=True)
class Text:
    """What the engine is asked, the parameters that the asker gives, and those of the filter."""

    sql: str
    wanted: frozenset[str]
    own: dict[str, Any]


@cache
def question(name: str) -> str:
    """Text of `pipeline/sql/<name>.sql`. Raises StoreError for a name that is no file there."""
    place = resources.files("pipeline") / "sql" / f"{name}.sql"
    if not name.isidentifier() or not place.is_file():
        raise StoreError(f"there is no query {name!r}")
    return _whole(place.read_text(encoding="utf-8"))


@cache
def parameters_of(name: str) -> frozenset[str]:
    """Names of the parameters that a query takes without a filter."""
    return frozenset(PARAMETER.findall(question(name)))


@lru_cache(maxsize=256)
def asked(name: str, told: str) -> Text:
    """A question with a filter; an empty one keeps everything.

    Raises StoreError for a question that takes none, FilterError for a filter that is wrong.
    """
    text = question(name)
    if not told:
        return Text(COMMENT.sub("", text), parameters_of(name), {})
    from pipeline.filter import condition

    found = FILTER.search(text)
    if found is None:
        raise StoreError(f"query {name} takes no filter")
    made = condition(found[1], told)
    folder = resources.files("pipeline") / "sql" / "filter"
    file = found[1] if found[2] else "cells"
    inner = _whole((folder / f"{file}.sql").read_text(encoding="utf-8"))
    inner = inner.replace(CONDITION, f"{made.sql}\n")
    if found[2]:
        inner = f"AND {found[2]} IN (\n{inner})\n"
    whole = COMMENT.sub("", FILTER.sub(lambda _: inner, text))
    return Text(
        whole, frozenset(PARAMETER.findall(whole)) - made.parameters.keys(), made.parameters
    )


def _whole(text: str) -> str:
    """A text with its parts, and theirs."""
    parts = resources.files("pipeline") / "sql" / "part"
    whole = PART.sub(lambda part: (parts / f"{part[1]}.sql").read_text(encoding="utf-8"), text)
    return whole if whole == text else _whole(whole)
