"""How the frames of a run ended, as a line."""

from collections.abc import Mapping
from typing import Any


def accounting_line(accounting: Mapping[str, Any]) -> str:
    """`frames: 12 seen = 10 decoded + 2 truncated`."""
    reasons = accounting["reasons"].items()
    terms = [f"{accounting['decoded']:,} decoded", *(f"{n:,} {name}" for name, n in reasons)]
    line = f"frames: {accounting['seen']:,} seen = {' + '.join(terms)}"
    slow = accounting.get("slow_path")
    if slow is None:
        return line
    left = f", {slow['left']:,} left (--slow-path-frames)" if slow["left"] else ""
    return f"{line}; tshark was asked {slow['asked']:,} and knew {slow['found']:,}{left}"
