"""Settings of envelopes: tunnels, mirrors and samples."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Port = Annotated[int, Field(ge=1, le=65535)]
Vni = Annotated[int, Field(ge=0, le=0xFFFFFF)]
Key = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]
Ethertype = Annotated[int, Field(ge=0x0600, le=0xFFFF)]


class EnvelopeSettings(BaseModel):
    """Which envelopes are mirrors, and where samples arrive.

    A mirror's envelope is transport of a copy: telemetry and ECN on it are forgotten. Every other
    envelope is an overlay, which carries the flow's own.
    """

    vxlan_udp_ports: tuple[Port, ...] = Field(
        (4789, 8472), description="UDP destination ports of VXLAN overlays."
    )
    vxlan_gpe_udp_ports: tuple[Port, ...] = Field(
        (4790,), description="UDP destination ports of VXLAN-GPE overlays."
    )
    geneve_udp_ports: tuple[Port, ...] = Field(
        (6081,), description="UDP destination ports of Geneve overlays."
    )
    mirror_vxlan_udp_ports: tuple[Port, ...] = Field(
        (), description="UDP destination ports at which VXLAN is a mirror's envelope."
    )
    mirror_geneve_udp_ports: tuple[Port, ...] = Field(
        (), description="UDP destination ports at which Geneve is a mirror's envelope."
    )
    mirror_vnis: tuple[Vni, ...] = Field(
        (),
        max_length=16,
        description="VNIs of VXLAN, VXLAN-GPE and Geneve that are mirrors, at every port.",
    )
    mirror_gre_keys: tuple[Key, ...] = Field(
        (), max_length=16, description="Keys of GRE tunnels that are mirrors."
    )
    mirror_gre_protocols: tuple[Ethertype, ...] = Field(
        (), max_length=16, description="GRE protocols whose tunnels are mirrors; ERSPAN always is."
    )
    mpls_pseudowire: Literal["control_word", "bare"] = Field(
        "control_word",
        description="What a bottom label hides when it is not IP: Ethernet behind a control word "
        "(first four bits 0), or Ethernet at once.",
    )
    erspan_user_tick_ns: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000,
        description="Tick of ERSPAN's user-configurable timestamps; none: unknown.",
    )
    timestamp_ethertypes: tuple[Ethertype, ...] = Field(
        (0xD28B,), description="Ethertypes of timestamp headers that taps put before the real one."
    )
    timestamp_trailer: Literal["none", "metamako"] = Field(
        "none", description="Trailer with a timestamp that taps put behind every frame."
    )
    timestamp_tai_offset_s: int = Field(
        37, ge=0, le=100, description="Seconds by which TAI timestamps are ahead of UTC."
    )
    sflow_udp_ports: tuple[Port, ...] = Field(
        (6343,), description="UDP destination ports of sFlow datagrams."
    )
