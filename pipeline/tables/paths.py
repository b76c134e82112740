"""How loaded the paths between two ends were, across all flows between them."""

from pipeline.tables.column import Column
from pipeline.tables.rollup import CLASS, SOURCE, rollups
from pipeline.tables.types import WORD

SCOPES = ("site", "prefix", "device")
"""What the ends of a path may be: every flow is counted once by each."""

PATH_ROLLUPS = rollups(
    "path",
    "The paths from one end to another in one class, across their flows, by one kind of telemetry,",
    (
        Column("scope", WORD, "", f"What the ends are: {', '.join(SCOPES)}."),
        Column("tenant", WORD, "", "Tenant that owns the addresses."),
        Column("vrf", WORD, "", "Routing instance of the addresses."),
        Column("vni", WORD, "", "Virtual network of an overlay; empty: none."),
        Column("src", WORD, "", "End that sends; where the topology knows no site or device, the"
               " narrower name that is known."),
        Column("dst", WORD, "", "End that receives."),
        CLASS,
        SOURCE,
    ),
)  # fmt: skip
