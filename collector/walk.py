"""Every frame read by the tables. (Plainly, for now.)"""

import numpy as np
import polars as pl

from collector.frame import Frames
from collector.layer import BIT
from collector.observe import Walked
from collector.scalar import Reading, Scalar
from collector.settings import CollectorSettings
from collector.status import STATUS

ADDRESSED = 1 << BIT["ipv4"] | 1 << BIT["ipv6"]
TRANSPORT = 1 << BIT["tcp"] | 1 << BIT["udp"] | 1 << BIT["roce"]


class Walk:
    """The tables that settings ask for."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.scalar = Scalar(settings)

    def walk(self, frames: Frames) -> Walked:
        """What these frames say."""
        endings = np.zeros(len(STATUS), np.int64)
        found: list[tuple[int, Reading]] = []
        for at in range(len(frames)):
            start = int(frames.offset[at])
            octets = frames.data[start : start + int(frames.captured[at])].tobytes()
            readings = self.scalar.read(octets, int(frames.link[at]), int(frames.length[at]))
            endings[next((each.status for each in readings if each.status), 0)] += 1
            found += [(at, each) for each in readings if known(each)]
        rows = [each.row() | {"status": each.status} for _, each in found]
        names = dict.fromkeys(["hop_count", "payload_bytes", "status", "layers"])
        names |= dict.fromkeys(name for row in rows for name in row)
        raw = pl.DataFrame(
            {name: [row.get(name) for row in rows] for name in names},
            schema=dict.fromkeys(names, pl.UInt64),
        )
        return Walked(raw, np.array([at for at, _ in found], np.int64), endings)


def known(reading: Reading) -> bool:
    """Whether the flow is known: decoded, or failed behind its transport header."""
    return bool(reading.layers & ADDRESSED and (not reading.status or reading.layers & TRANSPORT))
