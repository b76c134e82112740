"""Tables and numbers for a terminal; plain text of the same shape when piped."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline import protocol_name
from service.endpoint import Endpoint, parse_address

PIPED_WIDTH = 240
"""Columns of a table that no terminal limits."""

NONE = "–"
NEARLY_ALL = 0.995
"""A share from which on whole percents would say that it is all."""
REPLACED = "\N{REPLACEMENT CHARACTER}"

DURATIONS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
RATES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of a table: its title, and whether it holds numbers."""

    title: str
    numeric: bool = False
    style: str | None = None


def console() -> Console:
    """Standard output: as wide as the terminal, or wide enough for every column when piped.

    Brackets are brackets: an IPv6 endpoint, or a name of strangers, is never taken for markup.
    """
    return Console(
        width=None if sys.stdout.isatty() else PIPED_WIDTH,
        highlight=False,
        soft_wrap=False,
        markup=False,
    )


def progress_console() -> Console:
    """Standard error, where progress is shown so that output can be piped."""
    return Console(stderr=True, highlight=False, markup=False)


def table(
    headings: Sequence[Heading], rows: Iterable[Sequence[Any]], title: str | None = None
) -> Table:
    """A table of cells; cells that are no text are shown as they are printed, None as a dash."""
    made = Table(
        box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, title_style="bold"
    )
    for heading in headings:
        made.add_column(
            heading.title,
            justify="right" if heading.numeric else "left",
            style=heading.style,
            # Where all does not fit, names go on in the next line: a number cut off is another one.
            no_wrap=heading.numeric,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    return made


def _cell(value: Any) -> str:
    return NONE if value is None or value == "" else printable(str(value))


def printable(text: str) -> str:
    """A text of strangers without what steers a terminal: each such character is replaced."""
    return "".join(REPLACED if category(each).startswith("C") else each for each in text)


def several(count: int, what: str) -> str:
    """So many of something: "1 row", "2,000 rows"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def load(u: float | None) -> str:
    """Hop load with two decimals."""
    return NONE if u is None else f"{u:.2f}"


LARGE, LARGEST = 9999.5, 1e15
"""Between which a number is written out: beyond people count the powers of ten."""


def number(value: float | None) -> str:
    """A number with four digits, or more where it is a large one."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if LARGE <= abs(value) < LARGEST else f"{value:.4g}"


def share(value: float | None) -> str:
    """A share as whole percent; what is nearly all is not said to be all, nor a little none."""
    if value is None:
        return NONE
    if 0 < value < 1 - NEARLY_ALL:
        return "< 1 %"
    return "> 99 %" if NEARLY_ALL <= value < 1 else f"{100 * value:.0f} %"


def signed(value: float, form: str, unit: str) -> str:
    """A difference with its sign, which is a minus and no hyphen; what is shown as 0 has none."""
    text = f"{value:+{form}}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return f"{text} {unit}".replace("-", "−", 1)


def _scaled(value: float, units: Iterable[tuple[str, float]], digits: int = 3) -> str:
    for unit, size in units:
        if abs(value) >= size:
            text = f"{value / size:.{digits}g}"
            # 1,010 of what 1,024 make one more of is no power of ten.
            return f"{value / size:.0f} {unit}" if "e" in text else f"{text} {unit}"
    return "0"


def duration(ns: float | None) -> str:
    """A length of time with the largest unit that fits."""
    return NONE if ns is None else _scaled(ns, DURATIONS)


def rate(bps: float | None) -> str:
    """A rate with a decimal prefix."""
    if bps is None:
        return NONE
    return f"{_scaled(bps, RATES)}bit/s" if abs(bps) >= 1 else "0 bit/s"


def size(value: float | None) -> str:
    """Bytes with a binary prefix."""
    return NONE if value is None else _scaled(value, SIZES)


def flow(src: str, sport: int, dst: str, dport: int, protocol: int) -> str:
    """A flow as people write it: `10.0.0.1:40000 → 10.0.1.1:5001 tcp`."""
    ends = (Endpoint(parse_address(src), sport), Endpoint(parse_address(dst), dport))
    return f"{ends[0]} → {ends[1]} {protocol_name(protocol)}"
