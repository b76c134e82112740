"""Datagrams: a UDP feed, such as telemetry reports or sFlow, received as frames.

A report's sender and receiver matter to its decoding, so each datagram is given the IP and UDP
headers back that the system took off; the frames are of link type raw IP.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from collector.arena import Arena
from collector.frame import Frames
from collector.loss import Loss
from collector.protocol_number import UDP
from collector.readable import readable
from collector.receive import SO_RXQ_OVFL, SO_TIMESTAMPNS, Receiver
from collector.window import CaptureError, LiveError

DATAGRAM_REASONS: Final = {
    "socket_dropped": "no room in the socket's buffer: nobody read fast enough"
}
"""Reason why datagrams are seen but not delivered, with a sentence."""
SO_RCVBUFFORCE: Final = 33
RAW: Final = 101
"""LINKTYPE_RAW: the frame begins with its IP header."""
AHEAD: Final = 48
"""Octets of the longer of the headers: IPv6 and UDP."""
LARGEST: Final = 9216
"""Octets of a datagram that are kept; what is longer is truncated, and said to be."""
SLOTS: Final = 2048
"""Datagrams received before they are given on."""
BUFFER_BYTES: Final = 16 << 20
"""Room that is asked of the kernel for what waits."""
POLL_S: Final = 0.1
BEHIND_NS: Final = 1_000_000
"""Time for which a datagram may be on its way from its timestamp into its socket."""
IPV4, IPV6 = 20, 40
UDP_BYTES: Final = 8


class Datagrams:
    """One socket of a UDP feed. It ends when it is told to."""

    live = True
    backlog = 1.0

    def __init__(self, name: str, opened: socket.socket) -> None:
        """Read a socket that is bound."""
        self.source = name
        self.epoch = time.time_ns()
        self.points = [name]
        self.reasons: dict[str, int] = {}
        self.failed = ""
        self.losses = [Loss(None, self.epoch)]
        self.poll_s = POLL_S
        self.reached_ns: int | None = None
        self._socket = opened
        self._stop = threading.Event()
        self._arena = Arena()
        self._receiver = Receiver(SLOTS, LARGEST, AHEAD)
        address = opened.getsockname()
        self._ipv4 = opened.family == socket.AF_INET
        self._own = np.frombuffer(socket.inet_pton(opened.family, address[0]), np.uint8)
        self._port = int(address[1])
        self._delivered = 0
        self._told = 0, 0, self.epoch
        """Datagrams that were lost and delivered when losses were told last, and when that was."""

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def chunks(self, frames_per_chunk: int, *, wait: bool = True) -> Iterator[Frames]:
        """Datagrams as they have come, in the order in which the kernel took them."""
        most = min(frames_per_chunk, SLOTS)
        until_ns: int | None = None
        while True:
            if until_ns is None and self._stop.is_set():
                until_ns = time.time_ns()  # what comes later is not waited for
            asked_ns = time.time_ns()
            frames = self._frames(most)
            if not len(frames):
                self.reached_ns = asked_ns - BEHIND_NS
            else:
                self._tell(self._receiver.lost, int(frames.time_ns[-1]))
            over = not len(frames) or int(frames.time_ns[-1]) >= (until_ns or 0)
            if len(frames) or not (wait or until_ns):
                yield frames
            if until_ns is not None and over:
                break
            if not len(frames) and wait:
                readable(self._socket, POLL_S)
        self._tell(max(self._receiver.lost, self._lost()), time.time_ns())

    def _frames(self, most: int) -> Frames:
        """What waits, at most so many."""
        receiver = self._receiver
        block = self._arena.block(SLOTS * receiver.stride)
        count = 0
        try:
            while count < most and (came := receiver.receive(self._socket, block, count)):
                count += came
        except OSError as error:
            raise CaptureError(f"{self.source}: {(error.strerror or '').lower()}") from error
        octets = receiver.lengths(count)
        slots = block[: count * receiver.stride].reshape(count, receiver.stride)
        head = IPV4 if self._ipv4 else IPV6
        start = AHEAD - UDP_BYTES - head
        if count:
            self._address(slots[:, start:AHEAD], receiver.peers[:count], octets)
        first, self._delivered = self._delivered + 1, self._delivered + count
        return Frames(
            data=block,
            offset=np.arange(count, dtype=np.int64) * receiver.stride + start,
            captured=head + UDP_BYTES + np.minimum(octets, LARGEST),
            length=head + UDP_BYTES + octets,
            time_ns=receiver.times(count, time.time_ns()),
            link=np.full(count, RAW, np.uint16),
            interface=np.zeros(count, np.uint16),
            first=first,
        )

    def _tell(self, lost: int, now_ns: int) -> None:
        """Tell what was lost since this was asked last, of how many and between which times."""
        lost_before, before, since_ns = self._told
        if news := lost - lost_before:
            of = self._delivered - before + news
            self.losses.append(Loss(since_ns, now_ns, news, of))
            self.reasons["socket_dropped"] = lost  # so far: it is counted while it goes on
        self._told = lost, self._delivered, now_ns

    def _address(
        self, heads: NDArray[np.uint8], peers: NDArray[np.void], octets: NDArray[np.int32]
    ) -> None:
        """Write the IP and UDP headers that each datagram came with, as far as they are known."""
        udp = octets + UDP_BYTES
        if self._ipv4:
            ip = heads[:, :IPV4]
            ip[:] = 0
            ip[:, 0], ip[:, 8], ip[:, 9] = 0x45, 64, UDP
            ip[:, 2:4] = two(udp + IPV4)
            ip[:, 12:16], ip[:, 16:20] = peers["ipv4"], self._own
            words = ip.reshape(len(ip), -1, 2).astype(np.uint32)
            total = (words[:, :, 0] * 256 + words[:, :, 1]).sum(axis=1)
            total = (total & 0xFFFF) + (total >> 16)
            ip[:, 10:12] = two(0xFFFF - ((total & 0xFFFF) + (total >> 16)))
        else:
            ip = heads[:, :IPV6]
            ip[:] = 0
            ip[:, 0], ip[:, 6], ip[:, 7] = 0x60, UDP, 64
            ip[:, 4:6] = two(udp)
            ip[:, 8:24], ip[:, 24:40] = peers["ipv6"], self._own
        tail = heads[:, -UDP_BYTES:]
        tail[:, 0:2], tail[:, 2:4] = two(peers["port"]), two(np.full(len(heads), self._port))
        tail[:, 4:6], tail[:, 6:8] = two(udp), 0  # no checksum: the kernel has looked at it

    def _lost(self) -> int:
        """What the kernel says of the socket: it tells losses with datagrams that come later."""
        inode = str(Path(f"/proc/self/fd/{self._socket.fileno()}").stat().st_ino)
        table = Path("/proc/net/udp" if self._ipv4 else "/proc/net/udp6")
        with contextlib.suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                columns = line.split()
                if inode in columns:
                    return int(columns[-1])
        return 0

    def stop(self) -> None:
        """End once the socket is empty."""
        self._stop.set()

    def close(self) -> None:
        """Close the socket. Frames that were delivered stay readable."""
        self._socket.close()


def two(values: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Numbers as two octets each, the higher one first; what does not fit is cut to the largest."""
    octets: NDArray[np.uint8] = np.minimum(values, 0xFFFF).astype(">u2").view(np.uint8)
    return octets.reshape(-1, 2)


def open_datagrams(name: str, host: str, port: int, sockets: int = 1) -> list[Datagrams]:
    """Listen to a UDP feed by so many sockets, among which the kernel spreads its senders.

    Port 0 takes a free one. Raises LiveError, one sentence that begins with the name.
    """
    opened: list[Datagrams] = []
    where = f"{name} [{host}]:{port}" if ":" in host else f"{name} {host}:{port}"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)  # refused where another has the port, which sharing would hide
        for number in range(1, sockets + 1):
            one = socket.socket(family, socket.SOCK_DGRAM)
            opened.append(_bound(one, where if sockets == 1 else f"{where} #{number}", address))
            address = one.getsockname()
    except (OSError, OverflowError) as error:
        for each in opened:
            each.close()
        told = getattr(error, "strerror", None) or str(error)
        raise LiveError(f"{where}: {told.lower()}") from error
    return opened


def _bound(one: socket.socket, name: str, address: tuple[object, ...]) -> Datagrams:
    """A socket with its options set, bound. Raises OSError."""
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        one.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        with contextlib.suppress(PermissionError):  # more than the system lets anyone have
            one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return Datagrams(name, one)
