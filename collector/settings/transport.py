"""Settings of transports: AccECN, RoCE and encrypted payloads."""

from pydantic import BaseModel


class TransportSettings(BaseModel):
    """How transports are recognised."""
