"""A store of today's tables with nothing in it: a copy, which is there in half the time."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from pipeline import Store, StoreLimits


@cache
def template() -> Path:
    """The directory of a store that was made once; it goes with the process."""
    place = Path(tempfile.mkdtemp(prefix="empty-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    with Store(f"chdb://{place}/store") as store:
        store.migrate()
    return place / "store"


def empty_store(place: Path, limits: StoreLimits | None = None) -> Store:
    """An empty store at `place`, open, while this process has no other one open."""
    shutil.copytree(template(), place, symlinks=True)
    store = Store(f"chdb://{place}", limits)
    assert store.migrate() == [], "nothing is left to do"
    return store
