"""The health of telemetry as a person reads it in a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from pipeline import some_of, worth_a_look
from service.text import Heading, table

HEADINGS = (
    Heading("finding"),
    Heading("about"),
    Heading("said"),
    Heading("count", numeric=True),
    Heading("first frame"),
    Heading("what would tell more"),
)
ENOUGH = "nothing more is needed"
NAMED = 3
"""Findings that the sentence below a table names; of more it says how many."""


def findings_table(findings: Sequence[Mapping[str, Any]]) -> Table:
    """One line a finding."""
    return table(HEADINGS, ([*_row(each)] for each in findings), title="health of the telemetry")


def wrong(findings: Iterable[dict[str, Any]]) -> str:
    """What is surely wrong, as a sentence; empty where nothing is."""
    sure = (each for each in worth_a_look(findings) if each["verdict"] == "yes")
    names = [*dict.fromkeys(each["finding"].replace("_", " ") for each in sure)]
    if not names:
        return ""
    return f"wrong with the telemetry: {some_of(names, NAMED)}; begin with the first"


def _row(each: Mapping[str, Any]) -> Iterator[Any]:
    """One finding's line."""
    sure, subject = each["verdict"] == "yes", each["subject"]
    bold = "bold yellow" if sure and each["class"] == "device" else ""
    yield Text(each["finding"].replace("_", " "), style=bold)
    yield f"{subject['kind']} {subject['name']}"
    yield each["verdict"].replace("_", " ")
    yield f"{each['count']:,}"
    first = each["evidence"].get("first")
    yield f"{first['source']} {first['frame']}" if first else None
    yield None if sure or each["tells"] == ENOUGH else each["tells"]
