"""Why there is nothing of what was asked for: no frames, no such point, no such flow."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline import some_of
from service.flow_names import FlowNames, ends_text
from service.text import NONE

MOST_FILES = 3
"""Files that are named."""


@dataclass(frozen=True)
class Read:
    """What was read: files (none of the store or a bus), the points, frames without an answer."""

    files: Sequence[Path]
    points: Collection[str]
    unread: int = 0


def absence(read: Read, names: FlowNames, point: str | None) -> str | None:
    """A sentence for what is not there at all; None where frames of it were seen."""
    if names.seen.is_empty():
        return no_frames(read)
    if point and point not in read.points:
        known = ", ".join(sorted(read.points)) or NONE
        return f"no frame was seen at {point}; points are {known}"
    return no_flow(names)


def no_frames(read: Read) -> str:
    """A sentence for sources without a single frame that says something."""
    where = some_of([path.name or str(path) for path in read.files], MOST_FILES)
    where = f" in {where}" if where else ""
    if read.unread == 1:
        return f"the only frame{where} could not be read"
    if read.unread:
        return f"none of the {read.unread:,} frames{where} could be read"
    return f"there are no frames{where}"


def no_flow(names: FlowNames) -> str | None:
    """A sentence for a flow that was asked for and is not there, or sends nothing."""
    if names.wanted is None:
        return None
    asked = ends_text(names.wanted)
    if names.keys.is_empty():
        alike = ", ".join(names.alike) or "no flow has one of these ends"
        word = "; alike: " if names.alike else "; "
        return f"--flow: no frame of {asked} was seen{word}{alike}"
    if names.is_of_acknowledgments:
        other = ends_text((names.wanted[1], names.wanted[0]))
        return f"--flow: {asked} sends no data here; name the data's direction, {other}"
    if not names.senders:
        return f"--flow: of {asked} no data was seen, only frames without: nothing can be decided"
    return None
