"""Which columns still decide once a header has been read.

A field decides when a rule of its own header looks at its column, or one of a header that can
follow before another writes that column anew. What only others would look at decides nothing: the
port of a TCP header is no reason for a layout of its own because headers behind UDP ask for ports.
"""

from collections.abc import Iterable, Mapping

from collector.wire.table import Header

Names = frozenset[str]


def deciding(
    tables: Iterable[Header],
    edges: Mapping[str, Mapping[int, str]],
    options: Mapping[str, Mapping[tuple[int, int], str]],
) -> dict[str, Names]:
    """By header the columns that something looks at which stands there or behind it."""
    known = {header.name: header for header in tables}
    found = {name: _looked_at(header) for name, header in known.items()}
    written = {name: _written(header) for name, header in known.items()}
    early = {name: _lengths(header) for name, header in known.items()}
    behind = {name: _behind(header, known, edges) for name, header in known.items()}
    beside: dict[str, set[str]] = {name: set() for name in known}
    for name, header in known.items():
        for option in _listed(options[header.options[0]].values(), known) if header.options else ():
            beside[name].add(option)
            beside[option].add(name)
    changed = True
    while changed:
        changed = False
        for name, columns in reversed(found.items()):
            # A header reads its fields before its rules look at them, but for some lengths.
            later = (found[each] - written[each] | early[each] for each in behind[name])
            found[name] = columns.union(*later, *(found[each] for each in beside[name]))
            changed |= found[name] != columns
    return found


def _written(header: Header) -> Names:
    """Columns that a header writes."""
    fields = {field.column for field in header.fields if field.column}
    return frozenset(fields | {name for name, _ in header.marks})


def _lengths(header: Header) -> Names:
    """Columns that lengths look at, some before the header's own fields are read."""
    rules = (header.length, header.extent, header.trailer, header.options_at)
    return frozenset(rule.column for rule in rules if rule is not None and rule.column)


def _looked_at(header: Header) -> Names:
    """Columns that the rules of a header look at."""
    names: set[str | None] = {branch.column for branch in header.branches}
    names |= {branch.divides for branch in header.branches}
    if (stack := header.records) is not None:
        names |= {*stack.bitmap, stack.stride, stack.total, stack.skip, stack.count}
        names |= {stack.tail[0]} if stack.tail else set()
    return _lengths(header) | frozenset(name for name in names if name)


def _behind(
    header: Header, known: Mapping[str, Header], edges: Mapping[str, Mapping[int, str]]
) -> tuple[str, ...]:
    """Headers that can follow a header, and those that are tried in their place."""
    spaces = {branch.space for branch in header.branches} | {
        header.next[1] if header.next else None
    }
    names = {branch.to for branch in header.branches} | {header.to}
    names |= {name for space in spaces if space for name in edges[space].values()}
    return _listed((name for name in names if name), known)


def _listed(names: Iterable[str], known: Mapping[str, Header]) -> tuple[str, ...]:
    """Headers, and those that are tried in their place when a check fails."""
    found: dict[str, None] = {}
    for name in sorted(set(names)):
        at: str | None = name
        while at is not None and at in known:
            found[at] = None
            at = known[at].otherwise
    return tuple(found)
