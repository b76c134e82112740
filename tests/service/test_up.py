"""Everything in one process: what arrives is served while it goes on, and the end loses nothing."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector import CollectorSettings, open_capture, write_pcapng
from pipeline import PipelineSettings, Store
from service.commands import up
from service.failure import ExitCode
from service.readings import Readings
from service.run import Job

WAIT_S = 300
SECOND = 1_000_000_000
FRAMES = 100
"""Of the capture."""


def listening(process: subprocess.Popen[str]) -> str:
    """The address that the service tells."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    pytest.fail("the service ended before it answered")


def ended(process: subprocess.Popen[str]) -> str:
    """What it said after an end as by Ctrl-C."""
    process.send_signal(2)
    said, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, said
    return said


def flows(url: str) -> list[dict[str, object]]:
    """Flows that the API knows."""
    found = httpx.get(f"{url}/api/v1/flows", timeout=30).json()["flows"]
    assert isinstance(found, list)
    return found


def test_a_file_that_arrives_is_served_while_the_next_is_waited_for(
    hopsight: Any, capture: Path, tmp_path: Path
) -> None:
    with open_capture(capture) as opened:
        runs = list(opened.chunks())
        points = opened.points
    ring = tmp_path / "ring"
    ring.mkdir()
    process = hopsight.start(
        "up", str(ring), "--follow", "--store", f"chdb://{tmp_path}/store", "--port", "0"
    )
    try:
        url = listening(process)
        assert flows(url) == []
        for number, name in enumerate(("ring_1", "ring_2")):
            # A second later each, so that the interval of the one before has ended.
            later = [replace(run, time_ns=run.time_ns + number * SECOND) for run in runs]
            write_pcapng(ring / f".{name}", points, later)
            (ring / f".{name}").rename(ring / name)
        until = time.monotonic() + WAIT_S
        while not flows(url) and time.monotonic() < until:
            time.sleep(0.1)
        assert flows(url)
        assert "200 seen = 200 decoded" in ended(process)
    finally:
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_who_follows_a_directory_goes_on_where_the_one_before_ended(
    hopsight: Any, capture: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """The first life reads half of a file; the second one the rest, and another."""
    with open_capture(capture) as opened:
        [run], points = list(opened.chunks()), opened.points
    ring, dsn, half = tmp_path / "ring", f"chdb://{tmp_path}/store", FRAMES // 2
    ring.mkdir()
    files = [ring / "ring_1", ring / "ring_2"]
    for part in (run.part(0, half), run):
        write_pcapng(ring / ".new", points, [part])
        (ring / ".new").rename(files[0])
        if part is run:
            write_pcapng(files[1], points, [replace(run, time_ns=run.time_ns + SECOND)])
        process = hopsight.start("up", str(ring), "--follow", "--store", dsn, "--port", "0")
        try:
            url = listening(process)
            until = time.monotonic() + WAIT_S
            while not flows(url) and time.monotonic() < until:
                time.sleep(0.1)
            if part is run or how == signal.SIGTERM:
                assert ended(process)
        finally:
            process.kill()
            process.communicate()
    with Store(dsn) as store, store.alone() as engine:
        [(rows, frames)] = engine.rows("SELECT count(), uniqExact(source, frame) FROM observations")
        [(summed,)] = engine.rows("SELECT sum(frames) FROM flow_intervals")
    assert (rows, frames, summed) == (2 * FRAMES, 2 * FRAMES, 2 * FRAMES)


def test_telemetry_reports_are_listened_for_on_the_port_that_is_named(
    hopsight: Any, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    feed = f"127.0.0.1:{port}"
    process = hopsight.start(
        "up", "--int-reports", feed, "--store", f"chdb://{tmp_path}/store", "--port", "0"
    )
    try:
        listening(process)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(7):
                sender.sendto(b"\x20no report", ("127.0.0.1", port))
        said = ended(process)
        assert "7 seen" in said
        assert "report" in said
    finally:
        process.kill()


@pytest.mark.parametrize(
    "words", [("up",), ("up", "--follow"), ("collect", "--store"), ("analyze", "--store")]
)
def test_for_a_file_that_is_not_there_no_store_is_made(
    hopsight: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A store that holds nothing would have every other command say that all is well."""
    place, gone = f"chdb://{tmp_path / 'store'}", tmp_path / "gone"
    monkeypatch.setitem(hopsight.environment, "HOPSIGHT_STORE__DSN", place)
    done = hopsight.run(*words, *([place] * (words[-1] == "--store")), str(gone))
    said = f"hopsight: {gone}: no such file or directory\n"
    assert (done.returncode, done.stderr) == (3, said)
    assert not (tmp_path / "store").exists()


def test_there_must_be_something_to_read(hopsight: Any) -> None:
    told = hopsight.here("up", "--port", "0")
    assert told.returncode == 2
    assert "nothing to read: name a capture, --interface or another feed" in told.stderr
    form, range_ = "is not of the form HOST:PORT", ": ports are from 1 to 65535"
    feeds = {"127.0.0.1": form, "127.0.0.1:x": form, ":5": form, "127.0.0.1:0": range_,
             "127.0.0.1:99999": range_}  # fmt: skip
    for feed, said in feeds.items():
        told = hopsight.here("analyze", "--sflow", feed)
        assert told.returncode == 2
        assert f"{feed!r}{' ' * (said is form)}{said}" in told.stderr


class Slow(Store):
    """A store that takes nothing before it is let."""

    let = threading.Event()

    def insert(self, *given: Any, **more: Any) -> int:
        self.let.wait()
        return super().insert(*given, **more)


@pytest.fixture
def reading(capture: Path, tmp_path: Path) -> Iterator[up.Reading]:
    """Reads 100 frames into a store that does not take them yet."""
    Slow.let = threading.Event()
    with Slow(f"chdb://{tmp_path}/store") as store:
        store.migrate()
        job = Job([capture], CollectorSettings(), PipelineSettings())
        made = up.Reading(job, store, Readings(store, (), {}), up.read)
        made.start()
        made.ready.wait()
        while made.left < FRAMES:
            time.sleep(0.01)
        yield made
        Slow.let.set()
        made.over.wait()


def test_what_was_read_is_stored_however_long_it_takes(
    reading: up.Reading, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up, "TOLD_S", 0.1)
    threading.Timer(0.5, Slow.let.set).start()
    reading.end()
    said = capsys.readouterr()
    assert "ending: 100 frames that were read are still to be stored" in said.err
    assert "read: frames: 100 seen = 100 decoded" in said.out
    assert reading.left == 0


def test_nothing_is_given_up_while_code_is_compiled(
    reading: up.Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "STUCK_S", 0.2)
    assert reading.compiled.wait(WAIT_S)
    reading.compiled.clear()
    threading.Timer(1.0, Slow.let.set).start()
    reading.end()
    assert reading.left == 0


def test_frames_that_are_given_up_at_the_end_are_told(
    reading: up.Reading, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(up, "STUCK_S", 30.0)
    before = signal.getsignal(signal.SIGTERM)
    # As a loop that is over leaves it behind.
    interrupt = signal.signal(signal.SIGINT, lambda *_: None)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, interrupt))
    for number in (signal.SIGINT, signal.SIGTERM):
        threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
        with pytest.raises(up.Lost, match=f"^100 {up.ENDED}$") as told:
            reading.end()
        assert told.value.code == ExitCode.STORE
        assert signal.getsignal(signal.SIGTERM) == before
    monkeypatch.setattr(up, "STUCK_S", 0.2)
    with pytest.raises(up.Lost, match=r"^100 frames .* not stored: nothing was for 0\.2 s"):
        reading.end()
