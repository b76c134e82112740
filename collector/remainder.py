"""What of an option no table explains: kept as it is, with its length."""

import numpy as np

from collector.graph import Graph
from collector.graph_dtype import NONE
from collector.kernel import Record, step
from collector.script import Script, push, push_constant
from collector.wire.place import WORD_LIMIT


@step
def remain(at: int, end: int, node: Record, graph: Graph, s: Script) -> None:
    """The octets from `at` to the option's end are to be read: how many, and the first of them."""
    if node.remainder == NONE:
        return
    left = end - at
    push_constant(s, np.uint64(left), node.remaining, 0)
    if left > 0:
        field = graph.fields[node.remainder + min(left, WORD_LIMIT) - 1]
        push(s, at, field, field.column, 0)
