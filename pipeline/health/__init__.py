"""Health of the telemetry: where it is missing, who breaks its rules, what clocks are off."""

from pipeline.health.answer import findings_of, last_known, widened, worth_a_look
from pipeline.health.finding import FINDINGS, Finding
from pipeline.health.found import TABLE
from pipeline.health.watch import Health
from pipeline.health.watched import Watched, all_watched

__all__ = ["FINDINGS", "TABLE", "Finding", "Health", "Watched", "all_watched", "findings_of",
           "last_known", "widened", "worth_a_look"]  # fmt: skip
