"""A command that decodes first has the worker's code compiled beside it."""

import sys
import time
from pathlib import Path

import pytest

from service import warming

WAIT_S = 30.0


@pytest.mark.parametrize("warm", [True, False])
def test_the_code_is_waited_for_where_it_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    warm: bool,
) -> None:
    made = tmp_path / "made"
    program = (
        "import pathlib, sys, time; time.sleep(0.2);"
        f"pathlib.Path({str(made)!r}).write_text(sys.argv[1])"
    )
    monkeypatch.setattr(warming, "is_warm", lambda _: warm)
    monkeypatch.setattr(warming, "WARMING", (sys.executable, "-c", program))
    with warming.warming("decide") as ready:
        ready()
        assert made.exists() is not warm
    assert (warming.COMPILING in capsys.readouterr().err) is not warm
    assert warm or made.read_text() == "decide"


def test_a_command_that_ends_early_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_warm", lambda _: False)
    program = (sys.executable, "-c", f"import time; time.sleep({2 * WAIT_S})")
    monkeypatch.setattr(warming, "WARMING", program)
    begun = time.monotonic()
    with warming.warming():
        pass
    assert time.monotonic() - begun < WAIT_S


def test_what_cannot_be_compiled_ahead_is_compiled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_warm", lambda _: False)
    monkeypatch.setattr(warming, "WARMING", (sys.executable, "-c", "raise SystemExit(1)"))
    with warming.warming() as ready:
        ready()
