"""Machine code kept on disk is never older than the tables and sources that it was made from."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collector.kernel import CACHE, cache_directory

ROOT = Path(__file__).resolve().parents[2]

PROBE = """
import json
import sys
import numpy as np
from collector import CollectorSettings, Decoder, Frames
from collector.kernel import CACHE

ethernet = bytes(12) + bytes.fromhex("9900") + 0b001_0_00101_1000001.to_bytes(2, "big")
ip = "0800 4500 0028 0001 0000 4006 0000 0a000001 0a000002"
tcp = "9c40 1389 00000001 00000002 5010 0400 0000 0000"
whole = ethernet + bytes.fromhex(ip + tcp)
data = np.frombuffer(whole + whole[:20], np.uint8)
octets = np.array([len(whole), 20], np.int32)
frames = Frames(
    data=data, offset=np.array([0, len(whole)]), captured=octets, length=octets,
    time_ns=np.array([1, 2]), link=np.array([1, 1], np.uint16),
    interface=np.zeros(2, np.uint16), first=1,
)
decoder = Decoder(CollectorSettings())
row = decoder.decode(frames, ["unknown"], "probe").row(0, named=True)
counted = {name: n for name, n in decoder.accounting.by_status.items() if n}
kept = sorted(path.name for path in CACHE.rglob("*.nbc")) if CACHE else None
answer = {"s": row["csig_s"], "lm": row["csig_lm"], "counted": counted, "kept": kept}
print(json.dumps(answer | {"compiler": "numba.np.linalg" in sys.modules}))
"""


NO_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""By which the superuser may write no more than others."""


@contextmanager
def only_read(place: Path) -> Iterator[None]:
    """Nobody makes or changes anything there."""
    folders = [place, *(each for each in place.rglob("*") if each.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


def probe(tree: Path, cache: Path, *before: str, program: str = PROBE) -> dict[str, Any]:
    """What the rooms in `tree` make of a CSIG frame and a truncated copy of it, or tell of more."""
    environment = os.environ | {"PYTHONPATH": str(tree), "HOPSIGHT_CACHE_DIR": str(cache)}
    result = subprocess.run(
        [*before, sys.executable, "-c", program],
        env=environment, cwd=tree, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the rooms that hold kernels, to be edited."""
    for room in ("collector", "pipeline", "replay"):
        shutil.copytree(
            ROOT / room, tmp_path / "tree" / room, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path / "tree"


def test_an_edited_table_changes_the_result_of_a_warm_cache(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if CACHE is not None:  # what other tests have compiled is of the same sources
        shutil.copytree(CACHE, cache / CACHE.name)
    cold = probe(tree, cache)
    assert (cold["s"], cold["lm"]) == (0b00101, 0b1000001)
    assert cold["counted"] == {"decoded": 1, "truncated": 1}
    assert cold["kept"]

    # What the walk is not made from may change, and the program may be installed elsewhere.
    with (tree / "pipeline" / "verdict.py").open("a") as unrelated:
        unrelated.write("\n")
    tree = tree.rename(tmp_path / "elsewhere")
    assert probe(tree, cache) == cold | {"compiler": False}, "what is kept needs no compiler"
    with only_read(cache):
        assert probe(tree, cache, *NO_RIGHTS) == cold | {"compiler": False}, "as in an image"

    csig = tree / "collector" / "wire" / "csig.py"
    edit(csig, 'Field("s", 5,', 'Field("s", 6,')
    edit(csig, "_locator(prefix, 7, layout)", "_locator(prefix, 6, layout)")
    # A name before `truncated` moves its code, which is a constant inside the walk's machine code.
    edit(
        tree / "collector" / "status.py", '    ("truncated",', '    ("new", ""),\n    ("truncated",'
    )
    warm = probe(tree, cache)
    assert (warm["s"], warm["lm"]) == (0b001011, 0b000001)
    assert warm["counted"] == {"decoded": 1, "truncated": 1}


SMALL = """
from collector.kernel import kernel

@kernel
def twice(value: int) -> int:
    return 2 * value
"""
SMALL_PROBE = """
import json
from collector.kernel import CACHE
from collector.small import twice

print(json.dumps({"twice": twice(21), "kept": [path.name for path in CACHE.rglob("*.nb*")]}))
"""


def test_without_a_place_to_write_compiled_code_stays_in_memory(tree: Path, tmp_path: Path) -> None:
    (tree / "collector" / "small.py").write_text(SMALL)
    place = tmp_path / "cache" / "kernels"
    place.mkdir(parents=True)
    with only_read(place):
        assert probe(tree, place.parent, *NO_RIGHTS, program=SMALL_PROBE) == {
            "twice": 42, "kept": [],
        }  # fmt: skip
    kept = probe(tree, place.parent, program=SMALL_PROBE)
    assert (kept["twice"], len(kept["kept"])) == (42, 2), "where it may be written, it is"


def test_what_finds_no_room_on_the_disk_stays_in_memory(tree: Path, tmp_path: Path) -> None:
    (tree / "collector" / "small.py").write_text(SMALL)
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    told = probe(tree, tmp_path / "cache", program=full + SMALL_PROBE)
    assert told == {"twice": 42, "kept": []}


def test_there_may_be_no_place_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPSIGHT_CACHE_DIR", str(tmp_path))
    assert cache_directory() == (tmp_path / "kernels", True)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOPSIGHT_CACHE_DIR", str(tmp_path / "file"))
    assert cache_directory() == (None, False)
