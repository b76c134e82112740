"""What every group of settings is."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A group of settings: frozen, and a name that it does not have is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
