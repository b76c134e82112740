"""A service that runs as users run it: its own process, a real store, a free loopback port."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from pipeline import OwnerClient, open_or_ask

ROOT = Path(__file__).resolve().parent.parent.parent
START_S = 120
"""Compiled code may have to be made first."""
READ_WHEN_EMPTY = ("/api/v1/bottlenecks", "/api/v1/links", "/api/v1/flows", "/readyz",
                   "/api/v1/health/telemetry")  # fmt: skip


@dataclass
class Hopsight:
    """The command as a user types it, in a directory of its own."""

    directory: Path
    environment: dict[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
            cwd=self.directory,
            env=self.environment,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that goes on."""
        return subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.directory,
            env=self.environment,
        )

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "service.cli", *arguments]


@dataclass
class Served:
    """A service that answers."""

    url: str
    dsn: str
    process: subprocess.Popen[str]
    when_empty: dict[str, Any] = field(default_factory=dict)

    def get(self, path: str, **parameters: object) -> httpx.Response:
        """One request."""
        given = {name: str(value) for name, value in parameters.items()}
        return httpx.get(f"{self.url}{path}", params=given or None, timeout=30)

    def stop(self) -> int:
        """End as Ctrl-C does; gives the exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            assert self.process.stdout is not None
            self.process.stdout.close()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOPSIGHT_")}
    return kept | {"PYTHONPATH": str(ROOT), "TERM": "dumb"}


@pytest.fixture(scope="session")
def hopsight(tmp_path_factory: pytest.TempPathFactory) -> Hopsight:
    """The command."""
    return Hopsight(tmp_path_factory.mktemp("here"), _environment())


@pytest.fixture(scope="session")
def world() -> ModuleType:
    """The stored world of `rows.py`."""
    spec = importlib.util.spec_from_file_location("rows", Path(__file__).with_name("rows.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rows"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def serve(hopsight: Hopsight) -> Callable[[str], Served]:
    """Start a service on a store; the caller ends it."""

    def start(dsn: str) -> Served:
        process = hopsight.start("serve", "--store", dsn, "--port", "0")
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if not found:
            process.kill()
            pytest.fail(f"serve said: {line}{process.stdout.read()}")
        return Served(found[0], dsn, process)

    return start


@pytest.fixture(scope="session")
def served(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[[str], Served], world: ModuleType
) -> Iterator[Served]:
    """A service over the stored world, which another process inserted through it."""
    service = serve(f"chdb://{tmp_path_factory.mktemp('store')}/store")
    try:
        service.when_empty = {path: service.get(path).json() for path in READ_WHEN_EMPTY}
        with open_or_ask(service.dsn) as store:
            assert isinstance(store, OwnerClient)
            for table, frame in world.frames().items():
                assert store.insert(table, frame, "world") == frame.height
        yield service
    finally:
        service.stop()
