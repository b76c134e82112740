"""A worker that starts while its store does not answer waits for it, and for so long only."""

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from store_server import StoreEndpoint

from pipeline import connection
from service.commands.serve import open_store
from service.failure import ExitCode, Failure
from service.settings import Settings

LATE_S = 2.0
SILENCE_S = 10.0


def settings_of(endpoint: StoreEndpoint) -> Settings:
    return Settings.model_validate({"store": {"dsn": f"{endpoint.url}/late"}})


def test_a_store_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    endpoint = StoreEndpoint(tmp_path / "store")
    began = time.monotonic()
    comes = threading.Timer(LATE_S, endpoint.start)
    comes.start()
    try:
        with open_store(settings_of(endpoint), patience_s=120) as store, store.alone() as found:
            assert found.rows("SELECT count() FROM observations") == [(0,)]
        assert time.monotonic() - began > LATE_S
    finally:
        comes.join()
        endpoint.kill()


def test_a_store_that_never_comes_is_a_sentence(tmp_path: Path) -> None:
    settings = settings_of(StoreEndpoint(tmp_path / "store"))
    with pytest.raises(Failure, match=r"127\.0\.0\.1") as failed:
        open_store(settings, patience_s=0.5)
    assert failed.value.code == ExitCode.STORE


@contextmanager
def listening(meet: Callable[[socket.socket], object]) -> Iterator[int]:
    """A port where each connection is met by something that is no store, and then kept open."""
    kept: list[socket.socket] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return
            meet(kept[-1])

    def end() -> None:
        with suppress(OSError):  # it may have ended
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for each in kept:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, args=(listener,), daemon=True)
    thread.start()
    # Whoever waits without a limit fails, and does not hang.
    late = threading.Timer(SILENCE_S, end)
    late.start()
    try:
        yield listener.getsockname()[1]
    finally:
        late.cancel()
        end()


@pytest.mark.parametrize(
    "meet",
    [lambda _: None, lambda at: at.send(b"SSH-2.0-x\r\n"), lambda at: at.send(b"no line")],
    ids=["silent", "a line", "no line"],
)
def test_what_is_no_store_is_told_once_and_soon(
    meet: Callable[[socket.socket], object],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "ANSWER_S", 1)
    with listening(meet) as port:
        settings = Settings.model_validate({"store": {"dsn": f"http://127.0.0.1:{port}/none"}})
        began = time.monotonic()
        with pytest.raises(Failure, match="does not answer") as failed:
            open_store(settings, patience_s=1.5)
        assert time.monotonic() - began < SILENCE_S
    assert failed.value.code == ExitCode.STORE
    told = [each.getMessage() for each in caplog.records if each.name == "hopsight.service"]
    assert len(told) == 1
    assert told[0].startswith(f"tried again for 1.5 s: the store http://127.0.0.1:{port}/none does")


@pytest.mark.parametrize("command", ["migrate", "doctor", "top"])
def test_every_command_tells_soon_that_no_store_answers(
    hopsight: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """It would say nothing for five minutes, the time that the library waits for a server."""
    monkeypatch.setattr(connection, "ANSWER_S", 1)
    with listening(lambda _: None) as port:
        began = time.monotonic()
        told = hopsight.here(command, "--store", f"http://127.0.0.1:{port}/none")
        assert time.monotonic() - began < SILENCE_S
    assert told.returncode != ExitCode.OK
    assert "does not answer: timed out" in " ".join((told.stdout + told.stderr).split())


@pytest.mark.parametrize("command", ["serve", "up", "collect", "pipeline"])
def test_what_loads_its_engines_is_not_ended_by_a_reload(hopsight: Any, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        given = ("--store", f"http://127.0.0.1:{free.getsockname()[1]}/late")
        process = hopsight.start(command, *(("--bus", "kafka://127.0.0.1:1/x", *given)
                                            if command == "pipeline" else given))  # fmt: skip
        try:
            place = Path(f"/proc/{process.pid}")
            until_s = time.monotonic() + 60
            while not catches_hangup(place) and time.monotonic() < until_s:
                time.sleep(0.005)
            assert "polars" not in (place / "maps").read_text()
            process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate()


def catches_hangup(place: Path) -> bool:
    """Whether a process has a handler for SIGHUP, which is the first of the signals."""
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    return bool(int(status["SigCgt"], 16) & 1)


def test_who_waits_for_a_store_is_not_ended_by_a_reload(hopsight: Any) -> None:
    """`systemctl reload` sends SIGHUP whatever a worker is doing."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    worker = hopsight.start("pipeline", "--bus", "kafka://127.0.0.1:1/x",
                            "--store", f"http://127.0.0.1:{port}/late")  # fmt: skip
    try:
        assert worker.stdout is not None
        assert "tried again" in worker.stdout.readline()
        worker.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            worker.wait(1)
    finally:
        worker.kill()
        worker.communicate()
