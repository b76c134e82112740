"""The wheel works where it is installed by someone else: elsewhere, unprivileged, read-only."""

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from importlib.util import cache_from_source
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from collector.kernel import CACHE

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 600
WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
COMPILED = {"HOPSIGHT_CACHE_DIR": str(CACHE.parent)} if CACHE else {}
"""The same sources are the same code: what other tests have compiled need not be made anew."""
DROPPED = ("--bounding-set=-all", "--inh-caps=-all", "--securebits=+noroot", "--")
"""Without capabilities even root is bound by permissions, as every other user is."""


class Installed:
    """An environment that holds the wheel, what it says that it needs, and nothing else."""

    def __init__(self, place: Path, unprivileged: tuple[str, ...]) -> None:
        self.bin = place / "venv" / "bin"
        self.home = place / "home"
        self.unprivileged = unprivileged
        self.packages = next((place / "venv" / "lib").glob("python3*/site-packages"))

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Run a program of this environment from `/`."""
        return subprocess.Popen(
            [*self.unprivileged, str(self.bin / command[0]), *command[1:]],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8", **COMPILED},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> str:
        """Standard output of a program that must succeed."""
        with self.start(*command) as process:
            out, error = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, error
        return out


def chmod(top: Path, change: Callable[[int], int]) -> None:
    for path in (top, *top.rglob("*")):
        if not path.is_symlink():
            path.chmod(change(stat.S_IMODE(path.stat().st_mode)))


def required(packages: Path) -> list[Distribution]:
    """What the wheel in `packages` says that it needs, and what that needs, as pip would choose."""
    (wheel,) = distributions(name="hopsight", path=[str(packages)])
    wanted, asked = [Requirement(each) for each in wheel.requires or ()], set[tuple[str, str]]()
    found: dict[str, Distribution] = {}
    while wanted:
        one = wanted.pop()
        for extra in {"", *one.extras}:
            if (one.name, extra) in asked or (one.marker and not one.marker.evaluate()):
                continue
            asked.add((one.name, extra))
            found[canonicalize_name(one.name)] = library = distribution(one.name)
            for each in map(Requirement, library.requires or ()):
                if each.marker is None or each.marker.evaluate({"extra": extra}):
                    each.marker = None
                    wanted.append(each)
    return list(found.values())


def copy(library: Distribution, packages: Path) -> None:
    """Every file that was installed here and its byte code; not its commands."""
    top = Path(str(library.locate_file("")))
    files = {Path(file) for file in library.files or () if ".." not in file.parts}
    files |= {Path(cache_from_source(str(file))) for file in files if file.suffix == ".py"}
    for file in files:
        if (top / file).exists():
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / file, packages / file)


@pytest.fixture(scope="module")
def installed(
    tmp_path_factory: pytest.TempPathFactory, tool: Callable[..., str]
) -> Iterator[Installed]:
    place = tmp_path_factory.mktemp("wheel")
    run = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place)]
    subprocess.run([*run, str(ROOT)], check=True, capture_output=True)
    (wheel,) = place.glob("hopsight-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "venv" / "bin" / "python")]
    pip += ["--quiet", "--disable-pip-version-check", "--no-input"]
    alone = ["install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *alone], check=True, cwd=place)
    (place / "home").mkdir()
    unprivileged = (tool("setpriv"), *DROPPED) if os.geteuid() == 0 else ()
    environment = Installed(place, unprivileged)
    for library in required(environment.packages):
        copy(library, environment.packages)
    subprocess.run([*pip, "check"], check=True, cwd=place)
    chmod(environment.packages, lambda mode: mode & ~WRITABLE)
    yield environment
    chmod(environment.packages, lambda mode: mode | stat.S_IWUSR)


def capture(path: Path, segments: int = 8) -> int:
    """Writes a pcap of one TCP flow, data and ACKs in turn, one mark; returns its frames."""
    frames = []
    for number in range(segments):
        seq = 1000 + 100 * number
        ecn, echo = (3 if number == 3 else 2), (0x40 if number == 3 else 0)
        frames.append(segment(ecn, 40000, 5001, seq, 1, 0x18, bytes(100)))
        frames.append(segment(0, 5001, 40000, 1, seq + 100, 0x10 | echo, b""))
    records = b"".join(
        struct.pack("<IIII", 1_700_000_000, 50 * at, len(frame), len(frame)) + frame
        for at, frame in enumerate(frames)
    )
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + records)
    return len(frames)


def segment(
    ecn: int, sport: int, dport: int, seq: int, ack: int, flags: int, payload: bytes
) -> bytes:
    """One Ethernet frame with a TCP segment between 10.0.0.1 and 10.0.0.2."""
    source, target = (1, 2) if dport == 5001 else (2, 1)
    addresses = bytes((10, 0, 0, source, 10, 0, 0, target))
    ip = struct.pack("!BBHHHBBH", 0x45, ecn, 40 + len(payload), seq & 0xFFFF, 0, 64, 6, 0)
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 1024, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + addresses + tcp + payload


def test_packages_cannot_be_written(installed: Installed) -> None:
    attempt = f"open({str(installed.packages / 'new')!r}, 'w')"
    with installed.start("python", "-c", attempt) as process:
        _, error = process.communicate(timeout=PATIENCE_S)
    assert "PermissionError" in error


def test_rooms_come_from_the_wheel(installed: Installed) -> None:
    ask = "import collector, pipeline, replay, service; print(*map(repr, [collector, service]))"
    assert installed.run("python", "-c", ask).count(str(installed.packages)) == 2


def test_analyze(installed: Installed, tmp_path: Path) -> None:
    frames = capture(tmp_path / "tiny.pcap")
    answer = json.loads(installed.run("hopsight", "analyze", "--json", str(tmp_path / "tiny.pcap")))
    assert answer["accounting"] == {"seen": frames, "decoded": frames, "reasons": {}}
    keys = [(flow["src"], flow["sport"], flow["dst"], flow["dport"]) for flow in answer["flows"]]
    assert ("10.0.0.1", 40000, "10.0.0.2", 5001) in keys


def test_serve(installed: Installed, tmp_path: Path) -> None:
    store = f"chdb://{tmp_path / 'store'}"
    with installed.start("hopsight", "serve", "--port", "0", "--store", store) as process:
        assert process.stdout
        try:
            started = process.stdout.readline()
            assert "http://" in started
            for path in ("/healthz", "/readyz", "/metrics", "/", "/docs/how-to/where"):
                assert httpx.get(started.split()[-1] + path, timeout=PATIENCE_S).is_success, path
        finally:
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in error


def test_the_wheel_holds_every_file_of_the_rooms_and_the_documentation(
    installed: Installed,
) -> None:
    rooms = ("collector", "pipeline", "replay", "service")
    files = {
        path.relative_to(ROOT)
        for room in rooms
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path.suffix for path in files} >= {".py", ".sql", ".js", ".css", ".html", ".svg"}
    assert [path for path in sorted(files) if not (installed.packages / path).is_file()] == []
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    inside = installed.packages / "service" / "docs"
    assert [path for path in sorted(pages) if not (inside / path).is_file()] == []
