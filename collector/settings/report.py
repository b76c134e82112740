"""Settings of telemetry reports: where they are received, and how their senders deviate."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Port = Annotated[int, Field(ge=1, le=65535)]


class ReportSettings(BaseModel):
    """How telemetry report datagrams are recognised."""

    report_udp_ports: tuple[Port, ...] = Field(
        (32766,),
        description="UDP destination ports of telemetry reports; each deployment chooses its own.",
    )
    report_quirk: Literal["none", "cablelabs"] = Field(
        "none",
        description="Deviation of the senders of reports 2.0: cablelabs puts twelve octets and an"
        " Ethernet frame into inner-only reports, whose length does not span them.",
    )
    report_utilization_full: int | None = Field(
        None,
        ge=1,
        lt=1 << 32,
        description="TX utilisation in reports that means a full link; none: the scale is unknown.",
    )
