"""The walk in plain Python: a few frames at once, while the compiled walk is not there yet.

It finds what the compiled walk finds, a thousand times slower and from the first moment on.
"""

import numpy as np
import polars as pl

from collector.columns import FLAT, KEY
from collector.frame import Frames
from collector.observation import SCHEMA
from collector.reading import Reading
from collector.recognise import ADDRESSED, TOO_MANY_ROWS, TRANSPORT
from collector.scalar import Scalar
from collector.settings import CollectorSettings
from collector.walked import Walked

ALWAYS = {
    "status": pl.UInt8,
    "layers": pl.UInt64,
    "hop_count": pl.UInt8,
    "payload_bytes": pl.UInt32,
}
"""Columns of every row, beside those of the flow's key."""


class PlainWalk:
    """Reads frames one at a time."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.scalar = Scalar(settings)

    def walk(self, frames: Frames) -> Walked:
        """What these frames say."""
        status = np.zeros(len(frames), np.uint8)
        row: list[int] = []
        found: list[dict[str, int]] = []
        for at in range(len(frames)):
            start = int(frames.offset[at])
            octets = frames.data[start : start + int(frames.captured[at])].tobytes()
            for each in self.scalar.read(octets, int(frames.link[at]), int(frames.length[at])):
                status[at] = status[at] or each.status
                if known(each):
                    row.append(at)
                    found.append(each.row() | {"status": each.status})
        return Walked(table(found), np.array(row, np.int32), status)


def known(reading: Reading) -> bool:
    """Whether the flow is known: decoded, or failed behind its transport header."""
    failed = reading.status not in (0, TOO_MANY_ROWS)
    return bool(reading.layers & ADDRESSED and (not failed or reading.layers & TRANSPORT))


def table(found: list[dict[str, int]]) -> pl.DataFrame:
    """Rows as the compiled walk gives them."""
    names = dict.fromkeys([*KEY, *ALWAYS])
    names |= dict.fromkeys(name for each in found for name in each if not name.startswith("_"))
    kinds = {name: ALWAYS.get(name, SCHEMA[name] if name in FLAT else pl.UInt64) for name in names}
    columns = {name: [each.get(name) for each in found] for name in names}
    for name in KEY:
        columns[name] = [value or 0 for value in columns[name]]
    return pl.DataFrame(columns, schema=kinds)
