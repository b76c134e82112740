"""Frames decoded a second on one core: TCP in IPv4 behind a CSIG tag, and plain."""

import numpy as np
from stopwatch import rate

from collector import CollectorSettings, Decoder, Frames

FRAMES = 65_536
IP = bytes.fromhex("0800 4500 0028 0001 0000 4006 0000 0a000001 0a000002")
TCP = bytes.fromhex("9c40 1389 00000001 00000002 5010 0400 0000 0000")
CASES = {
    "plain": bytes(12) + IP + TCP,
    "csig": bytes(12) + bytes.fromhex("9900 2281") + IP + TCP,
}


def frames(octets: bytes) -> Frames:
    """Copies of one frame."""
    size = np.full(FRAMES, len(octets), np.int32)
    return Frames(
        data=np.frombuffer(octets * FRAMES, np.uint8),
        offset=np.arange(FRAMES, dtype=np.int64) * len(octets),
        captured=size,
        length=size,
        time_ns=np.arange(FRAMES, dtype=np.int64),
        link=np.ones(FRAMES, np.uint16),
        interface=np.zeros(FRAMES, np.uint16),
        first=1,
    )


decoder = Decoder(CollectorSettings())
for name, octets in CASES.items():
    run = frames(octets)
    rate(
        f"decode {name}",
        "frames",
        FRAMES,
        lambda run=run: decoder.decode(run, ["unknown"], "bench"),
    )
