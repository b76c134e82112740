"""What files were read by when they were stored: read in another way they would count twice.

The same rows are stored once however often they come. Other settings, another topology or other
files read with it make other rows of the same frames, and these would count beside those of before.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from collector import Capture, CaptureError, open_capture, source_in, tell_apart
from pipeline import OwnerClient, Store
from service.failure import ExitCode, Failure
from service.keeping import persist
from service.provenance import STEERING, unusual
from service.run import Job
from service.settings import Settings
from service.topology_source import TopologySource
from service.version import version

WITHOUT = frozenset(
    {"collector.name", "collector.ring_directory", "collector.ring_mib", "pipeline.topology"}
)
"""Settings that change no row of a file, or are told of by what they lead to."""
DIGITS = 12
"""Hexadecimal digits of what stands for a topology, or for many files."""
MOST = 4
"""Files, and differences, that are named."""


class File(NamedTuple):
    """A file that can be looked at before it is read: no pipe."""

    source: str
    began_ns: int
    """When its first frame came."""
    octets: int


def files_of(paths: Sequence[Path]) -> Iterator[File]:
    """The files in `paths`, and in directories among them, that have a frame.

    What cannot be read is passed over: whoever reads it says why.
    """
    begun: list[tuple[Capture, int]] = []
    for path in paths:
        with suppress(OSError):
            if path.is_dir():
                inside = sorted(each for each in path.iterdir() if not each.name.startswith("."))
                for capture, octets in begun_in(inside):
                    capture.source = source_in(path / capture.source)
                    begun.append((capture, octets))
            else:
                begun += begun_in([path])
    tell_apart(capture for capture, _ in begun)
    for capture, octets in begun:
        yield File(capture.source, capture.epoch, octets)


def begun_in(paths: Iterable[Path]) -> Iterator[tuple[Capture, int]]:
    """Captures that have a frame, which is read, and their sizes."""
    for path in paths:
        with suppress(CaptureError, OSError):
            if path.is_file():
                with open_capture(path) as capture:
                    if any(capture.chunks(1)):
                        yield capture, path.stat().st_size


def named(files: Sequence[File]) -> str:
    """Which files are read together: by name, or where they are many by what stands for them."""
    told = ", ".join(each.source for each in files)
    return told if len(files) <= MOST else f"{len(files):,} files ({short(told)})"


def short(text: str) -> str:
    """What stands for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def judged_by(job: Job, settings: Settings) -> dict[str, Any]:
    """What rows of a job depend on beside its files."""
    topology = None
    if isinstance(job.topology, TopologySource):
        topology = short(repr(job.topology.versions))
    own = {
        f"{of}.{name}": value for of, told in job.parameters.items() for name, value in told.items()
    }
    return read_by(settings, point=job.point, slow_path=job.slow_path, topology=topology) | own


def read_by(
    settings: Settings, sections: Sequence[str] = STEERING, **more: str | int | None
) -> dict[str, Any]:
    """What rows depend on beside the files, of the settings those of sections.

    What is usual is left out.
    """
    told = {
        name: value
        for name, value in unusual(settings).items()
        if name.partition(".")[0] in sections and name not in WITHOUT
    }
    beside = {name: value for name, value in more.items() if value}
    return {**told, **beside, "hopsight": version()}


class Readings:
    """The files of one command that stores them, and what it reads them by."""

    def __init__(
        self, store: Store | OwnerClient, paths: Sequence[Path], told: Mapping[str, Any]
    ) -> None:
        """`told` is what rows depend on beside them.

        Failure where one is stored already that was read by something else.
        """
        self.store = store
        self._left: dict[str, tuple[int, str]] = {}
        files = [*files_of(paths)]
        together = named(files)
        for file in files:
            own = {**told, "bytes": file.octets, "files": together}
            text = json.dumps(own, sort_keys=True, default=str)
            before = store.query("reading_of", source=file.source, from_ns=file.began_ns)
            for known in before["read_by"]:
                if known != text:
                    raise Failure(ExitCode.USAGE, refusal(file.source, known, text))
            self._left[file.source] = file.began_ns, text

    def begin(self, sources: Iterable[str]) -> None:
        """Keep what sources are read by, before their first rows are stored."""
        for source in sources:
            if source in self._left:
                keep_reading(self.store, source, *self._left.pop(source))


def keep_reading(
    store: Store | OwnerClient,
    source: str,
    began_ns: int,
    read_by: str,
    frame: int = 0,
    reached_ns: int = 0,
) -> None:
    """Keep what a file was read by whose first frame came then, and how far it was followed."""
    row = {"time_ns": began_ns, "source": source, "read_by": read_by, "frame": frame,
           "reached_ns": reached_ns}  # fmt: skip
    token = ":".join(map(str, row.values()))
    persist(store, "readings", pl.DataFrame([row]), token, Counter())


def refusal(source: str, before: str, now: str) -> str:
    """Why a file is not stored again: what was otherwise then."""
    then, own = json.loads(before), json.loads(now)
    changed = [name for name in sorted({*then, *own}) if then.get(name) != own.get(name)]
    told = [f"{name}: {then.get(name, 'not told')} then, {own.get(name, 'not told')} now"
            for name in changed[:MOST]]  # fmt: skip
    more = f"; and {len(changed) - MOST} more" if len(changed) > MOST else ""
    return (
        f"{source} is stored already, read in another way ({'; '.join(told)}{more}): stored so too,"
        " its frames would count twice. Not stored, or into a store of its own, it can be read so"
    )
