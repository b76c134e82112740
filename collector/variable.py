"""What a header carries besides its fields: stacks of records, and type-length-value options."""

import numpy as np
from numpy.typing import NDArray

from collector.graph import FIXED, NONE, Graph
from collector.header import judge, keep, read, signed
from collector.kernel import Record, inlined
from collector.observation import HOPS
from collector.status import CODE

HOP_COUNT = FIXED.index("hop_count")
LAYERS = FIXED.index("layers")
TRUNCATED = CODE["truncated"]
BAD_OPTION = CODE["bad_option"]
TOO_MANY_HOPS = CODE["too_many_hops"]
TCP_STYLE = 0
END_OF_OPTIONS, ONE_OCTET_TCP, ONE_OCTET_IPV6 = 0, 1, 0
SHORTEST = 2
"""Octets of an option that has only a type and a length."""


@inlined
def stack(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    node: Record,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
    active: NDArray[np.int64],
) -> tuple[int, int]:
    """Read the records behind a header: (octets that they take, status)."""
    rule = graph.records[node.records]
    bitmap = out[rule.bitmap0, row]
    if rule.bitmap1 != NONE:
        bitmap = (bitmap << np.uint64(16)) | out[rule.bitmap1, row]
    need, fields = 0, 0
    for number in range(rule.part0, rule.part1):
        part = graph.parts[number]
        if bitmap & part.mask != 0:
            for position in range(part.field0, part.field1):
                active[0, fields] = position
                active[1, fields] = need
                fields += 1
            need += part.octets
    stride = need
    if rule.stride != NONE:
        stride = signed(out[rule.stride, row]) * rule.unit
    total = stride
    if rule.total != NONE:
        total = signed(out[rule.total, row]) * rule.unit + rule.add
    if total < 0 or need > stride or (stride > 0 and total % stride != 0):
        return max(total, 0), rule.reason
    if stride == 0:
        return total, 0 if total == 0 else rule.reason
    count = total // stride
    hops = min(count, HOPS) if rule.per_hop else 1
    status = TOO_MANY_HOPS if rule.per_hop and count > HOPS else 0
    for hop in range(hops):
        start = at + (count - 1 - hop if rule.newest_first else hop) * stride
        if start + stride > end:
            return total, TRUNCATED if rule.per_hop else rule.reason
        base = graph.hop_base + hop * graph.hop_width if rule.per_hop else 0
        for number in range(fields):
            field = graph.fields[active[0, number]]
            out[base + field.column, row] = (
                read(data, start + active[1, number], field) | field.plus
            )
    if rule.per_hop:
        out[HOP_COUNT, row] = hops
    return total, status


@inlined
def option(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    number: int,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
    active: NDArray[np.int64],
) -> int:
    """Read one option that ends at `end` by its own table; the status it ends with."""
    node = graph.nodes[number]
    if at + node.peeked > end:
        return BAD_OPTION
    reason = judge(data, at, node, graph)
    if reason != 0:
        return int(max(reason, 0))
    keep(data, at, node, graph, out, row)
    out[LAYERS, row] |= np.uint64(1) << np.uint64(number - 1)
    if node.records != NONE:
        return stack(data, at + node.octets, end, node, graph, out, row, active)[1]
    return 0


@inlined
def options(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    captured_end: int,
    node: Record,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
    active: NDArray[np.int64],
) -> int:
    """Walk a type-length-value list between `at` and `end`; the worst status of its options."""
    status = 0
    single = ONE_OCTET_TCP if node.style == TCP_STYLE else ONE_OCTET_IPV6
    while at < end:
        if at >= captured_end:
            return TRUNCATED
        kind = data[at]
        if node.style == TCP_STYLE and kind == END_OF_OPTIONS:
            break
        if kind == single:
            at += 1
            continue
        if at + 1 >= end:
            return BAD_OPTION
        if at + 1 >= captured_end:
            return TRUNCATED
        length = signed(data[at + 1]) + (0 if node.style == TCP_STYLE else 2)
        if length < SHORTEST or at + length > end:
            return BAD_OPTION
        if at + length > captured_end:
            return TRUNCATED
        number = graph.options[node.options, kind, min(length, 255)]
        if number > 0:
            ended = option(data, at, at + length, number, graph, out, row, active)
            if ended != 0:
                status = ended
        at += length
    return status
