"""What companions that run HPCC++ tell of its state, and how far it can be trusted."""

from collector import inlined
from pipeline.batch import Rows
from pipeline.cc.hop_record import MOST_PLACES
from pipeline.cc.parameter import Record
from pipeline.memory import Mark, Quality, Why
from pipeline.sender import why_no_window

FIELDS = (
    ("f8", "U_before", "U", "W", "Wc", "R", "u_max"), ("i8", "lastUpdateSeq"),
    ("i4", "incStage", "hop_count", "faults"), ("i1", "u_hop"),
)  # fmt: skip
"""Groups of a decision, as in `state_dtype`. `lastUpdateSeq` is lastUpdateTime, in ns."""


@inlined
def own_links(s: Record, place: int) -> None:
    """Give an `hpcc.STATE` the links of its own place in a `Book`."""
    s.link = place * MOST_PLACES
    s.room = MOST_PLACES


@inlined
def tell_window(made: Record, s: Record) -> None:
    """The draft's variables into a decision."""
    made.U, made.W, made.Wc, made.R, made.u_max = s.U, s.W, s.Wc, s.R, s.u_max
    made.lastUpdateSeq, made.incStage, made.hop_count = s.lastUpdateSeq, s.incStage, s.nhop
    made.faults, made.u_hop, made.branch = s.faults, s.u_hop, s.branch


@inlined
def unknown_window(s: Record, mark: Record, d: int) -> int:
    """Why W, Wc and R of sender d are not known (`Why`); `Why.NOTHING` where they are."""
    why = why_no_window(s)
    if why == Why.NOTHING.value and not mark.marks[d] & Mark.SYN_SEEN.value:
        return Why.MID_FLOW.value
    return why


@inlined
def round_trip_told(p: Record, rows: Rows, at: int) -> bool:
    """Whether T is that of the path or a parameter, and not the handshake's round trip."""
    return bool(rows.base_rtt_ns[at] > 0 or p.T_ns > 0)


@inlined
def set_quality(made: Record, why: int, otherwise: tuple[int, int]) -> None:
    """Unknown for a reason, or else as far as given."""
    made.quality, made.why = otherwise
    if why != Why.NOTHING.value:
        made.quality, made.why = Quality.UNKNOWN.value, why
