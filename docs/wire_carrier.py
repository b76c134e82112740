"""What leads to a header: numbers, options, branches and places of other headers."""

from collections.abc import Iterable, Iterator

from markdown_text import code

from collector.carriers import edges, option_edges
from collector.settings import CollectorSettings
from collector.wire.table import Header

HEXADECIMAL = frozenset({"ethertype", "ppp", "sll"})
RUN = 3
"""So many numbers in a row are shown as a range."""


def leading(
    own: Iterable[str], tables: Iterable[Header], settings: CollectorSettings
) -> Iterator[tuple[str, str, str]]:
    """(where, number or condition, header) for each way to one of these headers."""
    names = set(own)
    for space, numbers in edges(settings).items():
        for name in sorted(names & set(numbers.values())):
            found = [number for number, to in numbers.items() if to == name]
            yield code(space), ranges(found, hexadecimal=space in HEXADECIMAL), code(name)
    for space, kinds in option_edges(settings).items():
        for (kind, octets), name in sorted(kinds.items()):
            if name in names:
                size = f", {octets} octets" if octets else ""
                yield code(space), f"{kind}{size}", code(name)
    for header in tables:
        yield from _within(header, names)


def _within(header: Header, names: set[str]) -> Iterator[tuple[str, str, str]]:
    """Ways from one other header that is not in this format."""
    if header.name in names:
        return
    for branch in header.branches:
        if branch.to in names:
            when = f"{code(branch.column)} & 0x{branch.mask:x} = 0x{branch.value:x}"
            yield code(header.name), when if branch.mask else "always", code(branch.to)
    if header.to in names:
        yield code(header.name), "always", code(header.to)
    if header.otherwise in names:
        yield code(header.name), "a check of it fails", code(header.otherwise)


def ranges(numbers: Iterable[int], *, hexadecimal: bool = False) -> str:
    """Numbers in order, runs of them as `first–last`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    text = []
    for run in runs:
        shown = [f"0x{number:04x}" if hexadecimal else str(number) for number in run]
        text += [f"{shown[0]}–{shown[-1]}"] if len(run) >= RUN else shown
    return ", ".join(text)
