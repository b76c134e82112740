"""Type-length-value lists: each option by its own table."""

import numpy as np

from collector.graph import Graph
from collector.graph_dtype import NONE
from collector.header import Data, judge, keep, rules
from collector.kernel import Record, step
from collector.remainder import remain
from collector.script import END, NEED, Script, decide, fetch, guard, signed
from collector.stack import stack
from collector.status import CODE
from collector.wire.place import OCTET, WORD_LIMIT

TRUNCATED = CODE["truncated"]
BAD_OPTION = CODE["bad_option"]


@step
def foreign(
    data: Data, start: int, at: int, end: int, node: Record, graph: Graph, s: Script
) -> bool:
    """Whether what there is of a header that reaches past `end` shows that it is another."""
    for row in range(node.check0, node.check1):
        check = graph.checks[row]
        octets = WORD_LIMIT - signed(check.field.shift) // OCTET
        if check.reason == NONE and at + check.field.first + octets <= end:
            decide(s, data, start, at, check.field)
            value = fetch(data, start + at, check.field)
            if value < check.low or value > check.high:
                return True
    return False


@step
def option(data: Data, start: int, at: int, end: int, number: int, graph: Graph, s: Script) -> int:
    """Read one option that ends at `end` by its own table; the status it ends with.

    One that is longer than the option, and is not shown to be another by what there is of it, is an
    error, unless a rival fits.
    """
    none = 0
    while number > 0:
        node = graph.nodes[number]
        if at + node.octets > end:
            if not foreign(data, start, at, end, node, graph, s):
                none = BAD_OPTION
            number = node.otherwise
            continue
        reason = judge(data, start, at, node, graph, s)
        if reason == 0:
            rules(data, start, at, node, graph, s)
            keep(data, start, at, node, graph, s)
            behind, status = at + node.octets, 0
            if node.records != NONE:
                taken, status = stack(data, start, at, behind, end, end, node, graph, s)
                behind += taken
            if status == 0:
                remain(behind, end, node, graph, s)
            return status
        if reason > 0:
            return int(reason)
        number = node.otherwise
    return none


@step
def options(
    data: Data, start: int, at: int, end: int, node: Record, graph: Graph, s: Script
) -> int:
    """Walk a type-length-value list between `at` and `end`; the worst status of its options."""
    status = BAD_OPTION if at > end else 0
    style = graph.styles[node.style]
    octet = np.uint64(0xFF) << np.uint64(56)
    while at < end:
        if at >= s.n[END]:
            return TRUNCATED
        kind = signed(data[start + at])
        s.n[NEED] = max(s.n[NEED], at + 1)
        if kind in (style.end, style.single):
            guard(s, data, start, at, octet)
            if kind == style.end:
                break
            at += 1
            continue
        # The first octet has decided, as far as it could stand alone.
        if style.single >= 0:
            guard(s, data, start, at, octet)
        if at + style.shortest > end:
            return BAD_OPTION
        if at + style.shortest > s.n[END]:
            return TRUNCATED
        kind = signed(data[start + at + style.kind])
        guard(s, data, start, at + style.kind, octet)
        guard(s, data, start, at + style.length, style.mask << np.uint64(56))
        length = signed(np.uint64(data[start + at + style.length]) & style.mask) * style.unit
        length += style.add + signed(graph.extra[node.options, kind])
        if length < style.shortest or at + length > end:
            return BAD_OPTION
        if at + length > s.n[END]:
            return TRUNCATED
        s.n[NEED] = max(s.n[NEED], at + length)
        number = signed(graph.options[node.options, kind, min(length, 255)])
        if number > 0:
            ended = option(data, start, at, at + length, number, graph, s)
            if ended != 0:
                status = ended
        at += length
    return status
