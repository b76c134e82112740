"""The folder of jobs: captures and jobs with a file of JSON each, whole at every moment.

lock                          held by the service that uses the folder
captures/ID/about.json        whose, name, size, hash;  ID/octets the capture itself
jobs/ID/about.json            the job;  ID/input/NAME its capture, beside it what it made
"""

import fcntl
import logging
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from service.access import Identity
from service.jobs.kept import FAILED, QUEUED, WAITING, Brought, Job, Kept

ABOUT, OCTETS, INPUT = "about.json", "octets", "input"
PRIVATE = 0o700
INTERRUPTED = "the service ended while this job was {state}; ask for it again"
K = TypeVar("K", bound=Kept)
logger = logging.getLogger("hopsight.jobs")


class FolderError(ValueError):
    """The folder cannot be used: one sentence that names the setting."""


class Folder:
    """Captures and jobs on disk and in memory; may be used from any thread."""

    def __init__(self, place: Path) -> None:
        """Take the folder, with what it holds; a job that had not ended is failed.

        Raises FolderError where another service uses it or it cannot be written.
        """
        self.place = place
        self._turn = threading.RLock()
        try:
            for name in ("captures", "jobs"):
                (place / name).mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            self._lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise FolderError(f"service.jobs_folder: {place}: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise FolderError(f"service.jobs_folder: {place} is used by another service") from None
        self.captures = {each.id: each for each in read(place / "captures", Brought)}
        self.jobs = {each.id: each for each in read(place / "jobs", Job)}

    def interrupted(self, now_ns: int) -> None:
        """Fail what an earlier service left unfinished."""
        for job in list(self.jobs.values()):
            if job.state in WAITING:
                why = INTERRUPTED.format(state=job.state)
                told = {"state": FAILED, "reason": why, "ended_ns": now_ns}
                self.keep(job.model_copy(update=told))

    def close(self) -> None:
        """Give the folder up."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def capture_place(self, name: str) -> Path:
        """Where a capture is."""
        return self.place / "captures" / name

    def job_place(self, name: str) -> Path:
        """Where a job has its files."""
        return self.place / "jobs" / name

    def keep(self, kept: Kept) -> None:
        """Write down a capture or a job; of one that has ended the octets that it read go.

        Raises OSError, and then nothing has changed.
        """
        with self._turn:
            if isinstance(kept, Job):
                write(self.job_place(kept.id), kept)
                self.jobs[kept.id] = kept
                if kept.state not in WAITING:
                    shutil.rmtree(self.job_place(kept.id) / INPUT, ignore_errors=True)
            elif isinstance(kept, Brought):
                write(self.capture_place(kept.id), kept)
                self.captures[kept.id] = kept

    def queue(self, job: Job) -> None:
        """Take a job, with its capture beside it, so that it may be deleted meanwhile."""
        place = self.job_place(job.id)
        place.mkdir(mode=PRIVATE)
        try:
            if found := self.captures.get(str(job.asked.get("capture"))):
                (place / INPUT).mkdir(mode=PRIVATE)
                os.link(self.capture_place(found.id) / OCTETS, place / INPUT / found.name)
            self.keep(job)
        except OSError:
            shutil.rmtree(place, ignore_errors=True)
            raise

    def change(self, name: str, wanted: frozenset[str], **told: object) -> Job | None:
        """Change a job that is in one of some states; None: it is not, or is gone."""
        with self._turn:
            job = self.jobs.get(name)
            if job is None or job.state not in wanted:
                return None
            changed = job.model_copy(update=told)
            if changed == job:
                return changed
            try:
                self.keep(changed)
            except OSError as error:
                # A full disk must not make a job that has ended run on.
                logger.warning("job %s could not be written down: %s", name, error.strerror)
                self.jobs[name] = changed
            return changed

    def kept_captures(self, identity: Identity) -> list[Brought]:
        """The captures that a login may know of, the latest first."""
        with self._turn:
            seen = [each for each in self.captures.values() if each.seen_by(identity)]
        return sorted(seen, key=lambda each: (-each.created_ns, each.id))

    def kept_jobs(self, identity: Identity) -> list[Job]:
        """The jobs that a login may know of, the latest first."""
        with self._turn:
            seen = [each for each in self.jobs.values() if each.seen_by(identity)]
        return sorted(seen, key=lambda each: (-each.created_ns, each.id))

    def forget(self, kept: Kept) -> None:
        """Delete a capture or a job, with its files."""
        with self._turn:
            if isinstance(kept, Job):
                self.jobs.pop(kept.id, None)
                shutil.rmtree(self.job_place(kept.id), ignore_errors=True)
            else:
                self.captures.pop(kept.id, None)
                shutil.rmtree(self.capture_place(kept.id), ignore_errors=True)

    def next(self) -> Job | None:
        """The job that waits longest."""
        with self._turn:
            queued = [each for each in self.jobs.values() if each.state == QUEUED]
        return min(queued, key=lambda each: (each.created_ns, each.id), default=None)

    def waiting(self, who: str | None = None) -> int:
        """Jobs that have not ended, all or those of one login."""
        with self._turn:
            return sum(each.state in WAITING and who in {None, each.who}
                       for each in self.jobs.values())  # fmt: skip

    def octets(self) -> int:
        """Bytes of the captures that are kept."""
        with self._turn:
            return sum(each.octets for each in self.captures.values())

    def drop_older(self, before_ns: int) -> int:
        """Delete captures and ended jobs from before a time; gives how many."""
        with self._turn:
            old: list[Kept] = [each for each in self.captures.values()
                               if each.created_ns < before_ns]  # fmt: skip
            old += [each for each in self.jobs.values()
                    if each.state not in WAITING and (each.ended_ns or 0) < before_ns]  # fmt: skip
            for each in old:
                self.forget(each)
        return len(old)


def read(place: Path, kind: type[K]) -> Iterator[K]:
    """What a folder holds; what was begun and never written down is removed."""
    for each in sorted(place.iterdir()):
        try:
            found = kind.model_validate_json((each / ABOUT).read_bytes())
        except OSError:
            shutil.rmtree(each, ignore_errors=True)
            continue
        except ValidationError as error:
            logger.warning("%s is left as it is: %s", each, error.errors()[0]["msg"])
            continue
        if found.id == each.name:
            yield found


def write(place: Path, kept: Kept) -> None:
    """Write what is known of a capture or a job, in one step."""
    beside = place / f".{ABOUT}"
    beside.write_bytes(kept.model_dump_json().encode())
    beside.replace(place / ABOUT)
