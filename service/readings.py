"""What files were read by when they were stored: read in another way they would count twice.

The same rows are stored once however often they come. Other settings, another topology or other
files read with it make other rows of the same frames, and these would count beside those of before.
That all of a file is stored is noted at its end: a table remembers its last inserts alone, and a
backup may not tell them.
"""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from collector import Capture, CaptureError, open_capture, source_in, tell_apart
from pipeline import Output, OwnerClient, Sink, Store
from service.failure import ExitCode, Failure
from service.keeping import add, persist
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
        self,
        store: Store | OwnerClient,
        paths: Sequence[Path],
        told: Mapping[str, Any],
        *,
        alone: bool = True,
    ) -> None:
        """`told` is what rows depend on beside them; `alone`: nothing is read that goes on.

        Failure where one is stored already that was read by something else.
        """
        self.store = store
        self._files: dict[str, tuple[int, str]] = {}
        self._begun: set[str] = set()
        self._reached: dict[str, tuple[int, int]] = {}
        """Last frame with a row, and when that came."""
        self._turn = threading.Lock()
        files = [*files_of(paths)]
        together, whole = named(files), 0
        for file in files:
            own = {**told, "bytes": file.octets, "files": together}
            text = json.dumps(own, sort_keys=True, default=str)
            before = store.query("reading_of", source=file.source, from_ns=file.began_ns)
            for known, frame in before.select("read_by", "frame").iter_rows():
                if known != text:
                    raise Failure(ExitCode.USAGE, refusal(file.source, known, text))
                whole += frame > 0
            self._files[file.source] = file.began_ns, text
        # What comes of a pipe is not known before, and is judged with the rest.
        self._plain = alone and all(path.is_file() or path.is_dir() for path in paths)
        self.whole = self._plain and 0 < whole == len(files)
        """Whether all of it is stored: rows are made of it, and not stored again."""

    def begin(self, sources: Iterable[str]) -> None:
        """Keep what sources are read by, before their first rows are stored."""
        for source in self._files.keys() & {*sources} - self._begun:
            self._begun.add(source)
            if not self.whole:
                keep_reading(self.store, source, *self._files[source])

    def keeping(self, sink: Sink, counts: Counter[str] | None = None) -> Sink:
        """Keeps as `sink` does what is not stored; what is counts as rows of its table, too."""

        def keep(output: Output, token: str) -> None:
            observed = output.tables.get("observations")
            if not self.whole:
                sink(output, token)
                self._reach(observed)
                return
            self._refuse_new(observed)
            if counts is not None:
                for name, rows in output.whole.items():
                    add(counts, f"rows_{name}", rows.height)

        return keep

    def _refuse_new(self, rows: pl.DataFrame | None) -> None:
        """Failure for a file that came into a directory after these were looked at."""
        came = set() if rows is None else {*rows["source"].unique()} - self._files.keys()
        if came:
            raise Failure(
                ExitCode.USAGE, f"{min(came)} came meanwhile and is not stored: repeat it"
            )

    def _reach(self, rows: pl.DataFrame | None) -> None:
        """Rows of frames are stored."""
        if rows is None or not self._plain or not self._files:
            return
        far = rows.group_by("source").agg(pl.col("frame", "time_ns").max())
        with self._turn:
            for source, *reached in far.iter_rows():
                known = self._reached.get(source, (0, 0))
                self._reached[source] = max(known[0], reached[0]), max(known[1], reached[1])

    def end(self) -> None:
        """Note that all of the files is stored: each was read to its end."""
        if self.whole or not self._plain:
            return
        for source, (began_ns, text) in self._files.items():
            frame, reached_ns = self._reached.get(source, (1, began_ns))  # without rows
            keep_reading(self.store, source, began_ns, text, frame, reached_ns)


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
