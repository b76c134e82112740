"""The compiled walk held against the scalar reader: every column, status and count."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mutate import packets

from collector import STATUS, Frames
from collector.columns import KEY
from collector.plain_walk import known
from collector.scalar import Reading, Scalar
from collector.walk import Walk

Row = dict[str, Any]


def rows_of(readings: list[Reading]) -> list[Row]:
    """The rows whose flow is known, with 0 for parts of its key that no header wrote."""
    return [
        dict.fromkeys(KEY, 0) | reading.row() | {"status": reading.status}
        for reading in readings
        if known(reading)
    ]


def status_of(readings: list[Reading]) -> int:
    """How a frame ended: the first of its rows that did not end well."""
    return next((reading.status for reading in readings if reading.status), 0)


def walked(walk: Walk, frames: Frames) -> list[tuple[int, list[Row]]]:
    """Status and rows of each frame, columns that are null left out."""
    found = walk.walk(frames)
    rows: list[list[Row]] = [[] for _ in range(len(frames))]
    for at, row in zip(found.row.tolist(), found.raw.iter_rows(named=True), strict=True):
        rows[at].append({name: value for name, value in row.items() if value is not None})
    return list(zip(found.status.tolist(), rows, strict=True))


def plainly(scalar: Scalar, frames: Frames) -> Iterator[tuple[int, list[Row]]]:
    """The same, octet by octet."""
    told = zip(packets(frames), frames.link.tolist(), frames.length.tolist(), strict=True)
    for octets, link, length in told:
        readings = scalar.read(octets, link, length)
        yield status_of(readings), rows_of(readings)


def differences(walk: Walk, scalar: Scalar, frames: Frames) -> list[str]:
    """A line for each frame about which the two do not agree."""
    found = []
    both = zip(walked(walk, frames), plainly(scalar, frames), strict=True)
    octets = packets(frames)
    for at, (mine, theirs) in enumerate(both):
        if mine != theirs:
            found.append(
                f"link {frames.link[at]} length {frames.length[at]} {octets[at].hex()}: "
                f"{difference(mine, theirs)}"
            )
    return found


def difference(mine: tuple[int, list[Row]], theirs: tuple[int, list[Row]]) -> str:
    """The first thing that differs."""
    if mine[0] != theirs[0]:
        return f"walk {STATUS[mine[0]][0]}, scalar {STATUS[theirs[0]][0]}"
    if len(mine[1]) != len(theirs[1]):
        return f"walk {len(mine[1])} rows, scalar {len(theirs[1])}"
    for one, other in zip(mine[1], theirs[1], strict=True):
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                return f"{name}: walk {one.get(name)}, scalar {other.get(name)}"
    return "nothing"


def endings(found: list[tuple[int, list[Row]]]) -> Counter[str]:
    """Frames by how they ended."""
    return Counter(STATUS[status][0] for status, _ in found)
