"""The walk of one frame: header by header, until payload or a reason to end."""

from typing import Any

import numpy as np

from collector.graph import Graph
from collector.graph_dtype import NONE
from collector.header import Data, bound, enter, extend, follow, judge, keep, octets, rules
from collector.kernel import step
from collector.options import options
from collector.script import (
    EMPTY,
    END,
    END_AT,
    FLOOR,
    MATCHABLE,
    NEED,
    PAYLOAD,
    STATUS,
    WIRE_END,
    Script,
)
from collector.stack import stack
from collector.status import CODE

MOST_LAYERS = 24
TRUNCATED = CODE["truncated"]
BAD_LENGTH = CODE["bad_length"]
TOO_MANY_LAYERS = CODE["too_many_layers"]


@step
def begin(s: Script, captured: int, wire: int) -> None:
    """Clear the scratch space for a frame."""
    s.n[:] = 0
    s.n[MATCHABLE] = 1
    s.n[END] = captured
    s.n[WIRE_END] = wire
    s.guard_mask[:] = np.uint64(0)
    s.guard_value[:] = np.uint64(0)
    s.register[:] = np.uint64(0)
    s.register_at[:] = NONE
    s.register_field[:] = 0


@step
def frame(data: Data, start: int, number: int, graph: Graph, s: Script) -> Any:
    """Walk one frame from header `number` at octet `start` of the data; how it ends.

    What is wrong inside a header of known size is noted as the status, and the walk goes on.
    """
    at, layer = s.n[END_AT], 0
    while layer < MOST_LAYERS:
        node = graph.nodes[number]
        s.n[END_AT] = at
        guessed = node.check0 < node.check1 and graph.checks[node.check0].reason == NONE
        if guessed and at + node.octets > s.n[WIRE_END]:
            s.n[MATCHABLE] = 0
            reason = NONE
        elif at + node.octets > s.n[END]:
            s.n[MATCHABLE] = 0
            return node.short if at + node.octets > s.n[WIRE_END] else TRUNCATED
        else:
            s.n[NEED] = max(s.n[NEED], at + node.octets)
            reason = judge(data, start, at, node, graph, s)
        if reason != 0:
            if layer == 0:
                # Nothing has said yet what the payload is: it is none, not all.
                s.n[MATCHABLE] = 0
            if reason > 0 or node.otherwise == 0:
                return max(reason, 0)
            number = node.otherwise
            continue
        layer += 1  # a header that is tried in vain is none
        rules(data, start, at, node, graph, s)
        size = octets(data, start + at, node.length, s)
        if node.peek == 0 and size < node.octets:
            s.n[MATCHABLE] = 0
            return BAD_LENGTH
        enter(node, graph, s)
        keep(data, start, at, node, graph, s)
        if node.extends != 0 and not extend(data, start, at, size, node, s):
            return BAD_LENGTH
        if node.trailer.unit != 0 or node.trailer.add != 0:
            less = octets(data, start + at, node.trailer, s)
            bound(s, at, node.trailer, 2 * (node.octets >= 0), less)
            s.n[WIRE_END] -= less
        status = 0
        if node.options != NONE:
            first = at + octets(data, start + at, node.options_at, s)
            status = options(data, start, first, at + size, node, graph, s)
        if node.records != NONE:
            taken, worse = stack(
                data, start, at, at + size, s.n[END], s.n[WIRE_END], node, graph, s
            )
            size += taken
            if worse != 0:
                status = worse
        s.n[PAYLOAD] = max(s.n[WIRE_END] - at - size, 0)
        if status == TRUNCATED:
            s.n[MATCHABLE] = 0
            return TRUNCATED
        if status != 0:
            s.n[STATUS] = status
        to = follow(data, start, at, node, graph, s)
        at += size
        s.n[END_AT] = at
        if to <= 0:
            return -to
        if at >= s.n[WIRE_END]:
            s.n[EMPTY] = 1
            return 0
        s.n[FLOOR] = max(s.n[FLOOR], at + 1)
        number = to
    return TOO_MANY_LAYERS
