"""Settings of Congestion Signaling: what the draft leaves unassigned."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Ethertype = Annotated[int, Field(ge=0x0600, le=0xFFFF)]


class CsigSettings(BaseModel):
    """How CSIG tags and their reflections are recognised, and what their values mean."""

    csig_compact_tpids: tuple[Ethertype, ...] = Field(
        (0x9900,), description="TPIDs of compact CSIG tags (unassigned by the draft)."
    )
    csig_expanded_tpids: tuple[Ethertype, ...] = Field(
        (0x9901,), description="TPIDs of expanded CSIG tags (unassigned by the draft)."
    )
    csig_layout: Literal["draft", "uec"] = Field(
        "draft",
        description="Bit layout of CSIG tags; uec has a do-not-update bit behind a shorter LM.",
    )
    csig_echo_kind: int = Field(
        253, ge=2, le=254, description="TCP option kind that reflects CSIG."
    )
    csig_echo_exid: int | None = Field(
        0xC516,
        ge=0,
        le=0xFFFF,
        description="Experiment id behind kind 253 or 254; none: no such field.",
    )
    csig_buckets: dict[int, tuple[float, ...]] = Field(
        default_factory=lambda: {
            0: tuple(edge * 12.5e9 / 32 for edge in range(33)),
            1: tuple(edge / 32 for edge in range(33)),
            2: (0.0, *(1000.0 * 2 ** (edge / 2) for edge in range(31))),
        },
        description="Edges of compact buckets by signal type (bit/s, ratio, ns), half-open.",
    )
    csig_quanta: dict[int, float] = Field(
        default_factory=lambda: {0: 8e6, 1: 1 / 1048575, 2: 128.0},
        description="Quantum of expanded signals by type: bit/s, ratio, ns.",
    )
