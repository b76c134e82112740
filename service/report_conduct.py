"""What a report says of the conduct of senders, receivers and the way back."""

from collections.abc import Mapping
from typing import Any

from service.conform_text import HEADINGS, meanings, not_decided, row, totals
from service.report import Part, Section, Table

MOST_LINES = 100
"""Findings, and things that are not decided, that are told."""


def conduct_section(answer: Mapping[str, Any]) -> Section:
    """Findings as `hopsight conform` has them, and what was not decided."""
    findings, undecided = answer["findings"], answer["undecided"]
    parts: list[Part] = [f"{totals(answer)}."]
    if findings:
        heads = [heading.title for heading in HEADINGS]
        parts.append(Table(heads, [[*row(each)] for each in findings[:MOST_LINES]]))
        parts += meanings(findings)
    if undecided:
        told = [[not_decided(each)] for each in undecided[:MOST_LINES]]
        parts.append(Table(("not decided",), told))
    left = [f"{len(rows) - MOST_LINES:,} more {what}" for rows, what in
            ((findings, "findings"), (undecided, "things that are not decided"))
            if len(rows) > MOST_LINES]  # fmt: skip
    parts += [f"{text}; hopsight conform has all." for text in left]
    return Section("Conduct of senders and receivers", parts)
