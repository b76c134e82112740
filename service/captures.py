"""The captures that a command names: opened, and their points named."""

from collections.abc import Sequence
from pathlib import Path

from collector import UNNAMED, Capture, CaptureError, Follow, open_capture, tell_apart
from service.failure import ExitCode, Failure


def name_points(captures: Sequence[Capture], point: str | None) -> None:
    """Name the points that captures leave unknown: as told, else by file where there are several.

    State is kept per point: two taps under one name would count every packet twice. What is told is
    no new name where it is that of one of the files.
    """
    told = None if point in {capture.source for capture in captures} else point
    for capture in captures:
        name = told or (capture.source if len(captures) > 1 else UNNAMED)
        capture.unnamed = name


def open_all(paths: Sequence[Path], follow: Follow | None = None) -> list[Capture]:
    """Every capture opened; one that cannot be read ends the command before any work is done."""
    captures: list[Capture] = []
    try:
        captures.extend(open_capture(str(path), follow) for path in paths)
    except CaptureError as error:
        for capture in captures:
            capture.close()
        raise Failure(ExitCode.INPUT, str(error)) from None
    tell_apart(captures)
    return captures


def written_apart(option: str, path: Path | None, captures: Sequence[Path]) -> None:
    """Failure when a file to be written is one that is read: it would be gone."""
    if path is None or not path.exists():
        return
    for capture in captures:
        inside = capture.is_dir() and path.resolve().is_relative_to(capture.resolve())
        if inside or (capture.exists() and path.samefile(capture)):
            raise Failure(ExitCode.USAGE, f"{option} {path}: it is one of the captures")
