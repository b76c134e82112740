"""Settings of IOAM, IFA, TCP-INT and the HPCC simulator's INT."""

from pydantic import BaseModel


class TraceSettings(BaseModel):
    """How trace options and stacks are recognised, and what their units are."""
