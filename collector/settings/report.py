"""Settings of telemetry reports: where they are received, and how their senders deviate."""

from pydantic import BaseModel


class ReportSettings(BaseModel):
    """How telemetry report datagrams are recognised."""
