"""Receivers that acknowledge several segments together: RFC 8257, section 3.2.

A change of CE is answered at once, with the old mark for what came before; so is data out of order.
"""

from typing import Any

from collector import inner

HELD = -2
"""`first_ns` of an ACK that waits for more segments."""


@inner
def speaks(ack: Any, flow: Any, item: int) -> bool:
    """Whether an ACK that has waited long enough goes out: no other has said what it would say."""
    if flow.held != item or flow.waiting == 0:
        return False
    ack.first_ns = -1
    ack.seq = flow.rcv_nxt
    ack.ece = flow.last_ce
    flow.waiting = 0
    return True


@inner
def changes(packet: Any, flow: Any) -> bool:
    """Whether data changes CE while segments wait: these are acknowledged first."""
    if flow.waiting == 0 or packet.ce == flow.last_ce:
        return False
    flow.waiting = 0
    return True


@inner
def waits(packet: Any, flow: Any, expected: bool) -> bool:
    """Whether the ACK of this data waits for more."""
    flow.last_ce = packet.ce
    flow.waiting += 1
    if expected and flow.waiting < flow.each:
        return True
    flow.waiting = 0
    flow.held = -1
    return False
