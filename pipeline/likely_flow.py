"""The flow that a question most likely means, before the store has been asked. Pure.

A flow is named by a hash of its key, of which a question tells all but, often, the protocol and
whose network it is: those that most flows have are taken. So its rows can be asked for while it
is looked for; where it was another one they are thrown away.
"""

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
    asked = whole_ends(question)
    ends = [np.array([asked[name]], np.uint64) for name in ("src_hi", "src_lo", "dst_hi", "dst_lo")]
    ports = [np.array([asked[name]], np.uint16) for name in ("sport", "dport")]
    protocol = np.array([TCP if question.protocol is None else question.protocol], np.uint8)
    rest = [np.array([value], np.uint32) for value in (question.vni or NONE, NONE)]
    conversation, flow = np.empty(1, np.uint64), np.empty(1, np.uint64)
    direction = np.empty(1, np.uint8)
    begins = salt(question.tenant or "", question.vrf or "")
    hashed: Any = flow_keys
    hashed(*ends, *ports, protocol, *rest, begins, conversation, flow, direction)
    return FlowWindow(
        int(flow[0]),
        reverse_flow(int(conversation[0]), int(direction[0])),
        last_ns + 1 - question.window_ns,
        last_ns,
    )
