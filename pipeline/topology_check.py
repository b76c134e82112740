"""What is inconsistent in a topology file, and what it does not tell: by line."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipeline.link_check import links, ports
from pipeline.locator_check import csig, shared_locators, unfit
from pipeline.place_check import hosts, overlaps, points, reach, sites
from pipeline.topology import Topology
from pipeline.topology_file import parse
from pipeline.topology_text import Faults, TopologyError

Level = Literal["inconsistent", "unknown"]
Told = tuple[Level, str, str]
"""Level, place and sentence."""
CHECKS: tuple[Callable[[Topology], Iterable[Told]], ...] = (
    ports, links, hosts, overlaps, reach, points, sites, csig, unfit, shared_locators,
)  # fmt: skip
"""Each looks at one version as a whole."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or missing: where it stands, and a sentence."""

    level: Level
    version: str
    line: int
    place: str
    sentence: str


def findings(text: str) -> list[Finding]:
    """All findings of a file, by line: why it cannot be read, and what the rest of it tells."""
    faults = Faults(every=True)
    versions = faults.tried(parse, text, faults) or []
    wrong = {fault_of(error): None for error in faults.found}
    told = [
        Finding(level, parsed.fields["version"], parsed.line(place), parsed.place(place), said)
        for parsed in versions
        for level, place, said in told_of(Topology(**parsed.fields), refused=bool(wrong))
    ]
    known = {(fault.line, fault.sentence.rpartition(": ")[2]) for fault in wrong}
    return sorted(
        [*wrong, *(one for one in told if (one.line, one.sentence) not in known)],
        key=lambda finding: (finding.line, finding.place, finding.sentence),
    )


def fault_of(error: TopologyError) -> Finding:
    """A fault as a finding; one that is of no place may name a line."""
    if error.place:
        return Finding("inconsistent", "", error.line or 1, error.place, error.text)
    place, _, said = str(error).partition(": ")
    line = place.removeprefix("line ")
    if not (place.startswith("line ") and line.isdecimal()):
        return Finding("inconsistent", "", 1, "", str(error))
    return Finding("inconsistent", "", int(line), "", said)


def told_of(topology: Topology, *, refused: bool) -> Iterator[Told]:
    """What every check tells of one version, of one that is `refused` as far as they go through."""
    for check in CHECKS:
        try:
            yield from check(topology)
        except (ArithmeticError, ValueError, pl.exceptions.PolarsError):
            if not refused:
                raise
