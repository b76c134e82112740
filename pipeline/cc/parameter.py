"""Parameters of congestion control as tables, from which records, checks and the reference derive.

One line a parameter: name (the document's), default, unit, the closed range it may take (or its
named choices), one sentence, and the section that it comes from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Value = float | int | str
Record = Any
"""A numpy record: attribute access in plain Python, a typed record inside a kernel."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: one of the named `choices`, stored as their index, or low <= value <= high.

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
        """The number that stands for `value`; ValueError says in a sentence what is accepted."""
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} takes {' or '.join(self.choices)}, not {value!r}")
            return self.choices.index(str(value))
        whole = isinstance(self.default, int)
        try:
            number = nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):  # settings may hold anything
            number = nan
        if not self.low <= number <= self.high or (whole and number != int(number)):
            raise ValueError(f"{self.name} takes {self.accepted()}, not {value!r}")
        return int(number) if whole else number

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


def state_dtype(*groups: tuple[Any, ...]) -> np.dtype[Any]:
    """A record of groups (type, name, name, …); a type is "f8" or, for an array, ("i8", length)."""
    fields = []
    for kind, *names in groups:
        form = (kind,) if isinstance(kind, str) else (kind[0], (kind[1],))
        fields += [(name, *form) for name in names]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def as_made(array: NDArray[Any]) -> NDArray[Any]:
    """An array as it was before it was written to a file, which tells names, types and places.

    That these are records of `state_dtype` it does not tell; code is compiled for those.
    """
    kind = array.dtype
    if kind.fields is None or kind.names is None:
        return array
    told: Any = {
        "names": [*kind.names], "formats": [kind.fields[name][0] for name in kind.names],
        "offsets": [kind.fields[name][1] for name in kind.names], "itemsize": kind.itemsize,
    }  # fmt: skip
    return array.view(np.dtype((np.record, np.dtype(told, align=True))))


def record(table: tuple[Parameter, ...], values: Mapping[str, Value] | None = None) -> Record:
    """The defaults, changed by `values`, as one record; ValueError names what is not accepted."""
    made = np.zeros(1, record_dtype(table))
    chosen = {row.name: row.default for row in table} | known(table, values or {})
    for row in table:
        made[row.name] = row.number(chosen[row.name])
    return made[0]


def known(table: Iterable[Parameter], values: Mapping[str, Value]) -> dict[str, Value]:
    """`values` when the table has every name; else ValueError with the names that it has."""
    names = [row.name for row in table]
    for name in values:
        if name not in names:
            raise ValueError(f"no parameter is called {name!r}; accepted are {', '.join(names)}")
    return dict(values)


def records(
    values: Mapping[str, Value], *tables: tuple[Parameter, ...]
) -> tuple[np.ndarray[Any, Any], ...]:
    """A record a table, each as an array of one; ValueError names what no table accepts."""
    known([row for table in tables for row in table], values)
    made = []
    for table in tables:
        own = record(table, {row.name: values[row.name] for row in table if row.name in values})
        made.append(np.array([own], own.dtype))
    return tuple(made)


def parse(table: tuple[Parameter, ...], assignments: Iterable[str]) -> dict[str, Value]:
    """Texts NAME=VALUE (the command line's `--set`) as checked values; ValueError as above."""
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
