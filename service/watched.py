"""Senders and receivers watched while a replay passes, for whoever asks what they did."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from pipeline import Decider, PipelineSettings, Reran, Tracked, Versions
from replay import Conformance, conformance_answer, judged
from service.sureness import odds, sureness
from service.window_step import Parameters, step_known

RECEIVER = "dctcp_receiver"
"""The companion that watches receivers."""
Taking = Callable[[Reran], None]


class Watched:
    """Takes what a decider among those of a rerun made, and keeps what senders and receivers did.

    `place` is where it stands among the deciders of a rerun. Where `wanted` is not, it decides as
    anybody does, and keeps nothing.
    """

    def __init__(self, parameters: Parameters, place: int = 0, *, wanted: bool = True) -> None:
        self.parameters = parameters
        self.wanted = wanted
        self.decider: Decider | None = None
        self.step_known = step_known(parameters)
        self.conformance = Conformance()
        self.place = place

    def deciding(self, settings: PipelineSettings, versions: Versions | None) -> Decider:
        """The decider of a rerun, of which each part of a source has its own.

        ValueError names a parameter that is not accepted.
        """
        self.decider = Decider(self.needs(settings), versions, self.parameters)
        return self.decider

    def needs(self, settings: PipelineSettings) -> PipelineSettings:
        """The settings under which there is something to keep."""
        return watching(settings) if self.wanted else settings

    def take(self, made: Reran) -> None:
        """Take the next rows and decisions."""
        if self.wanted and made.tracked and self.decider is not None:
            rows = self.decider.hints.told(made.rows)
            self.conformance.advance(rows, made.tracked[self.place])

    def before(self, take: Taking, settings: PipelineSettings) -> Taking:
        """What takes for itself, and hands on as if it had not made the companion run."""
        own = not self.wanted or RECEIVER in settings.companions

        def taken(made: Reran) -> None:
            self.take(made)
            take(made if own else Reran(made.rows, tuple(map(without, made.tracked))))

        return taken

    def answer(self, keys: pl.DataFrame, point: str | None = None) -> dict[str, Any]:
        """What was found of the flows that `keys` names, at one point or at all."""
        accounts = self.conformance.finish()
        if point:
            accounts = accounts.seen_from(point)
        found = judged(accounts, step_known=self.step_known)
        return conformance_answer(found, accounts.sources, keys, accounts.unplaced)


def without(tracked: Tracked) -> Tracked:
    """What was tracked, without the companion that watches receivers."""
    rest = {name: rows for name, rows in tracked.companions.items() if name != RECEIVER}
    return Tracked(
        tracked.decisions, lambda: tracked.hop_loads, rest, tracked.heard
    )  # fmt: skip


def watching(settings: PipelineSettings) -> PipelineSettings:
    """The settings with the companion that watches receivers."""
    if RECEIVER in settings.companions:
        return settings
    return settings.model_copy(update={"companions": (*settings.companions, RECEIVER)})


def in_words(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding with how sure it is as people read it."""
    return {**finding, "sure_text": sureness(finding["sure"]),
            "odds_text": odds(finding["chance_log10"])}  # fmt: skip
