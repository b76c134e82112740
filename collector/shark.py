"""Frames read by tshark, with the dissectors of the tables loaded: what the slow path asks."""

import asyncio
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.frame import Frames
from collector.lua import dissectors
from collector.settings import CollectorSettings

MISSING = (
    "tshark is not installed; it comes with the package tshark (Debian, Ubuntu) or wireshark-cli"
    " (Fedora, Alpine)"
)
CRASHED = "tshark ended before it had read a frame; `tshark -v` may tell why"
NANOSECOND_PCAP = 0xA1B23C4D
SECOND = 1_000_000_000
MOST_OCTETS = 0x40000
"""Captured octets of a frame that tshark takes; more are cut."""
PREFERENCES = {
    "tcp.relative_sequence_numbers": "FALSE",
    "tcp.desegment_tcp_streams": "FALSE",
    "tcp.analyze_sequence_numbers": "FALSE",
    "ip.defragment": "FALSE",
    "ipv6.defragment": "FALSE",
}
"""Each frame is read by itself, and its numbers as they are on the wire."""


class SharkError(Exception):
    """tshark cannot be asked: one sentence."""


def dissected(
    frames: Frames, rows: NDArray[np.int64], settings: CollectorSettings
) -> Iterator[tuple[int, Any]]:
    """Each of these rows of `frames` with what pyshark says of it, a link type at a time.

    Where tshark crashes, the frame and those behind it are not given. Raises SharkError when there
    is no tshark that can be asked, or none that reads a single frame.
    """
    with TemporaryDirectory(prefix="hopsight-") as place:
        script, capture = Path(place) / "hopsight.lua", Path(place) / "frames.pcap"
        script.write_text(dissectors(settings, "for one run", adjustable=False), encoding="utf-8")
        for link in np.unique(frames.link[rows]):
            chosen = rows[frames.link[rows] == link]
            with capture.open("wb") as file:
                file.writelines(_pcap(frames, chosen, int(link)))
            yield from zip(chosen.tolist(), _read(capture, script), strict=False)


def _read(capture: Path, script: Path) -> Iterator[Any]:
    """Packets of a file, by pyshark."""
    import pyshark
    from pyshark.capture.capture import TSharkCrashException
    from pyshark.tshark.tshark import TSharkNotFoundException, TSharkVersionException

    loop = asyncio.new_event_loop()
    file = pyshark.FileCapture(
        str(capture),
        keep_packets=False,
        eventloop=loop,
        custom_parameters=["-n", "-X", f"lua_script:{script}"],
        override_prefs=PREFERENCES,
    )
    crashed, read = False, 0
    try:
        for packet in file:
            read += 1
            yield packet
    except TSharkNotFoundException:
        raise SharkError(MISSING) from None
    except (TSharkVersionException, OSError) as error:
        raise SharkError(f"tshark cannot be asked: {error}") from None
    except TSharkCrashException:
        crashed = True
    finally:
        try:
            file.close()
        except TSharkCrashException:
            crashed = True
        if crashed:
            file._running_processes.clear()  # noqa: SLF001 - else its end asks a closed loop again
        loop.close()
    if crashed and not read:
        raise SharkError(CRASHED)


def _pcap(frames: Frames, rows: NDArray[np.int64], link: int) -> Iterator[bytes]:
    """A pcap file of these frames, which share a link type."""
    yield struct.pack("=IHHiIII", NANOSECOND_PCAP, 2, 4, 0, 0, MOST_OCTETS, link)
    for row in rows.tolist():
        start, held = int(frames.offset[row]), min(int(frames.captured[row]), MOST_OCTETS)
        seconds, rest = divmod(max(int(frames.time_ns[row]), 0), SECOND)
        length = max(int(frames.length[row]), held)
        yield struct.pack("=IIII", seconds & 0xFFFFFFFF, rest, held, length)
        yield frames.data[start : start + held].tobytes()
