"""Settings of in-band network telemetry: what its specifications leave to the domain."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Port = Annotated[int, Field(ge=1, le=65535)]


class IntSettings(BaseModel):
    """How INT is recognised, and what its metadata mean."""

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
