"""Where captures and jobs are handed in and asked for: bounds, whose they are, and who works."""

import os
import shutil
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from service.access import LOCAL, Identity
from service.endpoint import DAY_NS
from service.jobs.environment import environment_of
from service.jobs.folder import Folder, FolderError
from service.jobs.kept import CANCELLED, WAITING, Brought, Job, new_id
from service.jobs.request import checked
from service.jobs.running import Running
from service.jobs.upload import Upload
from service.jobs.wanted import Analyze, Kinds
from service.metrics import Metrics
from service.problem import Problem, invalid
from service.settings import Settings

UPLOADS = 2
"""Captures that are brought at a time."""


class Desk:
    """Captures and jobs of one service; the folder is opened when it is first needed."""

    def __init__(self, settings: Settings, place: Path | None, metrics: Metrics) -> None:
        self.settings = settings
        self.limits = settings.service
        self.place = self.limits.jobs_folder or place
        self.metrics = metrics
        self.uploads: list[Upload] = []
        self.running: Running | None = None
        self._folder: Folder | None = None
        self._turn = threading.Lock()

    @property
    def folder(self) -> Folder:
        """The folder. Raises Problem."""
        with self._turn:
            if self._folder is None:
                if self.place is None:
                    raise Problem(404, "service.jobs_folder: is not set, so there are no jobs here")
                try:
                    self._folder = Folder(self.place)
                except FolderError as error:
                    raise Problem(503, str(error)) from None
                self._folder.interrupted(time.time_ns())
            return self._folder

    def begin(self, topology: Path | None) -> None:
        """Work from now on. Raises Problem."""
        if self.place is None:
            return
        environment = environment_of(self.settings, os.environ, topology)
        keep_ns = round(self.limits.keep_jobs_days * DAY_NS)
        self.running = Running(self.folder, environment, self.metrics, self.limits.job_s, keep_ns)
        self.running.start()

    def end(self) -> None:
        """Stop, and give the folder up."""
        if self.running is not None:
            self.running.end()
        if self._folder is not None:
            self._folder.close()

    async def bring(self, identity: Identity, name: str, pieces: AsyncIterator[bytes]) -> Brought:
        """Take a capture. Raises Problem."""
        folder = self.folder
        if self._left() <= 0:
            raise Problem(413, "the captures that are kept fill service.max_captures_bytes;"
                          " delete some", field="body")  # fmt: skip
        if len(self.uploads) >= UPLOADS:
            raise Problem(503, f"{UPLOADS} captures are being brought; try again later")
        if identity != LOCAL and any(each.who == identity.name for each in self.uploads):
            raise Problem(503, f"{identity.name} brings a capture already; try again later")
        made = new_id()

        def room() -> tuple[int, str]:
            left = self._left() + upload.come
            return min((self.limits.max_capture_bytes, "service.max_capture_bytes"),
                       (left, "service.max_captures_bytes"))  # fmt: skip

        upload = Upload(folder.capture_place(made), room, identity.name)
        self.uploads.append(upload)
        try:
            await upload.take(pieces)
            brought = Brought(
                id=made, who=identity.name, tenants=identity.tenants, created_ns=time.time_ns(),
                name=name, octets=upload.octets, sha256=upload.hashed.hexdigest(),
            )  # fmt: skip
            folder.keep(brought)
        except BaseException:
            shutil.rmtree(upload.place, ignore_errors=True)
            raise
        finally:
            self.uploads.remove(upload)
        return brought

    def _left(self) -> int:
        """Bytes that neither captures have nor those that are on their way."""
        coming = sum(each.come for each in self.uploads)
        return self.limits.max_captures_bytes - self.folder.octets() - coming

    def capture(self, identity: Identity, name: str) -> Brought:
        """A capture by its name. Raises Problem."""
        found = self.folder.captures.get(name)
        if found is None or not found.seen_by(identity):
            raise Problem(404, f"there is no capture {name!r}", field="name")
        return found

    def job(self, identity: Identity, name: str) -> Job:
        """A job by its name. Raises Problem."""
        found = self.folder.jobs.get(name)
        if found is None or not found.seen_by(identity):
            raise Problem(404, f"there is no job {name!r}", field="name")
        return found

    def ask(self, identity: Identity, wanted: Kinds) -> Job:
        """Take a job. Raises Problem."""
        asked = wanted.model_dump(mode="json", by_alias=True)
        if wanted.capture is not None and (
            (held := self.folder.captures.get(wanted.capture)) is None or not held.seen_by(identity)
        ):
            raise invalid({"capture": f"there is no capture {wanted.capture!r}"})
        if isinstance(wanted, Analyze):
            asked["store"] = identity.sees_all if wanted.store is None else wanted.store
            if asked["store"] and not identity.sees_all:
                raise Problem(403, "store: what is kept there is seen by others too; this login"
                              " sees some tenants only", field="store")  # fmt: skip
        elif wanted.capture is None and not identity.sees_all:
            raise Problem(403, "src: a job reads the flows of all tenants; this login sees some:"
                          " GET /api/v1/replay/decisions replays theirs", field="src")  # fmt: skip
        checked(wanted)
        job = Job(who=identity.name, tenants=identity.tenants, created_ns=time.time_ns(),
                  kind=wanted.kind, asked=asked)  # fmt: skip
        return self._queued(job)

    def _queued(self, job: Job) -> Job:
        folder, most = self.folder, self.limits.max_jobs
        with self._turn:
            if folder.waiting() >= most or folder.waiting(job.who) >= max(most // 2, 1):
                raise Problem(503, f"the queue of jobs is full (service.max_jobs is {most}, half of"
                              " it for one login); try again later")  # fmt: skip
            try:
                folder.queue(job)
            except OSError as error:
                raise Problem(503, f"the job cannot be kept: {error.strerror}") from error
        if self.running is not None:
            self.running.wake.set()
        return job

    def cancel(self, identity: Identity, name: str) -> Job:
        """End a job that waits or runs. Raises Problem."""
        self.job(identity, name)
        told = {"state": CANCELLED, "reason": f"{identity.name} cancelled it",
                "ended_ns": time.time_ns()}  # fmt: skip
        ended = self.folder.change(name, WAITING, **told)
        if ended is None:
            raise Problem(409, "the job has ended; DELETE removes it", field="name")
        return ended

    def forget(self, identity: Identity, name: str) -> None:
        """Delete a job that has ended. Raises Problem."""
        job = self.job(identity, name)
        if job.state in WAITING:
            raise Problem(409, f"the job is {job.state}; cancel it first", field="name")
        self.folder.forget(job)
