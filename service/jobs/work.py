"""The process of one job: `python -P -m service.jobs.work` in the job's own folder.

It runs the command that the job stands for, writes how far it is, and at last what it came to. It
ends with the service, whose end closes its standard input.
"""

import contextlib
import io
import json
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from pipeline import CALM
from service import progress
from service.accounting_text import accounting_line
from service.decidable import say
from service.failure import Failure
from service.jobs.environment import MEMORY
from service.jobs.folder import ABOUT, INPUT
from service.jobs.kept import Job
from service.jobs.request import analyze_request, in_fields, replay_request, words_of
from service.jobs.summary import FOUND

PROGRESS, OUTCOME = "progress.json", "outcome.json"
SAID, MOST_NOTES = "hopsight: ", 40
EVERY_S = 0.25
RESULT_BYTES = 4 << 30
"""Largest file that a job writes."""
COUNTED = ("frames", "frames_total", "points", "points_total")
"""What is told of how far a job is."""
PASSES = {"analyze": 1, "replay": 2, "what_if": 1, "closed_loop": 2, "conform": 1}
"""How often the frames of a capture are read: a replay, and its report with verdicts.

A closed loop is played as long as it is read: half is done then. Of a sweep the points are counted.
"""
Made = tuple[dict[str, str], dict[str, Any]]


def main() -> None:
    """Do the job; what it came to stands in a file."""
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_FSIZE, (RESULT_BYTES, RESULT_BYTES))
    if memory := int(os.environ.pop(MEMORY, "0")):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    job = Job.model_validate_json(Path(ABOUT).read_bytes())
    try:
        results, found = done(job)
        told: dict[str, Any] = {"results": results, "found": found}
    except Failure as failure:
        told = {"reason": in_fields(str(failure))}
    except MemoryError:
        told = {"reason": "it needs more memory than service.job_memory_bytes"}
    except Exception:
        logging.getLogger("hopsight.jobs").exception("the job failed")
        told = {"reason": "an unexpected error was logged"}
    put(OUTCOME, told)


def done(job: Job) -> Made:
    """Run the command. Raises Failure."""
    captures = sorted(Path(INPUT).iterdir()) if Path(INPUT).is_dir() else []
    passes = PASSES.get(job.kind, 0)
    total = sum(map(frames_of, captures)) if passes else None
    with following(total or None, passes), contextlib.redirect_stderr(Heard(sys.stderr)) as heard:
        results, found = WORK[job.kind](job, captures)
    return results, found | {"notes": heard.notes}


class Heard(io.TextIOBase):
    """Standard error, of which the sentences of the command are kept: what it could not decide."""

    def __init__(self, beside: TextIO) -> None:
        self.beside = beside
        self.notes: list[str] = []

    def write(self, text: str) -> int:
        """Take a piece."""
        for line in text.splitlines():
            # What goes over the frames twice says some of it twice.
            note = in_fields(line.removeprefix(SAID))
            if line.startswith(SAID) and len(self.notes) < MOST_NOTES and note not in self.notes:
                self.notes.append(note)
        return self.beside.write(text)


