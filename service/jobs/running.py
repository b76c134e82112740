"""Jobs at work: one after the other, each in a process of its own that can be ended."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import disk_usage
from typing import Any

from service.jobs.folder import Folder
from service.jobs.kept import CANCELLED, DONE, FAILED, QUEUED, RUNNING, Job
from service.jobs.work import COUNTED, OUTCOME, PROGRESS
from service.metrics import Metrics

POLL_S = 0.2
SWEEP_S = 60.0
END_S = 5.0
LOG = "log"
MOST_LOG = 1 << 20
NICE = 10
NOT_TOLD = "its process ended without a word (exit code {code})"
NO_ROOM, LEAST_ROOM = "the disk of service.jobs_folder is full", 1 << 16
"""What is said of a job that could write nothing down where fewer bytes are left."""
logger = logging.getLogger("hopsight.jobs")


class Running(threading.Thread):
    """Takes the job that waits longest, runs it, and keeps what it came to."""

    def __init__(
        self, folder: Folder, environment: Mapping[str, str], metrics: Metrics, most_s: float,
        keep_ns: int,
    ) -> None:  # fmt: skip
        super().__init__(name="jobs", daemon=True)
        self.folder = folder
        self.environment = dict(environment)
        self.metrics = metrics
        self.most_s = most_s
        self.keep_ns = keep_ns
        self.swept_s = -SWEEP_S
        self.wake = threading.Event()
        self._ending = threading.Event()

    def run(self) -> None:
        """Work until the end."""
        while not self._ending.is_set():
            try:
                if not self.step():
                    self.wake.wait(POLL_S * 5)
                    self.wake.clear()
            except Exception:
                logger.exception("a job could not be run")
                self._ending.wait(POLL_S * 5)

    def step(self) -> bool:
        """Run the next job to its end; False: there is none."""
        if time.monotonic() - self.swept_s >= SWEEP_S:
            self.swept_s = time.monotonic()
            self.folder.drop_older(time.time_ns() - self.keep_ns)
        job = self.folder.next()
        if job is None:
            return False
        started = {"state": RUNNING, "started_ns": time.time_ns()}
        if self.folder.change(job.id, frozenset({QUEUED}), **started) is None:
            return True
        reason = self._worked(job)
        place = self.folder.job_place(job.id)
        told = told_of(place / OUTCOME) if reason is None else {"reason": reason}
        told = told or {"reason": NOT_TOLD.format(code="unknown")}
        state = FAILED if told.get("reason") else DONE
        end = {"state": state, "ended_ns": time.time_ns(), **progress_of(place), **told}
        ended = self.folder.change(job.id, frozenset({RUNNING}), **end)
        outcome = state if ended else CANCELLED
        self.metrics.count("hopsight_jobs_total", kind=job.kind, outcome=outcome)
        return True

    def _worked(self, job: Job) -> str | None:
        """Run the process; gives why it has no outcome, None when it has one."""
        place = self.folder.job_place(job.id)
        with (place / LOG).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "service.jobs.work"],
                cwd=place, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment,
                start_new_session=True,
            )  # fmt: skip
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            try:
                return self._watched(job.id, process, place)
            finally:
                end(process)

    def _watched(self, name: str, process: "subprocess.Popen[bytes]", place: Path) -> str | None:
        until_s = time.monotonic() + self.most_s
        while process.poll() is None:
            if self._ending.wait(POLL_S):
                return "the service ended while this job was running; ask for it again"
            told = self.folder.change(name, frozenset({RUNNING}), **progress_of(place))
            if told is None:
                return "it was cancelled"
            if time.monotonic() > until_s:
                return f"it took longer than service.job_s ({self.most_s:g} s)"
            if (place / LOG).stat().st_size > MOST_LOG:
                return "it wrote too much to its log"
        if (place / OUTCOME).exists():
            return None
        full = disk_usage(place).free < LEAST_ROOM
        return NO_ROOM if full else NOT_TOLD.format(code=process.returncode)

    def end(self) -> None:
        """Stop; a job that runs fails with a reason."""
        self._ending.set()
        self.wake.set()
        if self.is_alive():
            self.join()


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it started."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
            return


def told_of(path: Path) -> dict[str, Any]:
    """What a process wrote, nothing where it did not."""
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def progress_of(place: Path) -> dict[str, Any]:
    """How far a job is."""
    told = told_of(place / PROGRESS)
    return {name: told[name] for name in COUNTED if name in told}
