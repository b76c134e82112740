"""A command that decodes first has the worker's code compiled beside it."""

import sys
import time
from pathlib import Path

import pytest

from service import warming

WAIT_S = 30.0


@pytest.mark.parametrize("warm", [True, False])
def test_the_code_is_waited_for_where_it_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warm: bool
) -> None:
    made = tmp_path / "made"
    program = f"import time; time.sleep(0.2); open({str(made)!r}, 'w').close()"
    monkeypatch.setattr(warming, "is_warm", lambda: warm)
    monkeypatch.setattr(warming, "WARMING", (sys.executable, "-c", program))
    with warming.warming() as ready:
        ready()
        assert made.exists() is not warm


def test_a_command_that_ends_early_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_warm", lambda: False)
    program = (sys.executable, "-c", f"import time; time.sleep({2 * WAIT_S})")
    monkeypatch.setattr(warming, "WARMING", program)
    begun = time.monotonic()
    with warming.warming():
        pass
    assert time.monotonic() - begun < WAIT_S


def test_what_cannot_be_compiled_ahead_is_compiled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_warm", lambda: False)
    monkeypatch.setattr(warming, "WARMING", (sys.executable, "-c", "raise SystemExit(1)"))
    with warming.warming() as ready:
        ready()
