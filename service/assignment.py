"""Assignments, NAME=VALUE: which parameter each of them is of, and that none is told twice."""

from collections.abc import Iterable, Mapping
from itertools import combinations

from pipeline import COMPANIONS, Parameter, Value, parameter_table, parse
from service.failure import ExitCode, Failure

OTHERS = ("collector", "fabric", "pipeline")
"""Sections whose names are no parameters of congestion control."""
AND_SETTINGS = ", collector.NAME and pipeline.NAME"
"""What a command line accepts besides."""


def told_once(option: str, assignments: Iterable[str]) -> None:
    """Failure for a name that `option` tells twice, by whatever name: only one value would hold."""
    names = [text.partition("=")[0].strip() for text in assignments]
    for one, other in combinations(names, 2):
        if one == other:
            raise Failure(ExitCode.USAGE, f"{option} {one}: told twice; one value is accepted")
        if same(one, other):
            raise Failure(ExitCode.USAGE, f"{option} {one}: {other} sets it too; leave one out")


def same(one: str, other: str) -> bool:
    """Whether two names may set one parameter: without an algorithm a name is that of all."""
    (owner, _, own), (owner_too, _, own_too) = one.rpartition("."), other.rpartition(".")
    if {owner, owner_too} & {*OTHERS}:
        return one == other
    return own == own_too and (owner == owner_too or not owner or not owner_too)


def parameter_of(
    name: str, value: str, tables: Mapping[str, tuple[Parameter, ...]]
) -> dict[str, dict[str, Value]]:
    """A parameter by algorithm; Failure says what is accepted."""
    algorithm, dot, own = name.rpartition(".")
    own_tables = {algorithm: tables.get(algorithm, ())} if dot else tables
    known = {a: t for a, t in own_tables.items() if any(row.name == own for row in t)}
    if not known:
        reason = f"no parameter is called {name!r}; {hint(name, tables)}"
        raise Failure(ExitCode.USAGE, f"--set: {reason}")
    try:
        return {algorithm: parse(table, [f"{own}={value}"]) for algorithm, table in known.items()}
    except ValueError as error:
        meant = f" (it is meant for {' and '.join(known)})" if len(known) > 1 else ""
        raise Failure(ExitCode.USAGE, f"--set {name}: {error}{meant}") from None


def hint(name: str, tables: Mapping[str, tuple[Parameter, ...]]) -> str:
    """What is accepted in the place of a name, or who would know it."""
    algorithm, dot, own = name.rpartition(".")
    idle = [each for each in COMPANIONS if each not in tables and (not dot or each == algorithm)]
    knows = [each for each in idle if any(row.name == own for row in parameter_table(each))]
    if knows:
        return f"{' and '.join(knows)} would know it: name it in pipeline.companions"
    if dot and algorithm in tables:
        others = [each for each in tables if any(row.name == own for row in tables[each])]
        known = [f"{each}.{own}" for each in others]
        known += [f"{algorithm}.{row.name}" for row in tables[algorithm]]
        return f"accepted are {', '.join(known)}"
    accepted = ", ".join(sorted({row.name for table in tables.values() for row in table}))
    return f"accepted are {accepted}{AND_SETTINGS}"
