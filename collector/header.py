"""One header of a frame: its checks, its lengths, its fields, and what follows it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.graph import ECN, FLOW_LAYERS, OUTER_ECN, Graph
from collector.graph_dtype import HANDED_ON, NONE
from collector.kernel import Record, step
from collector.script import (
    AGAIN,
    BOUNDS,
    END,
    EXTENT,
    FLOOR,
    FLOW,
    HANDS,
    HIGHEST,
    HOPS,
    LAYERS,
    LOOKUPS,
    MATCHABLE,
    MORE,
    MOST_BOUNDS,
    MOST_LOOKUPS,
    READS,
    REST,
    REST_AT,
    REST_END,
    STATUS,
    TRAILER,
    WIRE_END,
    WITHIN,
    Script,
    decide,
    drop,
    fetch,
    push,
    push_constant,
    signed,
)

FLOW_ENVELOPE, MIRROR_ENVELOPE = 1, 2
HIGHEST_KEY = 0xFFFF
Data = NDArray[np.uint8]


@step
def judge(data: Data, start: int, at: int, node: Record, graph: Graph, s: Script) -> Any:
    """0 when the header's checks hold, else the reason's code; NONE when it is another header."""
    for row in range(node.check0, node.check1):
        check = graph.checks[row]
        value = fetch(data, start + at, check.field)
        decide(s, data, start, at, check.field)
        if value < check.low or value > check.high:
            return check.reason
    return 0


@step
def octets(data: Data, at: int, size: Record, s: Script) -> Any:
    """Octets by a length rule."""
    if size.unit == 0:
        return size.add
    value = s.register[size.column] if size.column != NONE else fetch(data, at, size.field)
    if size.flags != 0:
        bits = value & size.flags
        value = np.uint64(0)
        while bits != 0:
            bits &= bits - np.uint64(1)
            value += np.uint64(1)
    return signed(value) * size.unit + size.add


@step
def rules(data: Data, start: int, at: int, node: Record, graph: Graph, s: Script) -> None:
    """The fields whose values decide what else is read."""
    for number in range(node.field0, node.field1):
        field = graph.fields[number]
        if field.rule != 0:
            decide(s, data, start, at, field)


@step
def enter(node: Record, graph: Graph, s: Script) -> None:
    """Forget what an envelope makes meaningless.

    All of what lies before a mirror, but for what is handed on to rows that begin behind, and the
    outer flow of an overlay but for its congestion mark.
    """
    if node.envelope == MIRROR_ENVELOPE:
        s.n[LAYERS] = s.n[STATUS] = s.n[HOPS] = 0
        drop(s, HANDS * (s.n[REST] != 0), 0)
    elif node.envelope == FLOW_ENVELOPE and s.n[LAYERS] & graph.scalars[FLOW_LAYERS] != 0:
        mark = NONE
        for number in range(s.n[READS]):
            if s.reads[number].column == graph.scalars[ECN]:
                mark = number
        if mark != NONE:
            s.reads[mark].column = graph.scalars[OUTER_ECN]
            s.reads[mark].flags = HIGHEST
        drop(s, FLOW, FLOW)
        s.n[LAYERS] &= ~graph.scalars[FLOW_LAYERS]


@step
def keep(data: Data, start: int, at: int, node: Record, graph: Graph, s: Script) -> None:
    """The header's fields and constants are to be read; those that steer are read now."""
    flags = FLOW if node.flow != 0 else 0
    for number in range(node.field0, node.field1):
        field = graph.fields[number]
        if field.column == NONE:
            continue
        s.register[field.column] = fetch(data, start + at, field) | field.plus
        s.register_at[field.column] = at
        s.register_field[field.column] = number
        if field.kept == HANDED_ON:
            if s.n[REST] == 0:
                push(s, at, field, field.column, HANDS)
        elif field.kept != 0:
            push(s, at, field, field.column, flags)
    for number in range(node.mark0, node.mark1):
        mark = graph.marks[number]
        s.register[mark.column] = mark.value
        s.register_field[mark.column] = NONE
        if mark.kept != 0:
            push_constant(s, mark.value, mark.column, flags)
    s.n[LAYERS] |= signed(node.layer)


