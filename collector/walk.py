"""One compiled interpreter reads every frame by the tables of `collector.graph`.

Each frame ends in exactly one status. A row of the matrix belongs to a frame only as far as its `layers` say:
what was not walked is zero and means nothing.
"""

import numpy as np
from numpy.typing import NDArray

from collector.carriers import SPACES
from collector.frame import Frames
from collector.graph import FIXED, HOPS, NONE, Graph, Plan
from collector.kernel import kernel
from collector.status import CODE

LAYERS, STATUS, PAYLOAD, HOP_COUNT, OUTER_ECN, ECN = range(len(FIXED))
MOST_LAYERS = 24
MOST_ACTIVE = 64
"""Fields of one hop's record that can be kept."""
LINK_TYPE = tuple(SPACES).index("link_type")
TRUNCATED = CODE["truncated"]
BAD_LENGTH = CODE["bad_length"]
BAD_OPTION = CODE["bad_option"]
TOO_MANY_LAYERS = CODE["too_many_layers"]
TOO_MANY_HOPS = CODE["too_many_hops"]
TCP_STYLE, FLOW, MIRROR = 0, 1, 2
END_OF_OPTIONS, ONE_OCTET_TCP, ONE_OCTET_IPV6 = 0, 1, 0
HIGHEST_KEY = 0xFFFF


@kernel
def read(data: NDArray[np.uint8], at: int, field: np.void) -> np.uint64:
    """Value of one field of the header that starts at octet `at`."""
    value = np.uint64(0)
    start = at + field.first
    for position in range(start, start + field.octets):
        value = (value << np.uint64(8)) | np.uint64(data[position])
    return (value >> np.uint64(field.shift)) & field.mask


@kernel
def octets(data: NDArray[np.uint8], at: int, size: np.void) -> int:
    """Octets by a length rule."""
    value = read(data, at, size.field)
    if size.flags != 0:
        bits = value & size.flags
        count = 0
        while bits != 0:
            bits &= bits - np.uint64(1)
            count += 1
        return count * size.unit + size.add
    return np.int64(value) * size.unit + size.add


@kernel
def judge(data: NDArray[np.uint8], at: int, node: np.void, graph: Graph) -> int:
    """0 when the header's checks hold, the reason's code when one fails, NONE to skip the header."""
    for row in range(node.check0, node.check1):
        check = graph.checks[row]
        value = read(data, at, check.field)
        if value < check.low or value > check.high:
            return check.reason
    return 0


@kernel
def keep(
    data: NDArray[np.uint8], at: int, node: np.void, graph: Graph, out: NDArray[np.uint64], row: int
) -> None:
    """Write the header's kept fields and constants."""
    for number in range(node.field0, node.field1):
        field = graph.fields[number]
        out[field.column, row] = read(data, at, field) | field.plus
    for number in range(node.mark0, node.mark1):
        mark = graph.marks[number]
        out[mark.column, row] = mark.value


