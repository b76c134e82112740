"""What a store still holds of one flow, as a trace to be replayed or kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from pipeline import Question, StoreError, StoreLimits, open_or_ask, retained
from service.endpoint import parse_time
from service.failure import ExitCode, Failure
from service.flow_names import flow_of
from service.rerunning import Feeding
from service.trace_file import publish


@dataclass(frozen=True)
class StoredTrace:
    """Observations of a flow in a store; see `rerunning.Source`."""

    dsn: str
    limits: StoreLimits
    flow: str | None
    from_: str | None = None
    to: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Feeding]:
        """See `Source`."""
        with self.parts() as rows:
            sources = tuple(rows["source"].unique().sort())
            yield Feeding(
                sources, lambda bus, progress: publish(lambda: iter([rows]), sources, bus, progress)
            )

    @contextmanager
    def parts(self) -> Iterator[pl.DataFrame]:
        """The rows; Failure where the store holds none, or holds them no longer."""
        ends = flow_of(self.flow)
        if ends is None:
            raise Failure(ExitCode.USAGE, '--flow "SRC:PORT DST:PORT": from a store, one flow')
        src, dst = ends
        question = Question(src.address, src.port, dst.address, dst.port)
        from_ns, to_ns = (moment(text) for text in (self.from_, self.to))
        try:
            with open_or_ask(self.dsn, self.limits) as store:
                pages = list(retained(store, question, from_ns, to_ns))
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        if not pages:
            raise Failure(
                ExitCode.WRONG,
                f"the store holds no observations of {self.flow} in that time: they were not"
                " stored, or their retention is over",
            )
        yield pl.concat(pages, how="diagonal")


def moment(text: str | None) -> int | None:
    """A time that was told; Failure says what is accepted."""
    try:
        return None if text is None else parse_time(text)
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"--from, --to: {error}") from None