@step
def bound(s: Script, at: int, size: Record, kind: int, octets: int) -> None:
    """Note a length that bounds the frame, to be read again in every frame of this layout."""
    number = s.n[BOUNDS]
    if number >= MOST_BOUNDS:
        s.n[MATCHABLE] = 0
        return
    row = s.bounds[number]
    row.header, row.kind, row.open = at, kind, size.open
    row.at, row.shift, row.mask = at + size.field.first, size.field.shift, size.field.mask
    row.little, row.unit, row.add = size.field.little, size.unit, size.add
    if size.unit == 0 or size.column != NONE or size.flags != 0 or kind == TRAILER:
        row.unit, row.add = 0, octets
    s.n[BOUNDS] = number + 1


@step
def extend(data: Data, start: int, at: int, size: int, node: Record, s: Script) -> bool:
    """Take in what a header says of the octets of itself and its load; False: it cannot be."""
    rule = node.extent
    value = s.register[rule.column] if rule.column != NONE else fetch(data, start + at, rule.field)
    again = node.again > 0 and s.n[REST] == 0
    dynamic = rule.column == NONE and rule.flags == 0
    if dynamic:
        bound(s, at, rule, AGAIN if again else WITHIN if node.again > 0 else EXTENT, size)
        if again:
            s.n[REST] = node.again
    if rule.unit != 0 and value == rule.open:
        return True
    extent = octets(data, start + at, rule, s)
    if extent < size:
        s.n[MATCHABLE] = 0
        return False
    beyond = node.again > 0 and at + extent > s.n[WIRE_END]
    if beyond:
        extent = s.n[WIRE_END] - at
    if beyond or not dynamic:
        s.n[MATCHABLE] = 0
    if node.again > 0 and at + extent < s.n[WIRE_END]:
        if again:
            s.n[REST] = node.again
            s.n[REST_AT], s.n[REST_END] = at + extent, s.n[WIRE_END]
        else:
            s.n[MORE], s.n[MATCHABLE] = 1, 0
    s.n[WIRE_END] = at + extent
    s.n[END] = min(s.n[END], at + extent)
    s.n[FLOOR] = max(s.n[FLOOR], at + size)
    return True


@step
def lead(s: Script, at: int, field: Record, space: int, to: int) -> None:
    """A number that is one of many has led to `to`."""
    number = s.n[LOOKUPS]
    if number >= MOST_LOOKUPS:
        s.n[MATCHABLE] = 0
        return
    row = s.lookups[number]
    row.at, row.shift, row.mask = at + field.first, field.shift, field.mask
    row.little, row.space, row.to = field.little, space, to
    s.n[LOOKUPS] = number + 1


@step
def led(data: Data, start: int, at: int, field: Record, space: int, graph: Graph, s: Script) -> Any:
    """What a number space has for a field."""
    to = signed(
        graph.spaces[space, signed(fetch(data, start + at, field) & np.uint64(HIGHEST_KEY))]
    )
    if to > 0 and graph.exact[space, to] != 0:
        decide(s, data, start, at, field)
    else:
        lead(s, at, field, space, to)
    return to


@step
def taken(branch: Record, s: Script) -> bool:
    """Whether a branch's condition holds."""
    value = s.register[branch.column] & branch.mask
    if branch.divides == NONE:
        return bool(value == branch.value)
    if value < branch.value:
        return False
    return bool(signed(value - branch.value) % max(signed(s.register[branch.divides]), 1) == 0)


@step
def follow(data: Data, start: int, at: int, node: Record, graph: Graph, s: Script) -> Any:
    """Number of the header that follows, 0 for payload, or a negative status."""
    for number in range(node.branch0, node.branch1):
        branch = graph.branches[number]
        if taken(branch, s):
            if branch.to > 0:
                return branch.to
            chosen = s.register_field[branch.select]
            if chosen == NONE:
                key = signed(s.register[branch.select] & np.uint64(HIGHEST_KEY))
                return signed(graph.spaces[branch.space, key])
            # A column that no header of this frame wrote is 0 in every frame of the layout.
            if s.register_at[branch.select] < 0:
                return signed(graph.spaces[branch.space, 0])
            return led(data, start, s.register_at[branch.select], graph.fields[chosen],
                       branch.space, graph, s)  # fmt: skip
    if node.space != NONE:
        to = led(data, start, at, node.next, node.space, graph, s)
        if to != 0:
            return to
    return node.to
