"""Receive: many datagrams by one call of the system, recvmmsg(2), into one block of bytes.

Each datagram lies in a slot of its own, behind room for the headers that are put before it.
"""

import ctypes
import errno
import os
import socket
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SO_TIMESTAMPNS: Final = 35
"""Socket option, and type of the control message with the time at which the kernel took it."""
SO_RXQ_OVFL: Final = 40
"""The same with the number of datagrams that found no room so far."""
MSG_TRUNC: Final = 0x20
"""Asked: tell the whole length; told: the slot was shorter."""
SECOND: Final = 1_000_000_000

MESSAGE: Final = np.dtype(
    [("name", "u8"), ("name_bytes", "u4"), ("", "u4"), ("pieces", "u8"), ("piece_count", "u8"),
     ("control", "u8"), ("control_bytes", "u8"), ("flags", "i4"), ("", "u4"), ("octets", "u4"),
     ("", "u4")]
)  # fmt: skip
"""struct mmsghdr of 64-bit Linux, with the struct msghdr that begins it."""
PIECE: Final = np.dtype([("base", "u8"), ("octets", "u8")])
"""struct iovec."""
PEER: Final = np.dtype([("family", "u2"), ("port", ">u2"), ("ipv4", "u1", 4), ("ipv6", "u1", 16)])
"""struct sockaddr_in and sockaddr_in6, as far as they are read; `ipv6` lies where it does."""
CONTROL: Final = np.dtype(
    [("time_bytes", "u8"), ("time_level", "i4"), ("time_type", "i4"), ("s", "i8"), ("ns", "i8"),
     ("lost_bytes", "u8"), ("lost_level", "i4"), ("lost_type", "i4"), ("lost", "u4"), ("", "u4")]
)  # fmt: skip
"""Control messages in the order in which the kernel writes them: the time, then the losses."""


class Receiver:
    """Room for `count` datagrams of at most `octets` behind `ahead` octets each."""

    def __init__(self, count: int, octets: int, ahead: int) -> None:
        """Make room for what comes beside the datagrams."""
        self.stride = -(-(ahead + octets) // 8) * 8
        self.octets = octets
        self.ahead = ahead
        self.peers = np.zeros(count, PEER)
        self.lost = 0
        self._messages = np.zeros(count, MESSAGE)
        self._pieces = np.zeros(count, PIECE)
        self._control = np.zeros(count, CONTROL)
        self._pieces["octets"] = octets
        places = np.arange(count, dtype=np.uint64)
        own = self._messages
        own["name"] = self.peers.ctypes.data + places * np.uint64(PEER.itemsize)
        own["pieces"] = self._pieces.ctypes.data + places * np.uint64(PIECE.itemsize)
        own["control"] = self._control.ctypes.data + places * np.uint64(CONTROL.itemsize)
        own["piece_count"] = 1
        self._call = ctypes.CDLL(None, use_errno=True).recvmmsg

    def receive(self, source: socket.socket, block: NDArray[np.uint8], start: int) -> int:
        """Take what waits in the socket into the slots of `block` from `start`; how many came.

        Raises OSError.
        """
        room = self._messages[start:]
        places = np.arange(start, len(self._messages), dtype=np.uint64)
        self._pieces["base"][start:] = (
            block.ctypes.data + places * np.uint64(self.stride) + np.uint64(self.ahead)
        )
        room["name_bytes"], room["control_bytes"] = PEER.itemsize, CONTROL.itemsize
        flags = socket.MSG_DONTWAIT | MSG_TRUNC
        came = self._call(
            source.fileno(), ctypes.c_void_p(room.ctypes.data), len(room), flags, None
        )
        if came < 0:
            code = ctypes.get_errno()
            if code in (errno.EAGAIN, errno.EINTR):
                return 0
            raise OSError(code, os.strerror(code))
        self._count(slice(start, start + int(came)))
        return int(came)

    def _count(self, came: slice) -> None:
        """Read how many found no room, where the kernel tells."""
        told, size = self._control[came], self._messages["control_bytes"][came]
        told = told[(size == CONTROL.itemsize) & (told["lost_type"] == SO_RXQ_OVFL)]
        if len(told):
            self.lost = int(told["lost"][-1])

    def times(self, count: int, now_ns: int) -> NDArray[np.int64]:
        """When the kernel took each of the first datagrams, ns since 1970; else `now_ns`."""
        told = self._control[:count]
        known = told["time_type"] == SO_TIMESTAMPNS
        return np.where(known, told["s"] * SECOND + told["ns"], now_ns)

    def lengths(self, count: int) -> NDArray[Any]:
        """Octets of each of the first datagrams, also of those that found a shorter slot."""
        return self._messages["octets"][:count].astype(np.int32)
