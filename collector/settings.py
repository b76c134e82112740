"""Settings of the collector: what the drafts leave unassigned, and the bounds of its work."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Port = Annotated[int, Field(ge=1, le=65535)]
Ethertype = Annotated[int, Field(ge=0x0600, le=0xFFFF)]


class CollectorSettings(BaseModel):
    """What is recognised where. Numbers are decimal or, in TOML, hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    aecn_option_types: tuple[Annotated[int, Field(ge=2, le=255)], ...] = Field(
        (0x3E,), description="IPv6 option types that carry AECN (unassigned by the draft)."
    )
    aecn_numbering: Literal["msb", "lsb"] = Field(
        "msb", description="Which end bit 0 of the AECN type is at."
    )
    aecn_inflight_scale: float = Field(
        0.01, gt=0, description="Inflight ratio u' per unit of its octet."
    )
    int_udp_ports: tuple[Port, ...] = Field(
        (555,),
        description="UDP destination ports that announce INT (unassigned by the specification).",
    )
    int_dscp: int | None = Field(
        None,
        ge=0,
        le=63,
        description="DSCP value that announces INT over TCP or UDP; none: not used.",
    )
    int_dscp_mask: int = Field(0x3F, ge=1, le=63, description="Bits of the DSCP that are compared.")
    int_domain: tuple[tuple[Literal["tx_bytes", "b_mbps", "reserved"], int], ...] = Field(
        (("tx_bytes", 64), ("b_mbps", 32)),
        description="Domain-specific INT metadata by instruction bit: (name, bits).",
    )
    int_occupancy_bytes: int = Field(1, ge=1, description="Bytes per unit of INT queue occupancy.")
    int_on_ack: Literal["reflected", "own"] = Field(
        "reflected",
        description="INT on a pure ACK is the data's path, reflected, or the ACK's own path.",
    )
    tenant: str = Field("", description="Tenant of all flows of this collector.")
    vrf: str = Field("", description="VRF of all flows of this collector.")
    frames_per_batch: int = Field(
        65536, ge=1, le=1 << 20, description="Most frames decoded at a time."
    )
