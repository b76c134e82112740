"""Where a topology comes from, a file or a folder of them: read, and read again when it changed."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline import OwnerClient, Store, Topology, TopologyError, Versions, host_rows
from service.failure import ExitCode, Failure
from service.stamp import stamp

LOOKED_S = 1.0
"""For how long nobody looks again whether files have changed."""
SUFFIXES = (".yaml", ".yml")
"""What a topology in a folder is called."""
TAKEN, REFUSED = "taken", "refused"
"""Outcomes of reading a changed file."""
logger = logging.getLogger("hopsight.service")


def files_of(path: Path) -> Iterator[Path]:
    """The file itself, or every topology of a folder by name.

    OSError where there is none, or what is there would be waited for, such as a pipe.
    """
    if not path.is_dir():
        if path.exists() and not path.is_file():
            raise OSError(0, "is no file and no folder")
        yield path
        return
    found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES and each.is_file())
    if not found:
        raise OSError(0, f"holds no file {' or '.join(f'*{suffix}' for suffix in SUFFIXES)}")
    yield from found


def read_versions(path: Path) -> Versions:
    """All versions of a file or of a folder's files.

    Raises TopologyError with one sentence, also where a file cannot be read.
    """
    found: dict[int, tuple[Path, Topology]] = {}
    try:
        for each in files_of(path):
            name = f"{each.name}: " if each != path else ""
            try:
                topologies = Topology.versions_of(each.read_text(encoding="utf-8"))
            except TopologyError as error:
                raise TopologyError(f"{name}{error}") from None
            for topology in topologies:
                other, _ = found.setdefault(topology.valid_from_ns, (each, topology))
                if other != each:
                    raise TopologyError(f"{name}a version of {other.name} begins at the same time")
    except UnicodeDecodeError:
        raise TopologyError("not UTF-8 text") from None
    except OSError as error:
        raise TopologyError(error.strerror or str(error)) from None
    return Versions.of(topology for _, topology in found.values())


def read_topology(flag: Path | None, setting: str | None = None) -> "TopologySource | None":
    """The topology of a file or a folder, that of the flag before that of the setting.

    Failure says what is wrong with it.
    """
    path = flag or (Path(setting) if setting else None)
    if path is None:
        return None
    try:
        return TopologySource(path)
    except TopologyError as error:
        name = "--topology" if flag else "pipeline.topology:"
        raise Failure(ExitCode.INPUT, f"{name} {path}: {error}") from None


class TopologySource:
    """Holds the versions of a path; `refresh` reads them again when the files have changed.

    A changed file that is wrong is refused with a logged sentence, and what was held stays; `told`
    hears of each outcome. May be used from any thread. Raises TopologyError when the path cannot be
    read at first.
    """

    def __init__(self, path: Path, told: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self.told = told
        self._turn = threading.Lock()
        self._seen = self._now()
        self.versions = read_versions(path)

    def refresh(self, *, again: bool = False) -> bool:
        """Whether another topology was taken; `again` reads also files that have not changed."""
        if self._now() == self._seen and not again:
            return False
        with self._turn:
            seen = self._now()
            if seen == self._seen and not again:
                return False
            self._seen = seen
            try:
                self.versions = read_versions(self.path)
            except TopologyError as error:
                said = "topology %s was read again and is refused: %s; the one before holds"
                logger.warning(said, self.path, error)
                self.told(REFUSED)
                return False
            names = ", ".join(topology.version for topology in self.versions.topologies)
            logger.info("topology %s was read again and is taken: %s", self.path, names)
            self.told(TAKEN)
            return True

    def _now(self) -> dict[Path, tuple[int, ...]]:
        """What of every file is another one once it has changed; empty when there is none."""
        try:
            return {file: stamp(file) for file in files_of(self.path)}
        except OSError:
            return {}


def store_topology(
    store: Store | OwnerClient, versions: Versions | Topology, *, beside: bool = False
) -> None:
    """Keep the names of the hops, so that answers have them without the topology's file.

    What is told last holds, all its versions and nothing else, also where it was told before, or by
    another whose clock is ahead. `beside` others, those go on holding that begin at other times:
    who analyzes a capture of last year does not know today's.
    """
    topologies = Versions.of(versions).topologies
    if not topologies:
        return
    told_ns = max(time.time_ns(), store.query("topology_told")["told_ns"][0] + 1)
    hops = [
        topology.frame.drop("csig_lm", "csig_lm_compact").with_columns(
            pl.lit(topology.valid_from_ns, pl.Int64).alias("valid_from_ns"),
            pl.lit(topology.version).alias("topology"),
        )
        for topology in topologies
    ]
    told = {"hosts": [host_rows(topology) for topology in topologies], "hops": hops}
    begun = [topology.valid_from_ns for topology in topologies]
    for table, rows in told.items():
        if beside:
            held = store.query(f"{table}_held")
            rows.append(held.filter(~pl.col("valid_from_ns").is_in(begun)))
        whole = pl.concat(rows, how="diagonal_relaxed").with_columns(told_ns=told_ns)
        if whole.height or rows is hops:
            store.insert(table, whole, f"{table} told at {told_ns}")


class Refreshed:
    """ASGI middleware that looks for another topology before an answer is made.

    `renewed` is called, in a thread, each time one was taken.
    """

    def __init__(
        self, app: ASGIApp, *, source: TopologySource, renewed: Callable[[Versions], None]
    ) -> None:
        self.app = app
        self.source = source
        self.renewed = renewed
        self._look_at_s = 0.0
        self._looking = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look, then pass on; who asks just after somebody else, or meanwhile, need not look."""
        now_s = time.monotonic()
        if scope["type"] == "http" and now_s >= self._look_at_s and not self._looking:
            self._look_at_s = now_s + LOOKED_S
            await run_in_threadpool(self._look)
        await self.app(scope, receive, send)

    def _look(self) -> None:
        self._looking = True
        try:
            renew(self.source, self.renewed)
        finally:
            self._looking = False


def renew(
    source: TopologySource, renewed: Callable[[Versions], None], *, again: bool = False
) -> None:
    """Look for another topology and pass it on; `again` as `TopologySource.refresh` has it."""
    if source.refresh(again=again):
        renewed(source.versions)
