"""Axes of a sweep: a name and the values that it takes; several make a grid."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from service.assignment import same
from service.failure import ExitCode, Failure

MOST_POINTS = 100_000
DIGITS = 12
FORM = "NAME=A,B,C or NAME=LOW..HIGH:COUNT"


@dataclass(frozen=True)
class Axis:
    """One name and its values, as they are typed."""

    name: str
    values: tuple[str, ...]

    @property
    def cells(self) -> tuple[float | str, ...]:
        """The values as a column of results has them: numbers where all of them are."""
        try:
            return tuple(map(float, self.values))
        except ValueError:
            return self.values


def axis(text: str) -> Axis:
    """An axis as it is typed: values with commas, or so many between two ends, both included."""
    name, equals, told = text.partition("=")
    low, dots, rest = told.partition("..")
    if not name or not equals or not told:
        raise Failure(ExitCode.USAGE, f"--sweep {text!r} is not of the form {FORM}")
    if not dots:
        values = tuple(dict.fromkeys(value.strip() for value in told.split(",")))
        if not all(values):
            raise Failure(ExitCode.USAGE, f"--sweep {text}: a value is empty")
        return Axis(name, values)
    high, colon, count = rest.partition(":")
    try:
        size = int(count) if colon else 0
        ends = float(low), float(high)
    except ValueError:
        size, ends = 0, (0.0, 0.0)
    few(max(size, 0))
    steps = np.linspace(*ends, max(size, 0))
    if steps.size < 2 or not np.isfinite(steps).all():  # noqa: PLR2004 - both ends
        raise Failure(ExitCode.USAGE, f"--sweep {text!r} is not of the form {FORM}")
    return Axis(name, tuple(f"{step:.{DIGITS}g}" for step in steps))


def grid(
    texts: Sequence[str], fixed: Sequence[str] = ()
) -> tuple[tuple[Axis, ...], list[tuple[str, ...]]]:
    """The axes, and every point as assignments in their order. Failure for one too many.

    `fixed` are the changes of every point, of which none may be of an axis.
    """
    axes = tuple(map(axis, texts))
    for each, text in product(axes, fixed):
        if same(each.name, text.partition("=")[0].strip()):
            raise Failure(
                ExitCode.USAGE, f"--sweep {each.name}: --what-if {text} sets it too; leave one out"
            )
    for one, other in combinations([each.name for each in axes], 2):
        if one == other:
            raise Failure(ExitCode.USAGE, f"--sweep {one}: told twice; one axis has all its values")
        if same(one, other):
            raise Failure(ExitCode.USAGE, f"--sweep {one}: {other} sets it too; leave one out")
    few(math.prod(len(each.values) for each in axes))
    return axes, list(points(axes))


def few(count: int) -> None:
    """Failure for more points than are worked out, before room is made for them."""
    if count > MOST_POINTS:
        raise Failure(ExitCode.USAGE, f"--sweep: {count:,} points are more than {MOST_POINTS:,}")


def points(axes: Sequence[Axis]) -> Iterator[tuple[str, ...]]:
    """Every combination; the last axis moves fastest."""
    for values in product(*(each.values for each in axes)):
        yield tuple(f"{each.name}={value}" for each, value in zip(axes, values, strict=True))


def each_value(axes: Sequence[Axis]) -> Iterator[tuple[str, ...]]:
    """Points that have every value of every axis, and no more of them than there are values."""
    first = [f"{axis.name}={axis.values[0]}" for axis in axes]
    yield tuple(first)
    for number, axis in enumerate(axes):
        for value in axis.values[1:]:
            yield (*first[:number], f"{axis.name}={value}", *first[number + 1 :])
