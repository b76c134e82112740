"""A store that this user may not write to says so, in a sentence that names the place."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.owner import STATUS, writable
from pipeline.store import Store
from pipeline.store_error import StoreError

NOBODY = 65_534


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory to which others find their way."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@contextmanager
def as_others() -> Iterator[None]:
    """Root may write anywhere: who really asks is somebody else meanwhile."""
    real, effective, saved = os.getresuid()
    if real == 0:
        os.setresuid(NOBODY, effective, saved)
    try:
        yield
    finally:
        os.setresuid(real, effective, saved)


@pytest.mark.parametrize("of", ["directory", "status"])
def test_a_store_that_may_not_be_written_says_so(shared: Path, of: str) -> None:
    place = shared / "db"
    place.mkdir()
    (place / STATUS).touch()
    place.chmod(0o777 if of == "status" else 0o555)
    (place / STATUS).chmod(0o444 if of == "status" else 0o666)
    said = rf"{place} can be no store: this user may not write there"
    with as_others(), pytest.raises(StoreError, match=said):
        writable(place)


def test_so_does_a_place_for_temporary_files(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = shared / "tmp"
    place.mkdir(mode=0o555)
    (shared / "db").mkdir()
    (shared / "db").chmod(0o777)
    with as_others():
        writable(shared / "db")
    monkeypatch.setenv("TMPDIR", str(place))
    with as_others(), pytest.raises(StoreError, match=rf"TMPDIR names {place}, where this user"):
        writable(shared / "db")


def test_one_that_may_be_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with Store(f"chdb://{tmp_path / 'db'}") as store:
        store.migrate()
        assert store.query("extent").height
