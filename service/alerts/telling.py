"""What receivers of alerts are told, in the forms that they take."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from service.alerts.silence import Silence
from service.alerts.standing import Standing
from service.alerts.state import FIRING, RESOLVED
from service.endpoint import time_text

REPEAT_S = 60.0
"""A firing alert is told again after so long, so that who forgets it hears of it."""
GOOD_FOR = 4
"""Repeats after which an Alertmanager takes an alert for over that it hears no more of."""
NS = 10**9


class Look(NamedTuple):
    """What stands, what is silent, and the clock."""

    standing: Iterable[Standing]
    silences: Iterable[Silence]
    now_ns: int


class Telling(NamedTuple):
    """What a receiver is told: what fires or fired, what is over, and what fired with that."""

    due: dict[str, Standing]
    over: dict[str, Standing]
    again: dict[str, Standing]
    now_ns: int

    @property
    def alerts(self) -> list[tuple[Standing, str]]:
        """Each alert with its state."""
        firing = [(each, FIRING) for each in self.due.values()]
        return firing + [(each, RESOLVED) for each in self.over.values()]


def for_alertmanager(alert: Standing, state: str, now_ns: int) -> dict[str, Any]:
    """An alert as Alertmanager's API v2 has it.

    It refuses one that begins behind its end: where data is ahead of the clock it begins now.
    """
    good_ns = now_ns + round(GOOD_FOR * REPEAT_S * NS)
    return {
        "labels": dict(alert.labels),
        "annotations": annotations(alert),
        "startsAt": time_text(min(alert.since_ns, now_ns)),
        "endsAt": time_text(now_ns if state == RESOLVED else good_ns),
    }


def for_webhook(told: list[tuple[Standing, str]], now_ns: int) -> Any:
    """Alerts as a webhook is told them."""
    return {
        "version": "1",
        "sent": time_text(now_ns),
        "alerts": [
            {**annotations(alert), "state": state, "rule": alert.rule.name,
             "labels": dict(alert.labels), "value": alert.value,
             "since": time_text(alert.since_ns), "flapping": alert.flapping}
            for alert, state in told
        ],
    }  # fmt: skip


def annotations(alert: Standing) -> Mapping[str, str]:
    """What people read beside an alert."""
    value = "" if alert.value is None else f"{alert.value:.6g}"
    return {"summary": alert.rule.summary, "runbook_url": alert.rule.runbook, "value": value}
