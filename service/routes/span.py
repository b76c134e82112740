"""Which time a request is about when it says so only in part: the latest that the store holds."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.endpoint import NS_PER_S, time_text
from service.problem import invalid
from service.reader import Reader
from service.routes.parameter import RangeParameters

LATEST_NS = 600 * NS_PER_S
"""Length of the range that is shown when none is asked for."""

CELLS = 120
"""Cells of a timeline, about."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time range, from its first nanosecond up to but not including `to_ns`."""

    from_ns: int
    to_ns: int

    @property
    def last_ns(self) -> int:
        """The last nanosecond, by whose topology the range is told of."""
        return self.to_ns - 1

    @property
    def bounds(self) -> dict[str, int]:
        """Parameters of queries whose upper end is exclusive."""
        return {"from_ns": self.from_ns, "to_ns": self.to_ns}

    @property
    def touched(self) -> dict[str, int]:
        """Parameters of queries for whatever touches the range, whose upper end is inclusive."""
        return {"from_ns": self.from_ns, "to_ns": self.last_ns}

    def whole(self, step_ns: int) -> "Span":
        """The same, widened to whole cells of that width."""
        return Span(self.from_ns // step_ns * step_ns, -(-self.to_ns // step_ns) * step_ns)


async def chosen(
    reader: Reader, asked: RangeParameters, max_window_s: float, *, of_all: bool = False
) -> Span | None:
    """The range asked for, completed from what the store holds; None when the store is empty.

    With `of_all` that is what it holds of everybody's flows: loads of links are told to all.
    """
    extent = (await reader.ask("extent")).row(0, named=True)
    # From when to when is that of all flows, whoever asks.
    known = extent | {"verdicts": extent["to_ns"]} if of_all else extent
    return completed(known, asked, max_window_s)


def completed(
    extent: Mapping[str, int], asked: RangeParameters, max_window_s: float
) -> Span | None:
    """The range asked for, by what the store holds (a row of query `extent`)."""
    if not extent["verdicts"] and (asked.from_ is None or asked.to is None):
        return None
    to_ns = extent["to_ns"] if asked.to is None else asked.to
    from_ns = asked.from_
    if from_ns is None:
        from_ns = max(min(extent["from_ns"], to_ns - 1), to_ns - LATEST_NS, 0)
    elif asked.to is None:
        stored(from_ns, to_ns)
    check(from_ns, to_ns, max_window_s)
    return Span(from_ns, to_ns)


def ordered(from_ns: int, to_ns: int) -> None:
    """Refuse a range that ends before it begins, or where it does."""
    if to_ns <= from_ns:
        raise invalid({"to": "is not after from"})


def stored(from_ns: int, to_ns: int) -> None:
    """Refuse a range that begins where what is stored has ended."""
    if to_ns <= from_ns:
        raise invalid({"from": f"is not before {time_text(to_ns)}, where what is stored ends"})


def check(from_ns: int, to_ns: int, max_window_s: float) -> None:
    """Refuse a range that is empty or longer than `service.max_window_s`."""
    ordered(from_ns, to_ns)
    if to_ns - from_ns > max_window_s * NS_PER_S:
        raise invalid({"from": f"the range is longer than {max_window_s:g} s; ask for less"})


def check_window(window_ns: int, max_window_s: float) -> None:
    """Refuse a window longer than `service.max_window_s`."""
    if window_ns > max_window_s * NS_PER_S:
        raise invalid({"window": f"is longer than {max_window_s:g} s; ask for less"})


def step(span: Span) -> int:
    """Width of a cell: 1, 2 or 5 times a power of ten ns, so that about `CELLS` cover the range."""
    least = max(1, (span.to_ns - span.from_ns) // CELLS)
    power: int = 10 ** (len(str(least)) - 1)
    widths = [power * digit for digit in (1, 2, 5, 10)]
    return min(width for width in widths if width >= least)


def axis(span: Span, step_ns: int) -> list[int]:
    """Start of each cell of a timeline."""
    return list(range(span.from_ns // step_ns * step_ns, span.to_ns, step_ns))
