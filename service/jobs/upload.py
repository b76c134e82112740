"""A capture on its way to disk: within a size, at a pace, and of a kind that can be read."""

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedWriter
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.requests import ClientDisconnect

from collector import CaptureError, open_capture
from service.jobs.folder import OCTETS, PRIVATE
from service.problem import Problem

PIECE = 1 << 20
"""Bytes that are written at a time."""
RECOGNISED = 1 << 12
"""Bytes after which it can be told whether it is a capture."""
SILENT_S = 30.0
"""Longest silence of whoever sends, seconds."""
PATIENCE_S, LEAST_PER_S = 60.0, 10_000
"""Seconds after which a capture must have come at so many bytes a second."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass
class Upload:
    """Takes the bytes of one capture into `place`.

    `room` tells how many bytes it may have now, and the setting that says so: others that are
    brought meanwhile take room too.
    """

    place: Path
    room: Callable[[], tuple[int, str]]
    who: str = ""
    octets: int = 0
    """Bytes that are written."""
    come: int = 0
    """Bytes that have come, written or not yet."""
    known: bool = False
    hashed: Any = field(default_factory=sha256)

    async def take(self, pieces: AsyncIterator[bytes]) -> None:
        """Take all. Raises Problem: 400, 408, 413, 415, 422, or 503 where the disk is full."""
        try:
            await self._written(pieces)
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise Problem(503, "the disk of the captures is full") from error
        if not self.octets:
            raise Problem(422, "body: is empty; send the capture file itself", field="body")

    async def _written(self, pieces: AsyncIterator[bytes]) -> None:
        self.place.mkdir(mode=PRIVATE)
        begun_s = time.monotonic()
        with (self.place / OCTETS).open("wb") as file:
            held = bytearray()
            while (piece := await _next(pieces)) is not None:
                held += piece
                self._at_pace(len(held), time.monotonic() - begun_s)
                self.come = self.octets + len(held)
                most, limit = self.room()
                if self.come > most:
                    raise Problem(413, f"the capture is larger than {limit} leaves room for"
                                  f" ({max(most, 0)} bytes)", field="body")  # fmt: skip
                if len(held) >= (PIECE if self.known else RECOGNISED):
                    await anyio.to_thread.run_sync(self._keep, file, bytes(held))
                    held.clear()
            if held:
                await anyio.to_thread.run_sync(self._keep, file, bytes(held))

    def _at_pace(self, held: int, took_s: float) -> None:
        """Raises Problem for whoever holds the place and sends next to nothing."""
        if took_s > PATIENCE_S and self.octets + held < took_s * LEAST_PER_S:
            raise Problem(408, f"less than {LEAST_PER_S} bytes came in a second", field="body")

    def _keep(self, file: BufferedWriter, octets: bytes) -> None:
        """Write; after the first bytes it is told whether they begin a capture."""
        file.write(octets)
        file.flush()
        self.hashed.update(octets)
        self.octets += len(octets)
        if not self.known:
            recognise(self.place / OCTETS)
            self.known = True


def recognise(path: Path) -> None:
    """Raises Problem: 415 for a file that is no capture."""
    try:
        open_capture(path).close()
    except CaptureError as error:
        said = str(error).removeprefix(f"{path}: ")
        raise Problem(
            415, f"{said}; accepted: pcap and pcapng, plain or by gzip, zstd or lz4", field="body"
        ) from None


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    """The next bytes, None at the end. Raises Problem when nothing comes, or nothing more will."""
    try:
        async with asyncio.timeout(SILENT_S):
            return await anext(pieces, None)
    except TimeoutError:
        raise Problem(408, f"nothing came for {SILENT_S:g} s", field="body") from None
    except ClientDisconnect:
        raise Problem(400, "the connection ended before the body did", field="body") from None
