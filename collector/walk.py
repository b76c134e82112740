"""One compiled interpreter reads every frame by the tables of `collector.graph`.

Each frame ends in exactly one status. A row of the matrix belongs to a frame only as far as its
`layers` say: what none of them wrote means nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.carriers import SPACES
from collector.frame import Frames
from collector.graph import FIXED, NONE, Graph, Plan
from collector.header import judge, keep, octets, read, signed
from collector.kernel import Record, borrowing, inlined
from collector.status import CODE
from collector.variable import options, stack
from collector.wire.table import WORD_LIMIT

LAYERS, STATUS, PAYLOAD, HOP_COUNT, OUTER_ECN, ECN = range(len(FIXED))
MOST_LAYERS = 24
MOST_ACTIVE = 64
"""Fields of one hop's record that can be kept."""
LINK_TYPE = tuple(SPACES).index("link_type")
TRUNCATED = CODE["truncated"]
BAD_LENGTH = CODE["bad_length"]
TOO_MANY_LAYERS = CODE["too_many_layers"]
FLOW, MIRROR = 1, 2
OUTER = 4
"""Stands in `outer_ecn` beside the mark when there is an outer header at all."""
HIGHEST_KEY = 0xFFFF
SKEW = 8
"""Columns a power of two apart would all fall into the same few lines of the processor's cache."""


@inlined
def follow(
    data: NDArray[np.uint8],
    at: int,
    node: Record,
    graph: Graph,
    out: NDArray[np.uint64],
    row: int,
) -> Any:
    """Number of the header that follows, 0 for payload, or a negative status."""
    for number in range(node.branch0, node.branch1):
        branch = graph.branches[number]
        if out[branch.column, row] & branch.mask == branch.value:
            if branch.to > 0:
                return branch.to
            key = signed(out[branch.select, row] & np.uint64(HIGHEST_KEY))
            return graph.spaces[branch.space, key]
    if node.space != NONE:
        key = signed(read(data, at, node.next) & np.uint64(HIGHEST_KEY))
        return graph.spaces[node.space, key]
    return node.to


@inlined
def enter(node: Record, graph: Graph, out: NDArray[np.uint64], row: int) -> None:
    """Forget the layers that an envelope makes meaningless, and with them what they wrote.

    These are all before a mirror, and the outer flow of an overlay but for its congestion mark.
    """
    if node.envelope == MIRROR:
        for column in (LAYERS, STATUS, OUTER_ECN):
            out[column, row] = 0
    elif node.envelope == FLOW and out[LAYERS, row] & graph.flow_layers != 0:
        out[OUTER_ECN, row] = max(out[OUTER_ECN, row], out[ECN, row] | np.uint64(OUTER))
        out[LAYERS, row] &= ~graph.flow_layers


@inlined
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
    """Walk one frame from header `number` at octet `at`; how it ends.

    What is wrong inside a header of known size is noted as the status, and the walk goes on.
    """
    for _ in range(MOST_LAYERS):
        node = graph.nodes[number]
        if at + node.peeked > captured_end:
            return TRUNCATED
        reason = judge(data, at, node, graph)
        if reason != 0:
            return int(max(reason, 0))
        size = octets(data, at, node.length)
        if size < node.octets:
            return BAD_LENGTH
        enter(node, graph, out, row)
        keep(data, at, node, graph, out, row)
        out[LAYERS, row] |= np.uint64(1) << np.uint64(number - 1)
        if node.extent.unit != 0:
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
        if status == TRUNCATED:
            return TRUNCATED
        if status != 0:
            out[STATUS, row] = status
        number = follow(data, at, node, graph, out, row)
        at += size
        if number <= 0:
            return -number
        if at >= wire_end:
            return 0
    return TOO_MANY_LAYERS


@borrowing
def walk_frames(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    captured: NDArray[np.int32],
    length: NDArray[np.int32],
    link: NDArray[np.uint16],
    graph: Graph,
    out: NDArray[np.uint64],
    active: NDArray[np.int64],
) -> None:
    """Walk every frame; column `row` of `out` belongs to frame `row`, `active` is scratch space."""
    for row in range(offset.size):
        at = offset[row]
        number = signed(graph.spaces[LINK_TYPE, link[row]])
        if number <= 0:
            out[STATUS, row] = -number
            continue
        end = at + captured[row]
        ended = frame(
            data, at, end, at + max(length[row], captured[row]), number, graph, out, row, active
        )
        if out[STATUS, row] == 0:
            out[STATUS, row] = ended


def walk(frames: Frames, plan: Plan) -> NDArray[np.uint64]:
    """Decode frames into a matrix of shape [len(plan.columns), frames], one row a column."""
    size = frames.offset.size
    out = np.zeros((len(plan.columns), size + SKEW), np.uint64)[:, :size]
    walk_frames(
        frames.data if frames.data.size >= WORD_LIMIT else np.resize(frames.data, WORD_LIMIT),
        frames.offset,
        frames.captured,
        frames.length,
        frames.link,
        plan.graph,
        out,
        np.empty((2, MOST_ACTIVE), np.int64),
    )
    return out