@kernel
def stack(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    node: np.void,
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
        stride = np.int64(out[rule.stride, row]) * rule.unit
    total = stride
    if rule.total != NONE:
        total = np.int64(out[rule.total, row]) * rule.unit + rule.add
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


@kernel
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
    if at + node.octets > end:
        return BAD_OPTION
    reason = judge(data, at, node, graph)
    if reason != 0:
        return max(reason, 0)
    keep(data, at, node, graph, out, row)
    out[LAYERS, row] |= np.uint64(1) << np.uint64(number - 1)
    if node.records != NONE:
        return stack(data, at + node.octets, end, node, graph, out, row, active)[1]
    return 0


@kernel
def options(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    captured_end: int,
    node: np.void,
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
        length = np.int64(data[at + 1]) + (0 if node.style == TCP_STYLE else 2)
        if length < 2 or at + length > end:
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


@kernel
def follow(
    data: NDArray[np.uint8],
    at: int,
    captured_end: int,
    node: np.void,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
) -> int:
    """Number of the header that follows, 0 for payload, or a negative status."""
    for number in range(node.branch0, node.branch1):
        branch = graph.branches[number]
        if out[branch.column, row] & branch.mask == branch.value:
            if branch.to > 0:
                return branch.to
            key = np.int64(out[branch.select, row] & np.uint64(HIGHEST_KEY))
            return graph.spaces[branch.space, key]
    if node.space != NONE:
        if at + node.next.first + node.next.octets > captured_end:
            return -TRUNCATED
        key = np.int64(read(data, at, node.next) & np.uint64(HIGHEST_KEY))
        return graph.spaces[node.space, key]
    return node.to


@kernel
def enter(node: np.void, graph: Graph, out: NDArray[np.uint64], row: int) -> None:
    """Forget what an envelope makes meaningless: all behind a mirror, the outer flow in an overlay."""
    if node.envelope == MIRROR:
        out[:, row] = 0
    elif node.envelope == FLOW and out[LAYERS, row] & graph.flow_layers != 0:
        out[OUTER_ECN, row] = max(out[OUTER_ECN, row], out[ECN, row])
        for column in graph.flow_columns:
            out[column, row] = 0
        out[LAYERS, row] &= ~graph.flow_layers


@kernel
def frame(
    data: NDArray[np.uint8],
    at: int,
    captured_end: int,
    wire_end: int,
    number: int,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
    active: NDArray[np.int64],
) -> int:
    """Walk one frame from header `number` at octet `at`; its status."""
    for _ in range(MOST_LAYERS):
        node = graph.nodes[number]
        if at + node.octets > captured_end:
            return TRUNCATED
        reason = judge(data, at, node, graph)
        if reason != 0:
            return max(reason, 0)
        size = np.int64(node.octets)
        if node.length.present:
            size = octets(data, at, node.length)
            if size < node.octets:
                return BAD_LENGTH
        enter(node, graph, out, row)
        keep(data, at, node, graph, out, row)
        out[LAYERS, row] |= np.uint64(1) << np.uint64(number - 1)
        if node.extent.present:
            extent = octets(data, at, node.extent)
            # Zero is a length that offloads leave for the network card to fill in.
            if extent != node.extent.add:
                if extent < size:
                    return BAD_LENGTH
                wire_end = at + extent
                captured_end = min(captured_end, wire_end)
        status = 0
        if node.options != NONE:
            status = options(
                data, at + node.octets, at + size, captured_end, node, graph, out, row, active
            )
        if node.records != NONE:
            taken, status = stack(
                data, at + node.octets, captured_end, node, graph, out, row, active
            )
            size += taken
        out[PAYLOAD, row] = max(wire_end - at - size, 0)
        if status != 0:
            return status
        number = follow(data, at, captured_end, node, graph, out, row)
        at += size
        if number <= 0:
            return -number
        if at >= wire_end:
            return 0
    return TOO_MANY_LAYERS


@kernel
def walk_frames(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    link: NDArray[np.uint16],
    graph: Graph,
    out: NDArray[np.uint64],
) -> None:
    """Walk every frame; column `row` of `out` belongs to frame `row`."""
    active = np.empty((2, MOST_ACTIVE), np.int64)
    for row in range(offset.size):
        at = offset[row]
        number = np.int64(graph.spaces[LINK_TYPE, link[row]])
        if number <= 0:
            out[STATUS, row] = -number
            continue
        end = at + captured[row]
        out[STATUS, row] = frame(
            data, at, end, at + max(length[row], captured[row]), number, graph, out, row, active
        )


def walk(frames: Frames, plan: Plan) -> NDArray[np.uint64]:
    """Decode frames into a matrix of shape [len(plan.columns), frames], one row a column."""
    out = np.zeros((len(plan.columns), frames.offset.size), np.uint64)
    walk_frames(
        frames.data,
        frames.offset,
        frames.captured,
        frames.length,
        frames.link,
        plan.graph,
        out,
    )
    return out
