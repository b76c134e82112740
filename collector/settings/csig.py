"""Settings of Congestion Signaling: what the draft leaves unassigned."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

Ethertype = Annotated[int, Field(ge=0x0600, le=0xFFFF)]
Port = Annotated[int, Field(ge=1, le=65535)]
CompactType = Annotated[int, Field(ge=0, le=7)]
SignalType = Annotated[int, Field(ge=0, le=15)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Variant = Literal["compact", "expanded"]
LmPart = Literal["port", "device", "stage", "orientation", "capacity", "ttl", "reserved"]
LmFields = tuple[tuple[LmPart, Annotated[int, Field(ge=1, le=16)]], ...]
LM_BITS = {"compact": 7, "expanded": 16}
"""Bits of the locator metadata; the UEC/SAI layout has one less."""
BUCKETS = 32
"""Values of the compact tag's signal field."""
TAKEN = frozenset((0x0800, 0x8100, 0x86DD, 0x8847, 0x8848, 0x88A8, 0x88E5, 0x9100, 0x9200, 0x9300))
"""Ethertypes of IP, VLAN tags, labels and security tags, beside which a CSIG tag stands."""


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
    csig_echo_length: Literal["tcp", "data"] = Field(
        "tcp",
        description="What the length of the reflecting TCP option counts: the whole option, as in "
        "TCP, or its CSIG data fields alone, as the draft's words can be read. It holds for all "
        "options of that kind.",
    )
    csig_echo_udp_ports: tuple[Port, ...] = Field(
        (),
        max_length=8,
        description="UDP ports, source or destination, whose payload reflects CSIG.",
    )
    csig_echo_udp_offset: int = Field(
        0, ge=0, le=1024, description="Octets of such a payload before the reflection's flags."
    )
    csig_echo_udp_valid: int = Field(
        0,
        ge=0,
        le=0xFF,
        description="Valid bit of those flags, as a mask; 0: there is none, all are valid.",
    )
    csig_echo_udp_variant: Variant = Field(
        "compact", description="Variant of the data fields behind those flags."
    )
    csig_buckets: dict[CompactType, tuple[Finite, ...]] = Field(
        default_factory=lambda: {
            0: tuple(edge * 12.5e9 / 32 for edge in range(33)),
            1: tuple(edge / 32 for edge in range(33)),
            2: (0.0, *(1000.0 * 2 ** (edge / 2) for edge in range(31))),
        },
        description="Edges of compact buckets by signal type (bit/s, ratio, ns), half-open. Each "
        "is the lower end of a bucket, and the last bucket is open; a 33rd edge bounds it.",
    )
    csig_bounded: tuple[CompactType, ...] = Field(
        (),
        description="Signal types whose last edge bounds the last bucket, however few there are.",
    )
    csig_bucket_mask: int = Field(
        0x1F,
        ge=1,
        le=0x1F,
        description="Bits of a compact signal value that count buckets; 15 where the highest is a "
        "flag.",
    )
    csig_quanta: dict[SignalType, Annotated[Finite, Field(gt=0)]] = Field(
        default_factory=lambda: {0: 8e6, 1: 1 / 1048575, 2: 128.0},
        description="Quantum of expanded signals by type: bit/s, ratio, ns.",
    )
    csig_bases: dict[SignalType, Finite] = Field(
        default_factory=dict,
        description="What expanded signals start from by type, in the same units; 0 by default.",
    )
    csig_lm_fields: dict[Variant, dict[SignalType, LmFields]] = Field(
        default_factory=dict,
        description="Sub-fields of the locator metadata by variant and signal type: (name, bits) "
        "from the highest bit on, which fill it.",
    )

    @field_validator("csig_compact_tpids", "csig_expanded_tpids")
    @classmethod
    def _tpids_are_free(cls, tpids: tuple[int, ...]) -> tuple[int, ...]:
        """Refuse TPIDs that are another header's ethertype."""
        for tpid in tpids:
            if tpid in TAKEN:
                raise ValueError(f"0x{tpid:04x} is the ethertype of another header")
        return tpids

    @model_validator(mode="after")
    def _a_tpid_has_one_variant(self) -> Self:
        """Refuse TPIDs that do not say how long their tag is."""
        for tpid in self.csig_compact_tpids:
            if tpid in self.csig_expanded_tpids:
                raise ValueError(
                    f"csig_compact_tpids: 0x{tpid:04x} is one of csig_expanded_tpids too; a TPID "
                    "stands for one variant"
                )
        return self

    @model_validator(mode="after")
    def _buckets_rise(self) -> Self:
        """Refuse tables that no value could be looked up in."""
        for kind, edges in self.csig_buckets.items():
            rising = all(low < high for low, high in pairwise(edges))
            if not 1 <= len(edges) <= BUCKETS + 1 or not rising:
                raise ValueError(f"csig_buckets: type {kind} needs 1 to 33 rising edges")
        return self

    @model_validator(mode="after")
    def _parts_fill_the_locator(self) -> Self:
        """Refuse sub-fields that leave bits over, or claim a name twice."""
        for variant, kinds in self.csig_lm_fields.items():
            bits = LM_BITS[variant] - (self.csig_layout == "uec")
            for kind, parts in kinds.items():
                names = [name for name, _ in parts if name != "reserved"]
                if sum(width for _, width in parts) != bits or len(set(names)) < len(names):
                    raise ValueError(
                        f"csig_lm_fields: {variant} type {kind} must fill {bits} bits by names "
                        "that differ"
                    )
        return self
