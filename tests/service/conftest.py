"""A service that runs as users run it: its own process, a real store, a free loopback port."""

import importlib.util
import io
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import httpx
import numpy as np
import pytest
import typer

from collector import Frames, open_capture, write_pcapng
from pipeline import OwnerClient, open_or_ask
from service.cli import app
from service.ending import ended

ROOT = Path(__file__).resolve().parent.parent.parent
PAYLOAD = 1000
START_NS = 1_770_000_000_000_000_000
MS = 1_000_000
SOURCE, TARGET = bytes([10, 7, 0, 1]), bytes([10, 7, 0, 2])
COMMAND = typer.main.get_command(app)
START_S = 600
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

    def here(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same within this process, which has loaded the code that each would load anew.

        A failure that no user should see is raised; ends of whole processes need `run`.
        """
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch.object(sys, "argv", ["hopsight", *arguments]),
            chdir(self.directory),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = ended(COMMAND, list(arguments))
        told = (each.buffer.getvalue().decode() for each in (out, err))
        return subprocess.CompletedProcess(arguments, int(code), *told)

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


TRUSTED = ssl.create_default_context()
"""Loaded once: it takes longer than most answers."""


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
        return httpx.get(f"{self.url}{path}", params=given or None, timeout=30, verify=TRUSTED)

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


def segment(src: bytes, dst: bytes, ports: tuple[int, int], seq: int, ack: int, size: int) -> bytes:
    """An Ethernet frame with one TCP segment."""
    tcp = b"".join(
        (
            ports[0].to_bytes(2, "big"), ports[1].to_bytes(2, "big"),
            seq.to_bytes(4, "big"), ack.to_bytes(4, "big"),
            bytes([0x50, 0x10, 0xFF, 0xFF, 0, 0, 0, 0]), bytes(size),
        )
    )  # fmt: skip
    ip = bytes([0x45, 2]) + (20 + len(tcp)).to_bytes(2, "big") + bytes([0, 0, 0, 0, 64, 6, 0, 0])
    return bytes(12) + b"\x08\x00" + ip + src + dst + tcp


@pytest.fixture(scope="session")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A flow of 50 segments, each acknowledged."""
    packets: list[bytes] = []
    for number in range(50):
        sent = number * PAYLOAD
        packets.append(segment(SOURCE, TARGET, (40000, 5001), sent, 1, PAYLOAD))
        packets.append(segment(TARGET, SOURCE, (5001, 40000), 1, sent + PAYLOAD, 0))
    lengths = np.array([len(packet) for packet in packets], np.int32)
    count = len(packets)
    frames = Frames(
        data=np.frombuffer(b"".join(packets), np.uint8),
        offset=(np.cumsum(lengths) - lengths).astype(np.int64),
        captured=lengths,
        length=lengths,
        time_ns=START_NS + np.arange(count, dtype=np.int64) * MS,
        link=np.ones(count, np.uint16),
        interface=np.zeros(count, np.uint16),
        first=1,
    )
    path = tmp_path_factory.mktemp("capture") / "small.pcapng"
    write_pcapng(path, ["leaf9:Ethernet1"], [frames])
    return path


DCTCP = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
FLAGS, CWR = 14 + 20 + 13, 128
"""Where TCP has its flags in a frame without tags, and one of them."""


@pytest.fixture(scope="session")
def silenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture as if its senders never set CWR on data."""
    path = tmp_path_factory.mktemp("conform") / "silenced.pcapng"
    with open_capture(DCTCP) as capture:
        runs: list[Frames] = []
        for frames in capture.chunks(65_536):
            data = frames.data.copy()
            here = frames.offset + FLAGS
            data[here] &= np.where(data[here] & 2 == 0, 255 - CWR, 255).astype(np.uint8)
            runs.append(replace(frames, data=data))
        write_pcapng(path, ["nic"], runs)
    return path
