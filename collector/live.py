"""Live: frames of a network interface, captured by dumpcap, which alone needs the right to do so.

dumpcap (of Wireshark) writes pcapng into a pipe, or into files of a ring (`collector.ring`). Its
buffer in the kernel bridges the time in which nobody reads; what finds no room there is dropped and
counted, and dumpcap tells the counts when it ends.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final

from collector.capture import Capture
from collector.follow import Follow, PipeWindow
from collector.frame import Frames
from collector.index import MORE
from collector.loss import Loss
from collector.readable import readable
from collector.ring import Ring, RingWindow, reason
from collector.window import LiveError

LIVE_REASONS: Final = {
    "kernel_dropped": "no room in the kernel's capture buffer: nobody read fast enough",
    "dumpcap_dropped": "dumpcap itself dropped frames",
    "interface_dropped": "the interface or its driver dropped frames before any capture saw them",
    "ring_overwritten": "dumpcap wrote its ring of files over before they were read",
}
"""Reasons why frames of an interface are seen but not delivered, each with a sentence."""

ANY: Final = "any"
"""All interfaces at once."""
PIPE_BYTES: Final = 1 << 20
"""Bytes that the pipe holds: as many as the system lets anyone have."""
QUIET_NS: Final = 500_000_000
"""Time without a frame after which none that had come by then is in the kernel any more."""
STARTED: Final = "File: "
"""What dumpcap says when it captures."""
BEHIND_NS: Final = 1_500_000_000
"""Time for which a frame may be on its way from its timestamp into the pipe: the kernel and dumpcap
hand over blocks, not frames."""
START_S: Final = 10.0
"""Seconds that dumpcap may take to begin, and to end."""
SAID_BYTES: Final = 4096
"""Of what dumpcap says so much is kept: its counters are the last of it."""
COUNTS: Final = re.compile(
    r"received/dropped on interface '.*': (\d+)/\d+"
    r" \(pcap:(\d+)/dumpcap:(\d+)/flushed:(\d+)/ps_ifdrop:(\d+)\)"
)
"""The counters that dumpcap ends with."""


class Live(Capture):
    """An interface that is captured. It ends when it is told to, or when dumpcap does."""

    live = True

    def __init__(
        self,
        interface: str,
        process: subprocess.Popen[bytes],
        follow: Follow,
        ring: Ring | None = None,
    ) -> None:
        """Read what a dumpcap that has started writes: into a ring, or else into a pipe."""
        assert process.stdout is not None
        file = FileIO(process.stdout.fileno(), closefd=False)
        self._files = (
            None if ring is None else RingWindow(ring, follow, lambda: process.poll() is not None)
        )
        window = self._files or PipeWindow(b"", file, follow)
        super().__init__(interface, file, window, None, follow)
        self.source = self._interface = interface
        self.epoch = time.time_ns()
        self.losses.append(Loss(None, self.epoch))
        self._process = process
        self._missed = 0
        self._said = b""
        self._until_ns: int | None = None
        self._told = False

    @property
    def backlog(self) -> float:
        """See Source: what comes through files can wait in them."""
        return 1.0 if self._files is None else self._files.backlog

    def stop(self) -> None:
        """End with what has come by now; see `_advance`."""
        if self._until_ns is None:
            self._until_ns = time.time_ns()

    def _run(self, frames_per_chunk: int) -> tuple[Frames, int]:
        """See Capture; behind the first frame that came after `stop` dumpcap is told to end."""
        frames, why = super()._run(frames_per_chunk)
        if self._until_ns is not None and len(frames) and frames.time_ns[-1] >= self._until_ns:
            self._tell_to_end()
        return frames, why

    def _tell_to_end(self) -> None:
        """Have dumpcap write what it has, then its counters. What is in the kernel it leaves."""
        if not self._told:
            self._told = True
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def _advance(self, stop: int) -> int:
        """See Capture; when nothing came, time has passed all the same.

        What has come before `stop` is read first, so that none of it stays in the kernel: dumpcap
        is told to end at a frame that came later, or when none has come for a while.
        """
        asked_ns = time.time_ns()
        reached = super()._advance(stop)
        if reached == MORE:
            self.reached_ns = asked_ns - BEHIND_NS
            if self._until_ns is not None and asked_ns - self._until_ns >= QUIET_NS:
                self._tell_to_end()
        if self._files is not None:
            self._listen()
            if self._files.missed > self._missed:
                self._missed = self._files.missed
                self.losses.append(Loss(None, asked_ns))
        return reached

    def _listen(self) -> None:
        """Take what dumpcap says of each file, so that it never waits to be heard."""
        heard = self._process.stderr
        while heard is not None and readable(heard, 0):
            if not (said := os.read(heard.fileno(), SAID_BYTES)):
                return
            self._said = (self._said + said)[-SAID_BYTES:]

    def _end(self, stop: int) -> None:
        """Take dumpcap's counters, and why it ended if nobody told it to.

        Raises LiveError when it told nothing at all of what it has captured.
        """
        said = self._last_words()
        if not self._told:
            self.failed = f"{self.source}: {self._why(said)}"
        if self._reader is not None:
            super()._end(stop)
        if found := COUNTS.search(said):
            had, kernel, own, flushed, lost = map(int, found.groups())
            over = max(had - self.delivered, 0) if self._missed else 0
            drops = zip(LIVE_REASONS, (kernel, own + flushed, lost, over), strict=True)
            self.reasons |= {reason: count for reason, count in drops if count}
            if lost_in_all := kernel + own + flushed + lost:
                # dumpcap says how many, and not when.
                of = had + lost_in_all
                self.losses.append(Loss(self.epoch, time.time_ns(), lost_in_all, of))
        elif not self.delivered and self._process.returncode:
            raise LiveError(f"{self.source}: {self._why(said)}")

    def _why(self, said: str) -> str:
        """Why dumpcap ended by itself."""
        code = self._process.returncode
        if code and code < 0:
            return f"dumpcap was ended by {signal.Signals(-code).name}"
        if self._interface not in {*(name for _, name in socket.if_nameindex()), ANY}:
            return "the interface is gone"
        if not code and COUNTS.search(said):
            return "somebody else told dumpcap to end"
        return _complaint(said)

    def _last_words(self) -> str:
        """What dumpcap wrote to its standard error at last, once it has ended."""
        try:
            said = self._process.communicate(timeout=START_S)[1]
        except subprocess.TimeoutExpired:
            self._process.kill()
            said = self._process.communicate()[1]
        return (self._said + said).decode(errors="replace")

    def close(self) -> None:
        """End dumpcap, if it has not ended. Frames that were delivered stay readable."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        if self._files is not None:
            self._files.close()
        super().close()


