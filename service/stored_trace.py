"""What a store still holds of flows, as a trace to be replayed or kept."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipeline import Question, StoreError, StoreLimits, held, open_or_ask, same_ends
from service.decidable import say
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
    """Observations of flows in a store, both directions of each; see `rerunning.Source`.

    `network` tells flows with the same ends apart: tenant, vrf and vni, None of what may be any. Of
    several the newest in that time is given, and the others are named; with `every` all are.
    """

    dsn: str
    limits: StoreLimits
    flows: Sequence[str]
    from_: str | None = None
    to: str | None = None
    network: Mapping[str, Any] = field(default_factory=dict)
    every: bool = False

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
        questions = questions_of(self.flows, self.network)
        from_ns, to_ns = moment("--from", self.from_), moment("--to", self.to)
        if from_ns is not None and to_ns is not None and from_ns > to_ns:
            raise Failure(ExitCode.USAGE, f"--from {self.from_} is later than --to {self.to}")
        parts: list[pl.DataFrame] = []
        try:
            with open_or_ask(self.dsn, self.limits) as store:
                for flow, question in questions.items():
                    found = held(store, question, from_ns, to_ns, every=self.every)
                    own = list(found.pages(store, from_ns, to_ns))
                    others = [] if self.every else same_ends(found.apart)
                    if not own:
                        raise Failure(ExitCode.WRONG, "; ".join([absent(flow), *others]))
                    say(others)
                    parts += own
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        rows = pl.concat(parts, how="diagonal")
        # Of what is asked for at once the store gives them in this order.
        yield rows if len(questions) == 1 else rows.sort(*ORDER, maintain_order=True)


NOTHING = 'nothing to read: name a capture, or --flow "SRC:PORT DST:PORT" of a store'


def questions_of(flows: Sequence[str], network: Mapping[str, Any]) -> dict[str, Question]:
    """Each flow and how it is asked for; a conversation that is named twice once."""
    told: dict[frozenset[Endpoint], tuple[str, Question]] = {}
    for flow in flows:
        src, dst = ends_of(flow)
        question = Question(src.address, src.port, dst.address, dst.port, **network)
        told.setdefault(frozenset((src, dst)), (flow, question))
    if not told:
        raise Failure(ExitCode.USAGE, NOTHING)
    return dict(told.values())


def absent(flow: str) -> str:
    """Why there is nothing of a flow."""
    return (
        f"the store holds no observations of {flow} in that time: they were not stored, or their"
        " retention is over"
    )
