"""Rounds of the soak: processes die at random instants, and rows and state are as if none had."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

FRAMES = 6000


@pytest.fixture
def soak_kill(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The soak, in which fewer and shorter rounds are asked for."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    place = root / "benchmarks" / "soak_kill.py"
    spec = importlib.util.spec_from_file_location("soak_kill", place)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "KILLS", ("worker", "store"))
    yield module
    for name in ("kill_world", "traffic"):
        sys.modules.pop(name, None)


def test_a_worker_and_the_store_are_killed_and_every_row_is_there_once(
    soak_kill: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not soak_kill.soak(tmp_path, 2, 1, FRAMES)
    said = capsys.readouterr().out
    assert "store 1, worker 1" in said
    assert "state of 4 of 4 partitions is the same to the bit" in said
    assert f"observations: {FRAMES} rows, 0 missing, 0 twice or others" in said
