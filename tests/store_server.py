"""A store that several processes may use: a real server, or an endpoint before the embedded engine.

`HOPSIGHT_TEST_CLICKHOUSE=http://user:password@host:8123` names a real server; each test has a
database of its own there.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVER = "HOPSIGHT_TEST_CLICKHOUSE"
ENDPOINT = Path(__file__).with_name("store_endpoint.py")
PATIENCE_S = 120


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class StoreEndpoint:
    """The endpoint in a process of its own, which may be killed and begun anew on its directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, without a database."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns once it accepts connections."""
        command = [sys.executable, str(ENDPOINT), str(self.port), str(self.directory)]
        self.process = subprocess.Popen(command)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("the store's endpoint did not start")

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE_S)
            self.process = None


@pytest.fixture(scope="session")
def store_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a store that takes several processes, without a database."""
    if named := os.environ.get(SERVER):
        yield named
        return
    endpoint = StoreEndpoint(tmp_path_factory.mktemp("endpoint") / "store")
    endpoint.start()
    yield endpoint.url
    endpoint.kill()


@pytest.fixture
def store_dsn(store_server: str) -> str:
    """A database that no other test has."""
    return f"{store_server}/test_{uuid.uuid4().hex[:8]}"
