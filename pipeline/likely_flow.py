"""The flow that a question most likely means, before the store has been asked. Pure.

A flow is named by a hash of its key, of which a question tells all but, often, the protocol and
whose network it is: those that most flows have are taken. So its rows can be asked for while it
is looked for; where it was another one they are thrown away.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from collector import ROCE_PORT, TCP, flow_keys, salt
from pipeline.flow_finding import whole_ends
from pipeline.flow_rows import FlowWindow
from pipeline.question import Question
from pipeline.signals import reverse_flow

NONE = 0
"""In the hash of a key: no virtual network, and nothing that a direction has for itself."""


def likely_window(question: Question) -> FlowWindow | None:
    """The window of that flow; None where only the flow's rows say when it ends, or which it is.

    Of RoCE each direction has a queue pair, of which no question tells.
    """
    last_ns = question.last_ns
    if last_ns is None or ROCE_PORT in {question.sport, question.dport}:
        return None
    protocol = TCP if question.protocol is None else question.protocol
    network = question.tenant or "", question.vrf or "", question.vni or NONE
    ends = question.src, question.sport, question.dst, question.dport
    begin_ns = last_ns + 1 - question.window_ns
    return FlowWindow(*hashes_of(Question(*ends, protocol, None, 0, *network)), begin_ns, last_ns)


@lru_cache(maxsize=4096)
def hashes_of(flow: Question) -> tuple[int, int]:
    """The hashes of a flow and of its reverse: who watches a flow asks for it again and again."""
    asked = whole_ends(flow)
    ends = [np.array([asked[name]], np.uint64) for name in ("src_hi", "src_lo", "dst_hi", "dst_lo")]
    ports = [np.array([asked[name]], np.uint16) for name in ("sport", "dport")]
    protocol = np.array([flow.protocol], np.uint8)
    rest = [np.array([value], np.uint32) for value in (flow.vni, NONE)]
    conversation, forward = np.empty(1, np.uint64), np.empty(1, np.uint64)
    direction = np.empty(1, np.uint8)
    begins = salt(flow.tenant or "", flow.vrf or "")
    hashed: Any = flow_keys
    hashed(*ends, *ports, protocol, *rest, begins, conversation, forward, direction)
    return int(forward[0]), reverse_flow(int(conversation[0]), int(direction[0]))
