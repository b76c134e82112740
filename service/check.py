"""A check: one stage of hopsight, what was expected of it, what was seen, and what to do."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "broken", "not asked"]


@dataclass(frozen=True, slots=True)
class Check:
    """See the module; there is nothing to do about what is well."""

    stage: str
    state: State
    expected: str
    seen: str
    advice: str = ""
