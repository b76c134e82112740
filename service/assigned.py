"""The value of a setting as the command line writes it: as in a settings file, or a bare word."""

import tomllib
from typing import Any

VALUES = (bool, int, float, str, list, dict)
"""What a value may be: no setting is a date."""


def value_of(text: str) -> Any:
    """`23`, `0x17`, `true`, `[0x9902]`, `{ 2 = [["node", 28]] }`, `"7"`, or a word as it is."""
    try:
        told = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return told["value"] if isinstance(told["value"], VALUES) and len(told) == 1 else text
