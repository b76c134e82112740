"""What every room's tests may ask for: the tools of the machine and a place for shared evidence."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["broker", "browser", "sampled", "store_server"]

ROOT = Path(__file__).resolve().parent.parent
COLLECT_AFTER = 50_000
"""New objects before Python looks for garbage; a program looks less often."""
BESIDE = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Several processes share the code that one compiles beside their first tests.

    Ctrl-C is as on a terminal: a shell has what runs in its background ignore it, and so would
    every command that a test begins.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        config.stash[BESIDE] = subprocess.Popen([sys.executable, "-P", "-m", "pipeline.warming"])


def pytest_unconfigure(config: pytest.Config) -> None:
    """The code is compiled, or nobody needs it any more."""
    if BESIDE in config.stash:
        config.stash[BESIDE].kill()
        config.stash[BESIDE].wait()


def pytest_collection_finish() -> None:
    """Ten thousand tests stay: whoever looks for garbage need not look through them each time."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def tool() -> Callable[..., str]:
    """The path of the first program found of `names`; none skips the test, or fails it in CI."""

    def find(*names: str) -> str:
        for name in names:
            if path := shutil.which(name):
                return path
        sentence = f"{names[0]} is not installed; `make test` installs it where it may"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)

    return find
