"""Whether files can be made at a place that need not be there yet; nothing is made."""

import os
from pathlib import Path


def unwritable(place: Path) -> str:
    """Why this user can make no files in a directory, or not the directory; empty: they can."""
    there = next(each for each in (place, *place.absolute().parents) if os.access(each, os.F_OK))
    if not there.is_dir():
        return f"{there}: not a directory"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there}: permission denied"
