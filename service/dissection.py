"""One frame of a capture as two readers see it: the tables, octet by octet, and Wireshark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from collector import (
    CaptureError,
    CollectorSettings,
    Field,
    Frames,
    Reading,
    Scalar,
    SharkError,
    dissected,
    open_capture,
)
from service.failure import ExitCode, Failure
from service.field_text import columns_text, fields_text

CHUNK = 65_536
FAKE = "_ws.lua.fake"
"""What Lua dissectors leave in a packet's tree when they show nothing there."""


@dataclass(frozen=True, slots=True)
class Found:
    """A frame of a capture: its place in a run of frames, and where it was seen."""

    frames: Frames
    row: int
    point: str

    @property
    def octets(self) -> bytes:
        """What was captured."""
        start = int(self.frames.offset[self.row])
        return self.frames.data[start : start + int(self.frames.captured[self.row])].tobytes()


def find(path: Path, number: int) -> Found:
    """A frame by its number; Failure when the file cannot be read or ends before."""
    if number < 1:
        raise Failure(ExitCode.USAGE, f"FRAME {number}: frames are counted from 1")
    held = 0
    try:
        with open_capture(path) as capture:
            for frames in capture.chunks(CHUNK):
                held = frames.first + len(frames) - 1
                if number <= held:
                    row = number - frames.first
                    points = capture.points or ["unknown"]
                    return Found(frames, row, points[int(frames.interface[row])])
    except CaptureError as error:
        hint = "" if path.exists() else "; evidence names captures without their directory"
        raise Failure(ExitCode.INPUT, f"{error}{hint}") from None
    raise Failure(ExitCode.USAGE, f"{path} holds {held:,} frames, there is no frame {number:,}")


def explained(found: Found, number: int, settings: CollectorSettings) -> dict[str, Any]:
    """Everything that is known of a frame; Failure when tshark cannot be asked."""
    frames, row = found.frames, found.row
    link, length = int(frames.link[row]), int(frames.length[row])
    scalar, octets = Scalar(settings), found.octets
    readings = scalar.read(octets, link, length)
    try:
        [(_, packet)] = dissected(frames, np.array([row], np.int64), settings)
    except SharkError as error:
        raise Failure(ExitCode.UNAVAILABLE, str(error)) from None
    except ValueError:
        raise Failure(ExitCode.UNAVAILABLE, f"tshark gives nothing for frame {number:,}") from None
    return {
        "frame": number,
        "point": found.point,
        "time_ns": int(frames.time_ns[row]),
        "link": link,
        "captured": len(octets),
        "length": length,
        "hopsight": [_reading(scalar, each, octets) for each in readings],
        "wireshark": [*_layers(packet)],
    }


def _reading(scalar: Scalar, reading: Reading, octets: bytes) -> dict[str, Any]:
    """What the tables say: how the frame ended, its headers, and the columns that are kept."""
    columns = reading.inherited | reading.columns
    return {
        "reason": reading.reason,
        "payload_bytes": reading.payload_bytes,
        "headers": [_header(scalar, name, at, octets) for name, at in reading.headers],
        "columns": columns,
        "shown": columns_text(columns, flags_of(scalar)),
        "hops": reading.hops,
        "hops_shown": [columns_text(hop) for hop in reading.hops],
    }


def flags_of(scalar: Scalar) -> Field:
    """The field that the column of TCP's flags is of."""
    return next(field for field in scalar.tables["tcp"].fields if field.name == "flags")


def _header(scalar: Scalar, name: str, at: int, octets: bytes) -> dict[str, Any]:
    """One header: where it lies, its fixed octets, its fields."""
    table = scalar.tables[name]
    own = octets[at : at + table.octets]
    fields = table.unpack(own)
    return {
        "name": name,
        "doc": table.doc,
        "source": table.source,
        "octet": at,
        "octets": own.hex(),
        "fields": fields,
        "shown": fields_text(fields, {field.name: field for field in table.fields}),
    }


def _layers(packet: Any) -> Iterator[Mapping[str, Any]]:
    """Layers of a packet with every field that Wireshark shows."""
    for layer in packet.layers:
        fields = [
            {
                "name": field.name,
                "value": field.show,
                "shown": field.showname or field.show,
                "octet": int(field.pos or 0),
                "octets": int(field.size or 0),
            }
            for name in layer.field_names
            for field in layer.get_field(name).all_fields
            if not field.hide and field.name != FAKE and (field.showname or field.show)
        ]
        if fields:
            yield {
                "name": layer.layer_name,
                "fields": sorted(fields, key=lambda each: each["octet"]),
            }
