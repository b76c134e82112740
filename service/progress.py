"""Progress of a command: frames and time on standard error, only where somebody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from service.text import progress_console

heard: ContextVar[Callable[[int], None] | None] = ContextVar("heard", default=None)
"""Who hears of frames beside the terminal: a job, which tells them to whoever asks for it."""
heard_points: ContextVar[Callable[[int, int], None] | None] = ContextVar(
    "heard_points", default=None
)
"""Who hears of the points of a sweep likewise: how many are done, of how many."""


@contextmanager
def frames_bar(label: str) -> Iterator[Callable[[int], None]]:
    """A bar, and what it is told: the frames of each run."""
    watched = progress_console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[frames]:,} frames"),
        TimeElapsedColumn(),
    )
    hidden = not watched.is_terminal
    with Progress(*columns, console=watched, transient=True, disable=hidden) as bar:
        task = bar.add_task(label, total=None, frames=0)
        beside = heard.get()

        def told(frames: int) -> None:
            if beside is not None:
                beside(frames)
            bar.update(task, frames=bar.tasks[task].fields["frames"] + frames)

        yield told


@contextmanager
def working(label: str) -> Iterator[None]:
    """A sign that something is done whose end cannot be told, and for how long already."""
    watched = progress_console()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(
        *columns, console=watched, transient=True, disable=not watched.is_terminal
    ) as bar:
        bar.add_task(label, total=None)
        yield


@contextmanager
def points_bar(label: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar of so many points of which some are done already, and what it is told at each."""
    watched = progress_console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    hidden = not watched.is_terminal
    with Progress(*columns, console=watched, transient=True, disable=hidden) as bar:
        task = bar.add_task(label, total=total, completed=done)
        beside, made = heard_points.get(), done

        def told() -> None:
            nonlocal made
            made += 1
            if beside is not None:
                beside(made, total)
            bar.advance(task)

        if beside is not None:
            beside(done, total)
        yield told
