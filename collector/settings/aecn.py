"""Settings of Advanced ECN: what its drafts leave unassigned."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class AecnSettings(BaseModel):
    """How AECN is recognised, and what its values mean."""

    aecn_option_types: tuple[Annotated[int, Field(ge=2, le=255)], ...] = Field(
        (0x3E,), description="IPv6 option types that carry AECN (unassigned by the draft)."
    )
    aecn_numbering: Literal["msb", "lsb"] = Field(
        "msb", description="Which end bit 0 of the AECN type is at."
    )
    aecn_inflight_scale: float = Field(
        0.01, gt=0, description="Inflight ratio u' per unit of its octet."
    )
