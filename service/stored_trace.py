"""What a store still holds of flows, as a trace to be replayed or kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from pipeline import Question, StoreError, StoreLimits, open_or_ask, retained
from service.endpoint import Endpoint
from service.failure import ExitCode, Failure
from service.flow_names import ends_of
from service.rerunning import Feeding
from service.trace_file import publish
from service.typed import moment

ORDER = (pl.col("time_ns"), pl.col("payload_bytes") > 0, pl.col("source"), pl.col("frame"))
"""How rows of several flows are laid together; as `flow_observations` has those of one."""


@dataclass(frozen=True)
class StoredTrace:
    """Observations of flows in a store, both directions of each; see `rerunning.Source`."""

    dsn: str
    limits: StoreLimits
    flows: Sequence[str]
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
        """The rows in order of time; Failure names a flow of which the store holds none."""
        questions = questions_of(self.flows)
        from_ns, to_ns = moment("--from", self.from_), moment("--to", self.to)
        if from_ns is not None and to_ns is not None and from_ns > to_ns:
            raise Failure(ExitCode.USAGE, f"--from {self.from_} is later than --to {self.to}")
        held: list[pl.DataFrame] = []
        try:
            with open_or_ask(self.dsn, self.limits) as store:
                for flow, question in questions.items():
                    pages = list(retained(store, question, from_ns, to_ns))
                    if not pages:
                        raise Failure(ExitCode.WRONG, absent(flow))
                    held += pages
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        rows = pl.concat(held, how="diagonal")
        # Of one flow the store gives them in this order.
        yield rows if len(questions) == 1 else rows.sort(*ORDER, maintain_order=True)


def questions_of(flows: Sequence[str]) -> dict[str, Question]:
    """Each flow and how it is asked for; a conversation that is named twice once."""
    told: dict[frozenset[Endpoint], tuple[str, Question]] = {}
    for flow in flows:
        src, dst = ends_of(flow)
        question = Question(src.address, src.port, dst.address, dst.port)
        told.setdefault(frozenset((src, dst)), (flow, question))
    if not told:
        raise Failure(ExitCode.USAGE, '--flow "SRC:PORT DST:PORT": from a store, one flow')
    return dict(told.values())


def absent(flow: str) -> str:
    """Why there is nothing of a flow."""
    return (
        f"the store holds no observations of {flow} in that time: they were not stored, or their"
        " retention is over"
    )
