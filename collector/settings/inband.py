"""Settings of in-band network telemetry: what its specifications leave to the domain."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

OCTET, WORD_BITS, LONGEST = 8, 32, 64
DOMAIN_BITS = 16
"""Domain-specific instruction bits."""
MOST_UNIT = 1 << 32
"""Largest unit: a count of 32 bits of it still fits a column."""
Port = Annotated[int, Field(ge=1, le=65535)]
Unit = Annotated[int, Field(ge=1, le=MOST_UNIT)]


class IntSettings(BaseModel):
    """How INT is recognised, and what its metadata mean."""

    int_udp_ports: tuple[Port, ...] = Field(
        (555,),
        max_length=64,
        description="UDP destination ports that announce INT (unassigned by the specification).",
    )
    int_dscp: int | None = Field(
        None,
        ge=0,
        le=63,
        description="DSCP value that announces INT over TCP or UDP; none: not used.",
    )
    int_dscp_mask: int = Field(0x3F, ge=1, le=63, description="Bits of the DSCP that are compared.")
    int_marker: int | None = Field(
        None,
        ge=0,
        lt=1 << 64,
        description="64-bit probe marker behind TCP or UDP that announces INT; none: not used.",
    )
    int_tcp_position: Literal["after_options", "before_options"] = Field(
        "after_options", description="Where INT stands over TCP: behind the options or before them."
    )
    int_protocol_octet: Literal["last", "third"] = Field(
        "last", description="Octet of the INT shim that holds the IP protocol (NPT 2)."
    )
    int_shim_length: Literal["without", "with", "auto"] = Field(
        "without",
        description="INT shim length: without the shim, as specified, with it, or by which rule "
        "leaves whole hops, the specified one first.",
    )
    int_gre_protocol: int | None = Field(
        None,
        ge=0x0600,
        le=0xFFFF,
        description="GRE protocol that announces INT (unassigned); none: not used.",
    )
    int_gpe_protocol: int = Field(
        0x82, ge=6, le=255, description="Next protocol of VXLAN-GPE that announces INT."
    )
    int_v1_gpe_protocol: int = Field(0x08, ge=6, le=255, description="The same of INT 1.0.")
    int_geneve_class: int = Field(
        0x0103, ge=0, le=0xFFFF, description="Geneve option class of INT."
    )
    int_v1_profile: Literal["specification", "geant", "auto"] = Field(
        "specification",
        description="Widths of INT 1.0: 4-octet timestamps, GEANT's 8-octet ones, or by which "
        "makes the hop length, the specification first.",
    )
    int_source: tuple[tuple[str, Annotated[int, Field(ge=1, le=64)]], ...] = Field(
        (),
        max_length=128,
        description="Source-only INT metadata below all hops, in wire order: (name, bits); "
        "the first is kept.",
    )
    int_domain: tuple[
        tuple[
            Literal["tx_bytes", "b_mbps", "reserved"],
            Annotated[int, Field(ge=OCTET, le=LONGEST, multiple_of=OCTET)],
        ],
        ...,
    ] = Field(
        (("tx_bytes", 64), ("b_mbps", 32)),
        max_length=DOMAIN_BITS,
        description="Domain-specific INT metadata by instruction bit: (name, bits).",
    )
    int_occupancy_bytes: Unit = Field(1, description="Bytes per unit of INT queue occupancy.")
    int_buffer_bytes: Unit = Field(1, description="Bytes per unit of INT buffer occupancy.")
    int_utilization_full: int | None = Field(
        None,
        ge=1,
        lt=MOST_UNIT,
        description="INT TX utilisation of a port that is busy all the time; none: unknown unit.",
    )
    int_on_ack: Literal["reflected", "own"] = Field(
        "reflected",
        description="INT on a pure ACK is the data's path, reflected, or the ACK's own path.",
    )

    @model_validator(mode="after")
    def _dscp_is_compared(self) -> Self:
        """Refuse a mask without a bit of the DSCP: every packet without those bits would be INT."""
        if self.int_dscp and not self.int_dscp & self.int_dscp_mask:
            raise ValueError("int_dscp_mask: compares none of the bits that int_dscp sets")
        return self

    @field_validator("int_source")
    @classmethod
    def _whole_source(cls, schema: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        """Refuse source-only metadata that no reader could find."""
        at = 0
        for name, bits in schema:
            if at % OCTET + bits > LONGEST:
                raise ValueError(f"int_source: {name} spans more than 8 octets")
            at += bits
        if at % WORD_BITS:
            raise ValueError("int_source: not whole words")
        return schema
