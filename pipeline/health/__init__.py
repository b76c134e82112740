"""Health of the telemetry: where it is missing, who breaks its rules, what clocks are off.

A name is loaded when it is first asked for: who asks about findings needs nothing that finds them.
"""

from typing import TYPE_CHECKING

from pipeline.on_demand import on_demand

if TYPE_CHECKING:
    from pipeline.health.answer import findings_of, last_known, widened, worth_a_look
    from pipeline.health.finding import FINDINGS, TABLE, Finding
    from pipeline.health.watch import Health
    from pipeline.health.watched import Watched, all_watched

__all__ = ["FINDINGS", "TABLE", "Finding", "Health", "Watched", "all_watched", "findings_of",
           "last_known", "widened", "worth_a_look"]  # fmt: skip

HOMES = {
    "answer": "findings_of last_known widened worth_a_look",
    "finding": "FINDINGS TABLE Finding",
    "watch": "Health",
    "watched": "Watched all_watched",
}
"""Modules of this room with the names that each of them gives: those of `__all__`."""

if not TYPE_CHECKING:
    # Kept from the type checker, who would take any name for one that exists.
    __getattr__ = on_demand(HOMES, globals())
