"""`hopsight collect` gives on what `hopsight decode` prints, and begun anew nothing new."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import Batch, Frames, open_bus, write_pcapng
from collector.loss import Loss
from pipeline import Question, Store, held
from service import cli
from service.failure import ExitCode
from tests.service.test_stages import free, told

ROWS = ("rows_observations",)


REPORT = bytes.fromhex("14200000 03344c41 00000001 00000000")
"""Version 1, the IP packet of a tracked flow without metadata."""


def segment(port: int) -> bytes:
    """A TCP segment in Ethernet."""
    header = bytes(12) + b"\x08\x00" + bytes([0x45, 2, 0, 60, 0, 0, 0, 0, 64, 6, 0, 0, 10, 7, 0, 1])
    tail = bytes([10, 7, 0, 2, 0x13, 0x89]) + bytes(8) + bytes([0x50, 0x10]) + bytes(26)
    return header + tail[:4] + port.to_bytes(2, "big") + tail[4:]


def written(path: Path, count: int, later_us: int = 0) -> Path:
    """A capture of `count` TCP segments of eight flows."""
    path.parent.mkdir(exist_ok=True)
    packets = [segment(4000 + at % 8) for at in range(count)]
    lengths = np.full(count, len(packets[0]), np.int32)
    frames = Frames(
        data=np.frombuffer(b"".join(packets), np.uint8),
        offset=(np.cumsum(lengths) - lengths).astype(np.int64),
        captured=lengths,
        length=lengths,
        time_ns=10**18 + (np.arange(count, dtype=np.int64) + later_us) * 1000,
        link=np.ones(count, np.uint16),
        interface=np.zeros(count, np.uint16),
        first=1,
    )
    write_pcapng(path, ["leaf9:Ethernet1"], [frames])
    return path


def on_the_bus(url: str) -> tuple[list[Batch], Any]:
    """All batches that a reader of a bus is given, and what it skipped."""

    async def read() -> tuple[list[Batch], Any]:
        bus: Any = open_bus(url)
        await bus.close()
        return [batch async for batch in bus], bus.skipped

    return asyncio.run(asyncio.wait_for(read(), 60))


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(str(stop.value.code))


def test_what_is_collected_twice_is_read_once(
    bus_url: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture, rows = written(tmp_path / "small.pcapng", 400), tmp_path / "rows.parquet"
    url = f"{bus_url('collected')}&compression=zstd"
    assert ended("decode", str(capture), "--parquet", str(rows)) == ExitCode.OK
    cut = ("", "--set", "collector.frames_per_batch=37")
    for more in ((), cut[1:]):
        assert ended("collect", str(capture), "--bus", url, *more) == ExitCode.OK
    batches, skipped = on_the_bus(url)
    read = pl.concat([batch.frame for batch in batches if not batch.ended], how="diagonal")
    expected = pl.read_parquet(rows)
    read = read.sort("frame").select(name for name in expected.columns if name in read.columns)
    assert read.equals(expected.select(read.columns))
    assert {batch.source for batch in batches} == {"small.pcapng"}
    assert sum(batch.ended for batch in batches) == 4
    assert skipped["repeated"] > 4


@pytest.mark.parametrize(
    ("bus", "sentence"),
    [
        ((), "--bus must be kafka://host:port/topic"),
        (("--bus", "memory://"), "--bus must be kafka://host:port/topic"),
        (("--bus", "kafka://here:9092"), "an address is kafka://host:port/topic"),
        (("--bus", "kafka://here:9092/t", "--store", "chdb:///tmp/s"), "name one"),
    ],
)
def test_a_bus_that_no_other_process_can_read_is_refused(
    bus: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    capture = written(tmp_path / "small.pcapng", 4)
    assert ended("collect", str(capture), *bus) == ExitCode.USAGE
    assert sentence in capsys.readouterr().err


def rows_of(dsn: str) -> list[tuple[Any, ...]]:
    """Raw rows of a store that nobody has open, in the order of their frames."""
    asked = "SELECT source, frame, time_ns, flow, sport, length FROM observations ORDER BY frame"
    with Store(dsn) as store, store.alone() as connection:
        return connection.rows(asked)


def test_a_store_keeps_raw_rows_once_and_judges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture, rows = written(tmp_path / "small.pcapng", 400), tmp_path / "rows.parquet"
    dsn = f"chdb://{tmp_path}/store"
    cut = ("--set", "collector.frames_per_batch=37")
    assert ended("decode", str(capture), "--parquet", str(rows)) == ExitCode.OK
    capsys.readouterr()
    for _ in range(2):
        assert ended("collect", str(capture), "--store", dsn, "--json", *cut) == ExitCode.OK
        told = json.loads(capsys.readouterr().out)
        assert told["rows"] == told["accounting"]["decoded"] == 400
        assert told["whole"]
    found = rows_of(dsn)
    expected = pl.read_parquet(rows).select("source", "frame", "time_ns", "flow", "sport", "length")
    assert found == expected.sort("frame").rows()
    with Store(dsn) as store, store.alone() as connection:
        assert connection.rows("SELECT count() FROM verdicts") == [(0,)]


def test_a_flow_that_nobody_judged_is_found_with_its_raw_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture, dsn = written(tmp_path / "small.pcapng", 80), f"chdb://{tmp_path}/store"
    assert ended("collect", str(capture), "--store", dsn) == ExitCode.OK
    asked = Question(IPv4Address("10.7.0.1"), 4003, IPv4Address("10.7.0.2"), 5001)
    with Store(dsn) as store:
        rows = pl.concat(held(store, asked, None, None).pages(store, None, None))
    assert rows["frame"].to_list() == [*range(4, 81, 8)]


def test_a_store_that_refuses_rows_ends_the_collector_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture, dsn = written(tmp_path / "small.pcapng", 400), f"chdb://{tmp_path}/store"
    with Store(dsn) as store:
        store.migrate()
        with store.alone() as connection:
            connection.command("ALTER TABLE observations ADD CONSTRAINT none CHECK length = 0")
    cut = ("--set", "collector.frames_per_batch=5")
    assert ended("collect", str(capture), "--store", dsn, *cut) == ExitCode.STORE
    assert "insert into observations failed" in capsys.readouterr().err


def test_who_is_told_to_end_waits_for_the_broker_and_says_what_came_of_it(
    hopsight: Any, tmp_path: Path
) -> None:
    capture = written(tmp_path / "small.pcapng", 4)
    bus = "kafka://127.0.0.1:9/nobody?idempotence=off"
    hopsight.environment["HOPSIGHT_BUS__RETRY_S"] = "4"
    try:
        process = hopsight.start("collect", str(capture), "--bus", bus, "--json")
    finally:
        del hopsight.environment["HOPSIGHT_BUS__RETRY_S"]
    assert "Unable connect" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.UNAVAILABLE
    assert "not all of it is on the bus" in said
    assert "what was read is on the bus" not in said
    assert '"whole": false' in said


def test_what_waits_on_disk_for_the_next_collector_is_said(hopsight: Any, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    spill = tmp_path / "spill"
    own = {"HOPSIGHT_BUS__RETRY_S": "3", "HOPSIGHT_BUS__SPILL_DIRECTORY": str(spill)}
    hopsight.environment.update(own)
    try:
        feed = ("--int-reports", f"{address[0]}:{address[1]}")
        bus = "kafka://127.0.0.1:9/nobody?idempotence=off"
        process = hopsight.start("collect", *feed, "--bus", bus)
    finally:
        for name in own:
            del hopsight.environment[name]
    assert "Unable connect" in process.stdout.readline()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(50):
            sender.sendto(b"no report", address)
            time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.UNAVAILABLE
    octets = sum(path.stat().st_size for path in spill.iterdir() if path.suffix != ".lock")
    assert octets
    assert f"bytes of it wait in {spill} for the next collector" in said


@pytest.mark.parametrize(("room", "signals"), [(4, ["KILL"]), (1000, ["TERM", "TERM"])])
def test_what_a_killed_collector_left_has_no_hole_and_tells_of_the_time_before(
    hopsight: Any,
    bus_url: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    room: int,
    signals: list[str],
) -> None:
    """With much room in memory nothing is on disk until the second signal comes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    spill = tmp_path / "spill"
    monkeypatch.setitem(hopsight.environment, "HOPSIGHT_BUS__SPILL_DIRECTORY", str(spill))
    feed = ("--int-reports", f"{address[0]}:{address[1]}")
    metrics, sent = free(), 0
    monkeypatch.setitem(hopsight.environment, "HOPSIGHT_PROCESS__METRICS", metrics)
    monkeypatch.setitem(hopsight.environment, "HOPSIGHT_BUS__WAITING", str(room))
    process = hopsight.start("collect", *feed, "--bus", "kafka://127.0.0.1:9/none?idempotence=off")
    assert "Unable connect" in process.stdout.readline()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        until, decoded = time.monotonic() + 60, 0.0
        while (sent < 20 or decoded < sent) and time.monotonic() < until:
            if decoded == sent:
                sender.sendto(REPORT + segment(4000)[14:], address)
                sent += 1
            time.sleep(0.02)
            frames = told(metrics).get("hopsight_collector_frames_total", {})
            decoded = frames.get(("decoded",), 0.0)
    time.sleep(0.3)
    for name in signals:
        process.send_signal(getattr(signal, f"SIG{name}"))
        time.sleep(0.5)
    said, _ = process.communicate(timeout=60)
    assert ("bytes of it wait in" in said) is (signals != ["KILL"])
    before = set(spill.glob("*.batch"))
    assert before
    url = bus_url("drained", partitions=1)
    process = hopsight.start("collect", *feed, "--bus", url)
    deadline = time.monotonic() + 30
    while before & set(spill.glob("*.batch")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert not {*spill.glob("*.batch")}
    batches, _ = on_the_bus(url)
    for source in {each.source for each in batches}:
        own = [each for each in batches if each.source == source]
        lives = list(dict.fromkeys(each.epoch for each in own))
        assert [loss for each in own for loss in each.losses] == [Loss(None, at) for at in lives]
        assert len(lives) == 2
        assert own[0].losses
    got = [frame for each in batches if each.frame.height for frame in each.frame["frame"]]
    assert got == [*range(1, sent + 1)]


def following(
    hopsight: Any, file: Path, dsn: str, address: str, kept: int, *more: str
) -> tuple[Any, float]:
    """A follower of a file, once it has stored so many rows; and how many these are."""
    hopsight.environment["HOPSIGHT_PROCESS__METRICS"] = address
    try:
        process = hopsight.start("collect", str(file), "--follow", "--store", dsn, *more)
    finally:
        del hopsight.environment["HOPSIGHT_PROCESS__METRICS"]
    until, seen = time.monotonic() + 60, 0.0
    while seen < kept and time.monotonic() < until:
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            seen = told(address).get("hopsight_store_kept_total", {}).get(ROWS, 0.0)
    return process, seen


def followed(
    hopsight: Any, file: Path, dsn: str, address: str, kept: int, how: signal.Signals
) -> float:
    """Rows that a follower stored of a file when it was ended, once they were so many."""
    process, seen = following(hopsight, file, dsn, address, kept)
    process.send_signal(how)
    process.communicate(timeout=60)
    return seen


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_rows_of_a_followed_file_are_stored_once_however_often_it_is_read(
    hopsight: Any, tmp_path: Path, how: signal.Signals
) -> None:
    """The second life finds more in the file, and cuts it elsewhere."""
    file, dsn, address = tmp_path / "growing.pcapng", f"chdb://{tmp_path}/store", free()
    for size, kept in ((3000, 3000), (5000, 2000)):
        written(file, size)
        assert followed(hopsight, file, dsn, address, kept, how) == kept
    with Store(dsn) as store, store.alone() as engine:
        [(rows, frames)] = engine.rows("SELECT count(), uniqExact(frame) FROM observations")
    assert (rows, frames) == (5000, 5000)


@pytest.mark.parametrize("gone", ["head", "all"])
def test_a_followed_file_goes_on_where_its_frames_are_not_kept_any_more(
    hopsight: Any, tmp_path: Path, gone: str
) -> None:
    """As after some days, or when an address was erased; what was summed of them is kept longer."""
    file, dsn, address = tmp_path / "growing.pcapng", f"chdb://{tmp_path}/store", free()
    cut = ("--set", "collector.frames_per_batch=50")
    for size, kept in ((300, 300), (400, 100)):
        written(file, size)
        process, seen = following(hopsight, file, dsn, address, kept, *cut)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert seen == kept, "what was stored before is not stored again"
        if size == 300:
            with Store(dsn) as store, store.alone() as engine:
                engine.command("SET mutations_sync = 2")
                which = "frame <= 200" if gone == "head" else "1"
                engine.command(f"ALTER TABLE observations DELETE WHERE {which}")
    with Store(dsn) as store, store.alone() as engine:
        [(rows, frames)] = engine.rows("SELECT count(), uniqExact(frame) FROM observations")
        [(far,)] = engine.rows("SELECT max(frame) FROM readings")
    assert (rows, frames) == ((200, 200) if gone == "head" else (100, 100))
    assert far == 400


@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_a_followed_file_that_is_none_any_more_is_a_failure(
    hopsight: Any, tmp_path: Path, how: str
) -> None:
    """Whoever begins it again has it read the other one."""
    file, dsn = written(tmp_path / "growing.pcapng", 300), f"chdb://{tmp_path}/store"
    process, _ = following(hopsight, file, dsn, free(), 300, "--json")
    if how == "cut":
        file.write_bytes(file.read_bytes()[:100])
    else:
        file.rename(tmp_path / "before.pcapng")
        written(file, 5)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.UNAVAILABLE
    assert "growing.pcapng was cut, or its name is another file's; begin again" in said
    [told] = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert told["whole"] is False
    assert told["accounting"]["reasons"] == {"file_replaced": 1}


def test_another_file_of_the_same_name_is_stored_too(hopsight: Any, tmp_path: Path) -> None:
    """One of another tap, whose time is that of rows that are stored, and which is shorter."""
    dsn, address = f"chdb://{tmp_path}/store", free()
    for place, count, later_us in (("a", 3000, 0), ("b", 2000, 500)):
        file = written(tmp_path / place / "x.pcapng", count, later_us)
        assert followed(hopsight, file, dsn, address, count, signal.SIGTERM) == count
    with Store(dsn) as store, store.alone() as engine:
        [(rows,)] = engine.rows("SELECT count() FROM observations")
    assert rows == 5000


def test_a_second_signal_ends_who_waits_for_a_broker(hopsight: Any, tmp_path: Path) -> None:
    capture = written(tmp_path / "small.pcapng", 4)
    bus = "kafka://127.0.0.1:9/nobody?idempotence=off"
    process = hopsight.start("collect", str(capture), "--follow", "--bus", bus)
    assert process.stdout is not None
    assert "Unable connect" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM
    assert "frames: 4 seen = 4 decoded; ended again before; 0 rows are on the bus" in said


@pytest.mark.parametrize("waiting", ["64", "1"], ids=["room", "full"])
def test_who_read_nothing_waits_for_no_broker_that_never_answered(
    hopsight: Any, waiting: str
) -> None:
    """Only batches wait that say how far time has come, which nobody misses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        host, port = probe.getsockname()
    bus = "kafka://127.0.0.1:9/nobody?idempotence=off"
    hopsight.environment["HOPSIGHT_BUS__WAITING"] = waiting
    try:
        process = hopsight.start("collect", "--int-reports", f"{host}:{port}", "--bus", bus)
    finally:
        del hopsight.environment["HOPSIGHT_BUS__WAITING"]
    assert "Unable connect" in process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == ExitCode.OK
    assert "frames: 0 seen = 0 decoded; stopped by a signal; nothing was read" in said
    assert "Unclosed" not in said
