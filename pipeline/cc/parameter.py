"""Parameters of congestion control as tables, from which records, checks and the reference derive.

One line a parameter: name (the document's), default, unit, the closed range it may take (or its
named choices), one sentence, and the section that it comes from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

Value = float | int | str
Record = Any
"""A numpy record: attribute access in plain Python, a typed record inside a kernel."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `choices` are named values, stored as their index; else `low <= value <= high`.

    A whole-number default makes a whole-number parameter.
    """

    name: str
    default: Value
    unit: str
    low: float
    high: float
    doc: str
    section: str
    choices: tuple[str, ...] = ()

    def number(self, value: Value) -> float | int:
        """The number that stands for `value`; ValueError with one sentence when it is not accepted."""
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} takes {' or '.join(self.choices)}, not {value!r}")
            return self.choices.index(str(value))
        kind = int if isinstance(self.default, int) else float
        try:
            number = kind(value)
        except (ValueError, OverflowError):
            number = kind(-1) if self.low >= 0 else kind(self.low - 1)
        whole = kind is float or number == float(
            value if isinstance(value, int | float) else number
        )
        if not (isfinite(number) and whole and self.low <= number <= self.high):
            raise ValueError(f"{self.name} takes {self.accepted()}, not {value!r}")
        return number

    def accepted(self) -> str:
        """What the parameter accepts, as a person reads it: "a number from 0 to 1"."""
        if self.choices:
            return " or ".join(self.choices)
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{kind} from {self.low:g} to {self.high:g} {self.unit}".rstrip()


def record_dtype(table: Iterable[Parameter]) -> np.dtype[Any]:
    """The record that a kernel reads: one i8 or f8 a parameter."""
    fields = [
        (row.name, "i8" if row.choices or isinstance(row.default, int) else "f8") for row in table
    ]
    return np.dtype((np.record, np.dtype(fields)))


def record(table: tuple[Parameter, ...], values: Mapping[str, Value] | None = None) -> Record:
    """One parameter record: the defaults, changed by `values` (checked; ValueError names the fault)."""
    made = np.zeros(1, record_dtype(table))
    chosen = {row.name: row.default for row in table} | known(table, values or {})
    for row in table:
        made[row.name] = row.number(chosen[row.name])
    return made[0]


def known(table: Iterable[Parameter], values: Mapping[str, Value]) -> Mapping[str, Value]:
    """`values` as they are when the table has every name; else ValueError with the accepted names."""
    names = [row.name for row in table]
    for name in values:
        if name not in names:
            raise ValueError(f"no parameter is called {name!r}; accepted are {', '.join(names)}")
    return values


def parse(table: tuple[Parameter, ...], assignments: Iterable[str]) -> dict[str, Value]:
    """`NAME=VALUE` texts as checked values, for the command line's `--set`; ValueError names the fault."""
    values: dict[str, Value] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text!r} is not of the form NAME=VALUE")
        known(table, {name: value})
        row = next(row for row in table if row.name == name)
        values[name] = value if row.choices else row.number(value)
    record(table, values)
    return values
