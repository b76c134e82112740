"""Settings of Advanced ECN: what its drafts leave unassigned."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Octet = Annotated[int, Field(ge=0, le=255)]
TypeBit = Annotated[int, Field(ge=0, le=5)]
Numbering = Literal["msb", "lsb"]


class AecnSettings(BaseModel):
    """How AECN is recognised, and what its values mean."""

    aecn_option_types: tuple[Annotated[int, Field(ge=2, le=255)], ...] = Field(
        (0x3E,), description="IPv6 option types that carry AECN (unassigned by the draft)."
    )
    aecn_srh_types: tuple[Annotated[int, Field(ge=1, le=255)], ...] = Field(
        (0xFC,), description="TLV types of the Segment Routing Header that carry AECN."
    )
    aecn_numbering: Numbering = Field(
        "msb", description="Which end bit 0 of the AECN type is at: the highest bit or the lowest."
    )
    aecn_flags_numbering: Numbering | None = Field(
        None,
        description="The same of the AECN flags: bit 7 is 0x01 (msb) or 0x80 (lsb); none: as the "
        "type is numbered.",
    )
    aecn_available_bandwidth: bool = Field(
        default=True,
        description="AECN type bit 5 is available bandwidth, as in the successor draft; else it is "
        "undefined.",
    )
    aecn_inflight_scale: float = Field(
        0.01, gt=0, allow_inf_nan=False, description="Inflight ratio u' per unit of its octet."
    )
    aecn_dre_scale: float = Field(
        0.01,
        gt=0,
        allow_inf_nan=False,
        description="AECN rate estimator, ratio per unit of its octet.",
    )
    aecn_queue_scale: float = Field(
        0.01,
        gt=0,
        allow_inf_nan=False,
        description="AECN queue utilisation, ratio per unit of its octet.",
    )
    aecn_queue_delay_ns: float = Field(
        1000.0, gt=0, allow_inf_nan=False, description="AECN queue delay, ns per unit of its octet."
    )
    aecn_bandwidth_bps: float = Field(
        1e9,
        gt=0,
        allow_inf_nan=False,
        description="AECN available bandwidth, bit/s per unit of its octet.",
    )
    aecn_saturation: dict[TypeBit, Octet] = Field(
        default_factory=lambda: dict.fromkeys(range(6), 255),
        description="Octet from which on an AECN info says no more than at least so much, by type "
        "bit; a bit that is left out wraps or never saturates.",
    )
