"""Files that are named to be read: each but once, for what is read twice counts twice."""

from collections.abc import Sequence
from pathlib import Path

from service.failure import ExitCode, Failure

STDIN = Path("-")


def named_once(paths: Sequence[Path]) -> None:
    """Failure for a file that is named twice, by whatever name, or beside its own directory."""
    seen: dict[Path, Path] = {}
    for path in paths:
        try:
            place = path if path == STDIN else path.resolve()
        except RuntimeError as error:  # Python 3.12 and before: of links that lead to themselves
            raise Failure(ExitCode.INPUT, f"{path}: {str(error).lower()}") from None
        if place in seen:
            other = "" if seen[place] == path else f", as {seen[place]}"
            raise Failure(ExitCode.USAGE, f"{path}: named twice{other}; it would count twice")
        seen[place] = path
    for place, path in seen.items():
        if place.parent in seen:
            whole = seen[place.parent]
            raise Failure(ExitCode.USAGE, f"{path}: is in {whole}, which is read whole")
