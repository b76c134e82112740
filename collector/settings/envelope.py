"""Settings of envelopes: tunnels, mirrors and samples."""

from pydantic import BaseModel


class EnvelopeSettings(BaseModel):
    """Which envelopes are mirrors, and where samples arrive."""
