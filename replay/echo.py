"""ECE that no CE explains: what a receiver sets although nothing that reached it was marked.

Seen at a tap beside the receiver. Neither of DCTCP's receivers nor of a classic one, which sets ECE
from a CE until CWR, is ECE to be expected while all data since ECE was last known to be clear came
unmarked: since the handshake, CWR, or an ACK without ECE. An ACK that came too late for its data
may tell of a queue behind the tap that marked, and then nothing is known until ECE is clear again;
nor is it after a hole, or after data that is sent again, which has no CWR (RFC 3168 section 6.1.5).
"""

from typing import Any

from numpy.typing import NDArray

from collector import inlined
from replay.conduct import TIMED, Act
from replay.opening import ECE
from replay.sighting import CE, Ints, Seen, note

SOON = 1.25
"""Times the handshake's answer: what comes later may have waited in a queue behind the tap."""


@inlined
def unclear(s: Any, end: int) -> None:
    """Until an ACK of `end`, ECE may be due for something that was not seen."""
    s.clear = 0
    s.clear_end = max(s.clear_end, end)


@inlined
def timed(s: Any, end: int, seen: Seen, at: int) -> None:
    """New data that ends before `end` passes the tap."""
    place = s.data_count % TIMED
    s.data_ends[place], s.data_times[place] = end, seen.time_ns[at]
    s.data_frames[place], s.data_sources[place] = seen.frame[at], seen.source[at]
    s.data_count += 1


@inlined
def told(s: Any, end: int, ecn: int, cwr: bool) -> None:
    """What new data tells of ECE to come: CWR is processed before CE."""
    if ecn == CE:
        unclear(s, end)
    elif cwr:
        s.clear = 1
        s.clear_end = end
        s.clear_shown = 0


@inlined
def place_of(s: Any, ack: int) -> int:
    """Where the time of the data stands that an ACK of something new ends with, or -1."""
    place = -1
    if ack > s.una:
        for number in range(TIMED):
            if s.data_ends[number] == ack:
                place = number
    return place


@inlined
def answered(s: Any, echo: bool, ack: int, soon: bool) -> bool:
    """An ACK passes, soon after its data or not; whether its ECE is not to be explained."""
    if ack < s.clear_end or ack <= s.una:
        return False
    if not echo:
        s.clear_acks += 1 if s.clear and soon else 0
        s.clear = 1
        s.clear_shown = 0
        return False
    if not s.clear or not soon:
        s.clear = 0
        return False
    s.clear_acks += 1
    s.clear_echoes += 1
    s.clear_onsets += 1 if s.clear_shown == 0 else 0
    s.clear_shown = 1
    return True


@inlined
def hear(s: Any, o: Any, seen: Seen, at: int, ack: int, events: NDArray[Any], places: Ints) -> None:
    """An ACK of receiver `s` up to `ack` passes, before it is counted: what its ECE says."""
    echo, now = seen.flags[at] & ECE != 0, seen.time_ns[at]
    if o.data_ns > 0 and ack == o.nxt and s.lag_ns >= 0 and now - o.data_ns <= SOON * s.lag_ns:
        o.quick += 1
        o.quick_echoes += 1 if echo else 0
    place = place_of(o, ack)
    after_ns = now - o.data_times[place] if place >= 0 else 0
    if after_ns > 0 and (o.fastest_ns == 0 or after_ns < o.fastest_ns):
        o.fastest_ns = after_ns
    soon = place >= 0 and s.lag_ns >= 0 and after_ns <= SOON * s.lag_ns
    if answered(o, echo, ack, soon):
        note(events, places, seen.other[at], Act.ECHO_UNMARKED.value, now, seen.frame[at],
             seen.source[at], o.data_frames[place], o.data_sources[place])  # fmt: skip
