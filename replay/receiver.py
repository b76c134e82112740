"""Receivers that acknowledge several segments together, and those whose applications read slowly.

A change of CE is answered at once, with the old mark for what came before; so is data out of order
(RFC 8257, section 3.2). A slow application leaves data in the socket's buffer; what room is left,
in whole segments, is the window of the next acknowledgment. Its end never moves back (RFC 9293,
section 3.8.6), and once there is room for none, an acknowledgment of its own says that there is.
"""

from typing import Any

from collector import inner

HELD, UPDATE = -2, -3
"""`first_ns` of an ACK that waits for more segments, and of one that waits for room."""
NS = 8_000_000_000
OPENED = 2
"""Segments for which there must be room before a closed window is opened."""


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


@inner
def keep(flow: Any, octets: int, now: int) -> None:
    """Put data into the socket's buffer."""
    flow.empty_ns = max(flow.empty_ns, now) + octets * NS // flow.drain_bps


@inner
def window(flow: Any, now: int) -> int:
    """What the socket's buffer has room for, in whole segments."""
    unread = max(flow.empty_ns - now, 0) * flow.drain_bps // NS
    free = max(flow.socket_bytes - unread, 0) // flow.payload * flow.payload
    flow.edge = max(flow.edge, flow.rcv_nxt + free)
    return int(flow.edge - flow.rcv_nxt)


@inner
def reads(flow: Any) -> int:
    """When the application will have read so much that the window is worth opening."""
    most = max(flow.socket_bytes - OPENED * flow.payload, 0)
    return int(flow.empty_ns - most * NS // flow.drain_bps)


@inner
def opens(ack: Any, flow: Any, now: int) -> None:
    """The window has opened: say so, and what has come since."""
    ack.first_ns = -1
    ack.seq = flow.rcv_nxt
    ack.window = window(flow, now)
    flow.updating = 0
