"""Flows by one number of both of their ends: the one that is asked for is found by it alone.

To compare six columns, and to read ten more, takes the engine twice the time; it is done for each
answer about a flow.
"""

from collections.abc import Mapping

from pipeline.tables.column import Column, Table
from pipeline.tables.feed import Feed
from pipeline.tables.flows import FLOWS
from pipeline.tables.types import I64, MAYBE_WORD, TEXT, U64, WORD

BITS = 64
FACTORS = {
    "src_hi": 0x9E3779B97F4A7C15, "src_lo": 0xBF58476D1CE4E5B9, "dst_hi": 0x94D049BB133111EB,
    "dst_lo": 0xD6E8FEB86659FD93, "sport": 0xA0761D6478BD642F, "dport": 0xE7037ED1A0B428DB,
}  # fmt: skip
"""Odd numbers without a pattern, by which the columns of both ends are added up (multilinear)."""
NETWORK = ("tenant", "vrf", "vni", "protocol", "conversation", "direction")
TOLD = (*NETWORK, *FACTORS)
"""What the text of a flow tells, in this order; the ends again, since others may have their
number."""


def ends_number(ends: Mapping[str, int]) -> int:
    """The number of both ends, modulo 2**64 as the engine counts."""
    return sum(ends[name] * factor for name, factor in FACTORS.items()) % (1 << BITS)


FLOW_BY_ENDS = Table(
    name="flow_by_ends",
    doc="One directional flow by the number of its ends, with what an answer about it tells.",
    engine="AggregatingMergeTree",
    order=("ends", "flow"),
    time="",
    retention_days=FLOWS.retention_days,
    kept_as=FLOWS.name,
    granule=512,
    one_file=True,
    columns=(
        Column("ends", U64, "", "Number of both ends: addresses and ports."),
        Column("flow", U64, "", "Hash of the directional key."),
        Column("first_ns", I64, "ns", "First frame, since 1970.", "min"),
        Column("last_ns", I64, "ns", "Last frame, since 1970.", "max"),
        Column("cc", MAYBE_WORD, "", "Congestion control; null: none seen.", "anyLast"),
        Column("owner", WORD, "", "Tenant by the topology; empty: none is known.", "max"),
        Column("told", TEXT, "JSON", f"Of the flow: {', '.join(TOLD)}.", "anyLast"),
    ),
    feeds=(
        Feed(
            FLOWS.name,
            {
                "ends": " + ".join(f"{name} * {factor}" for name, factor in FACTORS.items()),
                "told": f"toJSONString(({', '.join(TOLD)}))",
            },
        ),
    ),
)
