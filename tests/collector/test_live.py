"""Frames that a real sender puts on an interface are read, or counted where they were dropped."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import (
    Capture,
    CaptureError,
    CollectorSettings,
    Decoder,
    Follow,
    MemoryBus,
    feed,
    open_capture,
    open_interface,
    write_pcapng,
)

ETHERNET = 1
POLL_S = 0.02
ENDS = tuple(f"hs-{end}{os.getpid()}" for end in "ab")


@pytest.fixture(scope="module")
def wire(tool: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Two ends of a link of our own; loopback where none can be made; else nothing to test."""
    tool("dumpcap")
    made = subprocess.run(
        ["ip", "link", "add", ENDS[0], "type", "veth", "peer", "name", ENDS[1]], check=False
    )
    if made.returncode == 0:
        try:
            for end in ENDS:
                subprocess.run(["ip", "link", "set", end, "up"], check=True)
            yield ENDS
        finally:
            subprocess.run(["ip", "link", "del", ENDS[0]], check=True)
        return
    try:
        open_interface("lo", Follow(POLL_S)).close()
    except CaptureError as error:
        pytest.skip(f"nobody may capture here: {error}")
    yield "lo", "lo"


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A capture of packets that are all different."""
    packets = [ethernet(ipv4(tcp(payload=b"live %06d" % number))) for number in range(2000)]
    path = tmp_path_factory.mktemp("live") / "sent.pcapng"
    write_pcapng(path, ["tap"], [frames_of(packets)])
    return path, packets


@pytest.fixture(params=["pipe", "ring"])
def ring(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int] | None:
    """How frames come: through a pipe (None), then through files of a ring."""
    return (tmp_path, 8) if request.param == "ring" else None


def read(live: Capture, then: Callable[[], None], wanted: int) -> list[bytes]:
    """Frames from the moment on at which `then` is done, until so many were ours or a while."""
    found: list[bytes] = []
    then()
    for tries, frames in enumerate(live.chunks(500, wait=False)):
        found += [
            octets
            for at, size in zip(frames.offset, frames.captured, strict=True)
            if b"live " in (octets := frames.data[at : at + size].tobytes())
        ]
        if len(found) >= wanted or tries > 500:
            live.stop()
    return found


def test_frames_of_a_real_sender_arrive_in_order(
    wire: tuple[str, str],
    sent: tuple[Path, list[bytes]],
    tool: Callable[..., str],
    ring: tuple[Path, int] | None,
) -> None:
    out, into = wire
    path, packets = sent
    replay = [tool("tcpreplay"), "--quiet", "--pps=20000", "-i", out, str(path)]
    with open_interface(into, Follow(POLL_S), expression="tcp", ring=ring) as live:
        found = read(
            live, lambda: subprocess.run(replay, check=True, capture_output=True), len(packets)
        )
        assert live.points == [into]
        assert live.source == into
        dropped = sum(live.reasons.values())
    # On loopback a frame is seen as it goes out and as it comes in; dumpcap shows it once.
    assert len(found) + dropped == len(packets)
    assert found == packets if not dropped else set(found) <= set(packets)


def test_an_idle_interface_holds_up_no_other_source(
    wire: tuple[str, str], sent: tuple[Path, list[bytes]]
) -> None:
    decoder = Decoder(CollectorSettings())
    with (
        open_interface(wire[1], Follow(POLL_S), expression="port 9") as idle,
        open_capture(sent[0]) as busy,
    ):

        async def run() -> list[tuple[str, bool]]:
            bus = MemoryBus()
            feeding = asyncio.create_task(feed([idle, busy], decoder, bus))
            got = []
            async for batch in bus:
                got.append((batch.source, batch.ended))
                if batch.source == busy.source and batch.ended:
                    idle.stop()
            await feeding
            return got

        got = asyncio.run(run())
    assert got[-1] == (wire[1], True)
    assert (busy.source, True) in got[:-1]
    assert decoder.accounting.seen == len(sent[1])


def test_what_has_come_before_the_end_is_read(
    wire: tuple[str, str],
    sent: tuple[Path, list[bytes]],
    tool: Callable[..., str],
    ring: tuple[Path, int] | None,
) -> None:
    """Told to end before anything was read, when all of it waits in the kernel and in the pipe."""
    path, packets = sent
    replay = [tool("tcpreplay"), "--quiet", "--topspeed", "--loop=5", "-i", wire[0], str(path)]
    with open_interface(wire[1], Follow(POLL_S), expression="tcp", ring=ring) as live:
        subprocess.run(replay, check=True, capture_output=True)
        live.stop()
        live.stop()
        found = sum(len(frames) for frames in live.chunks(500))
        assert found + sum(live.reasons.values()) == 5 * len(packets)
        assert live.failed == ""


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (signal.SIGKILL, "dumpcap was ended by SIGKILL"),
        (signal.SIGTERM, "somebody else told dumpcap to end"),
    ],
)
def test_a_capture_that_ends_by_itself_says_why_and_keeps_what_came(
    wire: tuple[str, str], sent: tuple[Path, list[bytes]], tool: Callable[..., str],
    ended: signal.Signals, why: str,
) -> None:  # fmt: skip
    path, packets = sent
    replay = [tool("tcpreplay"), "--quiet", "--pps=20000", "-i", wire[0], str(path)]
    with open_interface(wire[1], Follow(POLL_S), expression="tcp") as live:
        subprocess.run(replay, check=True, capture_output=True)
        found = 0
        for tries, frames in enumerate(live.chunks(500, wait=False)):
            found += len(frames)
            if found >= len(packets) or tries > 500:
                live._process.send_signal(ended)
        assert found == len(packets)
        assert live.failed == f"{wire[1]}: {why}"


def test_an_interface_that_goes_is_named(tool: Callable[..., str]) -> None:
    tool("dumpcap")
    ends = [f"hs-{end}{os.getpid()}" for end in "yz"]
    made = ["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]]
    if subprocess.run(made, check=False).returncode:
        pytest.skip("no interface can be made here")
    for end in ends:
        subprocess.run(["ip", "link", "set", end, "up"], check=True)
    with open_interface(ends[1], Follow(POLL_S), expression="tcp") as live:
        subprocess.run(["ip", "link", "del", ends[0]], check=True)
        assert sum(len(frames) for frames in live.chunks(500)) == 0
        assert live.failed == f"{ends[1]}: the interface is gone"


def test_what_cannot_be_captured_is_said(wire: tuple[str, str]) -> None:
    with pytest.raises(CaptureError, match="nosuch: there is no such interface; there are"):
        open_interface("nosuch", Follow())
    with pytest.raises(CaptureError, match="there is no such interface"):
        open_interface("-", Follow())
    with pytest.raises(CaptureError, match=f'{wire[1]}: dumpcap: Invalid capture filter "tcp and"'):
        open_interface(wire[1], Follow(), expression="tcp and")


def test_without_dumpcap_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CaptureError, match="lo: dumpcap is not installed; it comes with Wireshark"):
        open_interface("lo", Follow())