def capturing(interface: str) -> str:
    """The program that captures an interface. Raises LiveError where that cannot begin."""
    names = [name for _, name in socket.if_nameindex()]
    if interface not in {*names, ANY}:
        raise LiveError(f"{interface}: there is no such interface; there are {', '.join(names)}")
    if interface.isdecimal():
        raise LiveError(f"{interface}: dumpcap takes a number for a place in its list of names")
    program = shutil.which("dumpcap")
    if program is None:
        raise LiveError(f"{interface}: dumpcap is not installed; it comes with Wireshark")
    return program


def open_interface(
    interface: str,
    follow: Follow,
    *,
    expression: str | None = None,
    snap_bytes: int = 0,
    buffer_mib: int = 64,
    ring: tuple[Path, int] | None = None,
) -> Live:
    """Capture an interface from now on.

    `expression` is a capture filter in the words of pcap-filter(7); of each frame `snap_bytes` are
    kept (0: all); the kernel's buffer takes `buffer_mib`. `ring` is a directory, and how many MiB
    the files may take in it through which frames come then; none: they come through a pipe. Raises
    LiveError, one sentence that begins with the interface.
    """
    program = capturing(interface)
    held = None if ring is None else _ring(interface, *ring)
    command = [program, "-n", "-q", "-i", interface, "-B", str(buffer_mib)]
    command += ["-w", "-"] if held is None else held.words
    command += ["-s", str(snap_bytes)] if snap_bytes else []
    command += ["-f", expression] if expression else []
    try:
        process = _begun(command)
    except BaseException:
        if held is not None:
            held.close()
        raise
    assert process.stdout is not None
    with contextlib.suppress(OSError):  # less room is still room
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    if complaint := _wait(process):
        process.kill()
        process.communicate()
        if held is not None:
            held.close()
        raise LiveError(f"{interface}: {complaint}", asked="capture filter" in complaint)
    return Live(interface, process, follow, held)


def _begun(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A dumpcap that ends when nobody reads any more what it writes.

    Libraries of ours block SIGPIPE in the threads that load them, and children inherit that.
    """
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})
    try:
        # A session of its own: Ctrl-C at the terminal reaches us alone, and we end it in order.
        return subprocess.Popen(  # noqa: S603 - a list of arguments, the first found on PATH
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _ring(interface: str, directory: Path, mib: int) -> Ring:
    """The ring of an interface. Raises LiveError."""
    place = directory / interface
    try:
        return Ring(place, mib)
    except BlockingIOError:
        said = f"another process has its ring in {place}"
    except OSError as error:
        said = f"no ring can be kept in {place}: {reason(error)}"
    raise LiveError(f"{interface}: {said}")


def _wait(process: subprocess.Popen[bytes]) -> str:
    """Wait until dumpcap captures; else why it does not."""
    assert process.stderr is not None
    until, said = time.monotonic() + START_S, b""
    while STARTED.encode() not in said:
        left = until - time.monotonic()
        if left <= 0 or not readable(process.stderr, left):
            return "dumpcap has not begun to capture"
        piece = process.stderr.read(4096)
        if not piece:
            return _complaint(said.decode(errors="replace"))
        said += piece
    return ""


def _complaint(said: str) -> str:
    """The first sentence of dumpcap's own words."""
    words = said.partition("dumpcap: ")[2].strip().splitlines()
    return f"dumpcap: {words[0]}" if words else "dumpcap ended without a reason"
