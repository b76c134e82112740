"""The name that may have been meant by one that there is not."""

from collections.abc import Collection
from difflib import get_close_matches


def meant(name: str, known: Collection[str], otherwise: str = "") -> str:
    """`did you mean NAME?`; where none is near, what is said otherwise: which names there are."""
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else otherwise or f"there are {', '.join(known)}"
