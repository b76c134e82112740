"""A spill: batches in files of one directory, at most so many octets, in the order of their names.

Each file is a line that says what the batch covers, and an Arrow IPC stream. It is written under
another name first, so that what has its name is whole; a digest tells what was damaged later.
"""

import fcntl
import io
import json
import logging
import re
from contextlib import suppress
from itertools import count
from pathlib import Path

import polars as pl

from collector.bus import Batch, BusError
from collector.kafka_message import digest, octets_of
from collector.loss import losses_of, text_of
from collector.observation import SCHEMA_VERSION

SUFFIX = ".batch"
DIGITS = 12
"""Of the number that names a file; the order of names is that of numbers."""
OURS = re.compile(rf"[0-9]{{{DIGITS}}}\{SUFFIX}")
LOCK = "lock"
logger = logging.getLogger("hopsight.collector")


class Spill:
    """Files of a directory that one process has. Raises BusError when it cannot be had."""

    def __init__(self, directory: Path, most_octets: int) -> None:
        """Take the directory, with what an earlier process left there."""
        self.directory = directory
        self.most_octets = most_octets
        self.broken = False
        """Whether the last batch could not be written: a full disk, for one."""
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = (directory / LOCK).open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found: list[Path] = []
            others: list[Path] = []
            for each in sorted(directory.glob(f"*{SUFFIX}")):
                ours = OURS.fullmatch(each.name) and each.is_file()
                (found if ours else others).append(each)
            if others:
                logger.warning("%s: %s is no file of a batch and stays", directory, others[0].name)
            self.sizes = {path: path.stat().st_size for path in found}
            """Octets of each file, the oldest first."""
        except BlockingIOError:
            self._lock.close()
            raise BusError(f"bus.spill_directory: another process spills to {directory}") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BusError(f"bus.spill_directory: {directory}: {reason}") from None
        self.octets = sum(self.sizes.values())
        """Octets that all files take."""
        self._numbers = count(int(found[-1].stem) + 1 if found else 1)

    @property
    def fill(self) -> float:
        """Share of the room that is taken; 1: there is none for another batch."""
        return min(self.octets / self.most_octets, 1.0)

    def put(self, batch: Batch) -> Path:
        """Keep a batch behind the others. Raises OSError, and leaves nothing behind then."""
        value = octets_of(batch.frame)
        told = {
            "schema": SCHEMA_VERSION, "source": batch.source, "epoch": batch.epoch,
            "first": batch.first, "last": batch.last, "ended": batch.ended,
            "reached_ns": batch.reached_ns, "digest": digest(value),
            "losses": text_of(batch.losses),
        }  # fmt: skip
        path = self.directory / f"{next(self._numbers):0{DIGITS}}{SUFFIX}"
        unfinished = path.with_suffix(".part")
        whole = json.dumps(told).encode() + b"\n" + value
        try:
            unfinished.write_bytes(whole)
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        self.sizes[path] = len(whole)
        self.octets += len(whole)
        return path

    def read(self, path: Path) -> Batch | None:
        """The batch of a file; None when it is gone or damaged.

        Raises OSError where it cannot be read now, and may be later.
        """
        try:
            head, _, value = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        try:
            told = json.loads(head)
            if told.pop("schema") != SCHEMA_VERSION or told.pop("digest") != digest(value):
                return None
            told["losses"] = losses_of(told.get("losses", ""))
            return Batch(pl.read_ipc_stream(io.BytesIO(value)), **told)
        except (ValueError, TypeError, KeyError, pl.exceptions.PolarsError):
            return None

    def drop(self, path: Path) -> None:
        """Forget the batch of a file."""
        self.octets -= self.sizes.pop(path)
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the directory up; what is in it stays."""
        self._lock.close()
