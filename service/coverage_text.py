"""How much of a time an answer speaks of (`service/coverage.py`), as a sentence."""

from collections.abc import Mapping
from typing import Any

from service.text import share


def spoken_of(found: Mapping[str, Any]) -> str:
    """How much of the time there are verdicts for, and how complete they are, as a sentence."""
    complete = found["completeness"]
    told = "" if complete is None else f"; telemetry speaks of {share(complete)} of what happened"
    missed = f", {share(found['captured'])} of it captured" if found["captured"] < 1 else ""
    return f"judged: {share(found['interval']['covered'])} of this time{missed}{told}"
