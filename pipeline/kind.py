"""Kinds of bottleneck as a table over where the hop is and how many senders share it.

Stage and orientation come from the topology; whether a reroute helps follows
draft-ravi-ippm-csig-00 section 8.2.1: nothing leads around a last hop, much leads around a core
link.
"""

from dataclasses import dataclass

import polars as pl

from pipeline.stage import RANKS

ANY = ""
RECEIVER, SENDER, PATH, UNKNOWN = "receiver_host", "sender_limited", "congested_path", "unknown"
"""An end of the flow holds it back; the network does, but not known where; or nothing tells."""
SEVERAL = 2
"""From this many flows on a last hop is shared."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its name, where it applies, whether rerouting helps, and how it is said."""

    name: str
    stage: str
    orientation: str
    several: bool | None
    reroute_helps: str
    sentence: str


CONGESTED = (
    Kind("sender_host", "host", "up", None, "no", "the sender's own port is full"),
    Kind(RECEIVER, "host", ANY, None, "no", "the receiver takes in less than it is sent"),
    Kind("incast", ANY, "host", True, "no", "many senders meet at the last hop"),
    Kind("last_hop_elephant", ANY, "host", False, "no", "one flow fills the last hop"),
    Kind("uplink", "tor", "up", None, "yes", "the way up from the top of the rack is full"),
    Kind("downlink", "spine", "down", None, "yes", "the way down to the rack is full"),
    *(
        Kind("core", stage, orientation, None, "yes", "a core link is full")
        for stage in RANKS
        for orientation in ("up", "down")
    ),
    Kind("side_link", ANY, "side", None, "yes", "a link between equals is full"),
    Kind("congested_hop", ANY, ANY, None, "unknown", "a hop whose stage no topology tells is full"),
)
"""Kinds of a congested hop; the first row that applies holds. A stage that is none of `RANKS` is
never taken for one.
"""
AT_HOSTS = frozenset(kind.name for kind in CONGESTED if kind.stage == "host")
"""Kinds of which an end of the flow is what is full."""
OTHER = (
    Kind(PATH, ANY, ANY, None, "unknown", "the path marks, but nothing says where"),
    Kind(SENDER, ANY, ANY, None, "no", "the sender sends less than it may"),
    Kind("not_congested", ANY, ANY, None, "no", "no hop that was seen is congested"),
    Kind(UNKNOWN, ANY, ANY, None, "unknown", "nothing in these packets tells"),
)
"""Kinds without a congested hop."""
KINDS = {kind.name: kind for kind in (*CONGESTED, *OTHER)}
HOLDING = (*dict.fromkeys(kind.name for kind in CONGESTED), PATH)
"""Kinds that say that the network holds the flow back."""
CALM = tuple(name for name in KINDS if name not in HOLDING)
"""Kinds that call nothing congested."""


def congested_kind() -> pl.Expr:
    """Name of the kind of a congested hop, from columns stage, orientation and contributors."""
    return pl.coalesce(pl.when(applies(kind)).then(pl.lit(kind.name)) for kind in CONGESTED)


def applies(kind: Kind) -> pl.Expr:
    """Whether a kind is that of a congested hop."""
    several = pl.col("contributors") >= SEVERAL
    return pl.all_horizontal(
        pl.lit(value=True),
        *([pl.col("stage") == kind.stage] if kind.stage else []),
        *([pl.col("orientation") == kind.orientation] if kind.orientation else []),
        *([] if kind.several is None else [several == kind.several]),
    )


def reroute_helps() -> pl.Expr:
    """Whether another path would help, from the column kind: yes, no or unknown."""
    return pl.col("kind").replace_strict(
        {name: kind.reroute_helps for name, kind in KINDS.items()}, return_dtype=pl.String
    )
