"""Settings of transports: AccECN, RoCE and encrypted payloads."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Port = Annotated[int, Field(ge=1, le=65535)]
First = Literal["e0b", "e1b"]
Exid = Annotated[int, Field(ge=0, le=0xFFFF)]


class TransportSettings(BaseModel):
    """How transports are recognised."""

    accecn_exids: dict[Exid, First] = Field(
        default_factory=lambda: dict[int, First]({0xACC0: "e0b", 0xACC1: "e1b", 0xACCE: "e0b"}),
        max_length=8,
        description="Experiment ids of AccECN options in TCP option kinds 253 and 254, with the "
        "counter that comes first.",
    )
    roce_udp_ports: tuple[Port, ...] = Field(
        (4791,), description="UDP destination ports of RoCEv2."
    )
    psp_udp_ports: tuple[Port, ...] = Field((1000,), description="UDP destination ports of PSP.")
    esp_udp_ports: tuple[Port, ...] = Field(
        (4500,), description="UDP destination ports of ESP behind address translation."
    )
