"""A command that decodes first has the worker's code compiled beside it."""

import sys
import time
from pathlib import Path

import pytest

from collector import CollectorSettings
from pipeline import PipelineSettings, Rerun
from pipeline.companions.dctcp_receiver import follow
from replay.witness import observe
from service import conduct_code, warming
from service.rerunning import CaptureSource, rerun
from service.watched import Watched

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
SETTINGS = PipelineSettings()
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
        "import pathlib, sys, time; time.sleep(0.2); pathlib.Path(sys.argv[1]).write_text('made')"
    )
    monkeypatch.setattr(warming, "is_kept", lambda _: warm)
    monkeypatch.setattr(warming, "PYTHON", (sys.executable, "-c", program))
    monkeypatch.setitem(warming.PROGRAMS, "watch", ((str(tmp_path / "watched"),),))
    monkeypatch.setitem(warming.PROGRAMS, "decide", ((str(made),),))
    with warming.warming("decide", "watch") as ready:
        ready()
        assert made.exists() is (tmp_path / "watched").exists() is not warm
    assert (warming.COMPILING in capsys.readouterr().err) is not warm


def test_a_command_that_ends_early_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_kept", lambda _: False)
    program = (sys.executable, "-c", f"import time; time.sleep({2 * WAIT_S})")
    monkeypatch.setattr(warming, "PYTHON", program)
    begun = time.monotonic()
    with warming.warming("judge", "watch"):
        pass
    assert time.monotonic() - begun < WAIT_S


def test_what_cannot_be_compiled_ahead_is_compiled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "is_kept", lambda _: False)
    monkeypatch.setattr(warming, "PYTHON", (sys.executable, "-c", "raise SystemExit(1)"))
    with warming.warming("judge") as ready:
        ready()


def test_what_watches_senders_needs_no_other_code_than_what_was_made_ahead() -> None:
    conduct_code.warm()
    assert warming.is_kept("watch")
    kernels = [observe, follow]
    known = [list(kernel.signatures) for kernel in kernels]
    watched = Watched({})
    rerun(
        CaptureSource([CAPTURE], CollectorSettings()),
        lambda sources: Rerun(SETTINGS, [watched.deciding(SETTINGS, None)], sources),
        watched.take,
        "watching",
        watched=True,
    )
    assert watched.conformance.finish().senders.height
    assert [list(kernel.signatures) for kernel in kernels] == known != [[], []]