def analyzed(job: Job, captures: list[Path]) -> Made:
    """An analysis: its report, and its flows as a table."""
    from service.commands import analyze

    _called("analyze", captures)
    path = Path("result.json")
    with path.open("w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        analyze.run(analyze_request(job.asked, captures, dsn()))
    report = json.loads(path.read_bytes())
    flows = report["flows"]
    rows = pl.DataFrame([flat(each) for each in flows], infer_schema_length=None)
    rows.write_ipc("result.arrow", compression="lz4")
    counted = report["accounting"]
    if counted["decoded"] < counted["seen"]:
        say([accounting_line(counted)])
    found = {
        "frames": counted["seen"], "decoded": counted["decoded"], "flows": len(flows),
        "bottlenecked": sum(each["bottleneck"]["kind"] not in CALM for each in flows),
        "from_ns": min((each["first_ns"] for each in flows), default=None),
        "to_ns": max((each["last_ns"] + 1 for each in flows), default=None),
        "stored": bool(job.asked.get("store")),
    }  # fmt: skip
    return {"json": "result.json", "arrow": "result.arrow"}, found


def replayed(job: Job, captures: list[Path]) -> Made:
    """A replay: every decision as a table, and the report."""
    from service.commands import replay

    report = Path("report.html")
    _called("replay", captures, [*words_of(job.asked), "--report", str(report)])
    with Path("said").open("w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        for more in ({"output": Path("result.arrow"), "explain": True},
                     {"report": report}):  # fmt: skip
            replay.run(replay_request(job.asked, captures, dsn(), **more))
    rows = pl.scan_ipc("result.arrow").select(
        pl.len().alias("decisions"), pl.col("flow").n_unique().alias("flows"),
        pl.col("time_ns").min().alias("from_ns"), (pl.col("time_ns").max() + 1).alias("to_ns"),
    ).collect()  # fmt: skip
    return {"json": "result.arrow", "arrow": "result.arrow", "html": report.name}, rows.row(
        0, named=True
    )


def answered(job: Job, captures: list[Path]) -> Made:
    """What a command prints with `--json`; where there are rows, they are a table too."""
    from service.commands import conform, replay

    rows, path = Path("rows.arrow"), Path("result.json")
    more = {"output": rows} if job.kind == "what_if" else {}
    run = conform.run if job.kind == "conform" else replay.run
    with path.open("w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        run(replay_request(job.asked, captures, dsn(), json=True, **more))
    answer = json.loads(path.read_bytes())
    if job.kind == "sweep":
        pl.DataFrame(answer["rows"], infer_schema_length=None).write_ipc(rows, compression="lz4")
    results = {"json": path.name} | ({"arrow": rows.name} if rows.exists() else {})
    return results, FOUND[job.kind](answer)


WORK: dict[str, Callable[[Job, list[Path]], Made]] = {
    "analyze": analyzed,
    "replay": replayed,
    **dict.fromkeys(FOUND, answered),
}


def flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """One object as columns, those of an object within it by its name; lists stay text."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            made |= flat(value, f"{before}{name}_")
        else:
            made[f"{before}{name}"] = json.dumps(value) if isinstance(value, list) else value
    return made


def frames_of(path: Path) -> int:
    """Frames of a capture; 0 where it cannot be read, which the command then says."""
    from collector import CaptureError, open_capture

    try:
        with open_capture(path) as capture:
            return sum(len(each) for each in capture.chunks())
    except CaptureError:
        return 0


@contextlib.contextmanager
def following(total: int | None, passes: int) -> Iterator[None]:
    """Write how many frames and points are done, now and then.

    A frame is done when it was gone over so many times, and every one when the job is: what a
    closed loop plays is not counted.
    """
    gone_over = 0
    told: dict[str, int | None] = {
        "frames": 0, "frames_total": total, "points": 0, "points_total": None
    }  # fmt: skip
    told_s = 0.0

    def tell() -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= EVERY_S:
            told_s = time.monotonic()
            put(PROGRESS, told)

    def take(frames: int) -> None:
        nonlocal gone_over
        gone_over += frames
        told["frames"] = gone_over // max(passes, 1)
        tell()

    def take_points(made: int, of: int) -> None:
        told.update(points=made, points_total=of)
        tell()

    before = progress.heard.set(take), progress.heard_points.set(take_points)
    try:
        yield
        told["frames"] = total or told["frames"]
    finally:
        progress.heard.reset(before[0])
        progress.heard_points.reset(before[1])
        put(PROGRESS, told)


def put(name: str, told: Mapping[str, Any]) -> None:
    """Write a file of JSON in one step."""
    Path(f".{name}").write_text(json.dumps(told), encoding="utf-8")
    Path(f".{name}").replace(name)


def dsn() -> str:
    """The store of the service."""
    from service.commands.settings import chosen

    return chosen().store.dsn


def _called(command: str, captures: list[Path], words: Sequence[str] = ()) -> None:
    """What a report says it was made by."""
    sys.argv = ["hopsight", command, *map(str, captures), *words]


def _end_with_the_service() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
