"""The reference page of the filter language, from its grammar and its tables of fields."""

import inspect
from collections.abc import Iterator

from markdown_text import code, table, title

from pipeline.filter import MOST_CHARACTERS, SUBJECTS, Field, grammar
from pipeline.filter.value import SPELT

ABOUT = {
    "flows": "Of `/api/v1/flows`, `/api/v1/bottlenecks`, `hopsight top` and `watch`. What is said"
    " of the bottleneck is that of the range that is asked about, on intervals of the length that"
    " suits it; `kind` and the hop are those of the largest load, of a bottleneck where there was"
    " one.",
    "links": "Of `/api/v1/links`: each link over the range that is asked about.",
    "link_cells": "Of `/api/v1/te/links`: each row of the answer.",
    "path_cells": "Of `/api/v1/te/paths`: each row of the answer.",
}


def meaning(field: Field) -> str:
    """What a field means, and what it can be where that is known."""
    return " ".join((field.doc, *([f"One of {field.accepted}."] if field.values else ())))


def filters() -> Iterator[str]:
    """The filter language."""
    yield title(
        "Filters",
        'What a filter keeps: `src in 10.0.0.0/8 and stage = "tor" and u.p99 > 0.95`. A filter has'
        f" up to {MOST_CHARACTERS} characters. An error says the column that it is about.",
    )
    told = inspect.getdoc(grammar) or ""
    picture = told.partition("\n\n")[2].rpartition("\n\n")
    yield "```\n" + inspect.cleandoc(picture[0]) + "\n```\n"
    yield " ".join(picture[2].split()) + "\n"
    yield (
        "- `==` is the same as `=`.\n"
        "- `=` and `in` of an address: it lies in the prefix.\n"
        "- `!=`, `!~` and `not in` keep what is known and does not pass `=`, `~` and `in`.\n"
        "- `=` and `in` of an end of paths: its name; of prefixes also those that lie in the one"
        " that is given, or the one that holds the address.\n"
        "- `~` takes `*` for any characters and `?` for one.\n"
        "- A comparison with what is not known is false, and `not` turns it true; `is known` asks"
        " for that alone. A text that is empty is not known.\n"
        "- A quoted text may have any printable sign, a quotation mark or backslash behind a"
        " backslash.\n"
    )
    yield "## Units\n"
    yield (
        "A number without a unit is in the unit of its field. A unit stands behind its number"
        " without a blank: `capacity > 10Gbps`.\n"
    )
    yield table(
        ("unit of the field", "may be written"), ((unit, said) for unit, said in SPELT.items())
    )
    for subject, fields in SUBJECTS.items():
        yield f"## {subject.replace('_', ' ').capitalize()}\n"
        yield f"{ABOUT[subject]}\n"
        yield table(
            ("field", "kind", "unit", "meaning"),
            ((code(each.name), each.kind, each.unit, meaning(each)) for each in fields),
        )
