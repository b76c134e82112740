"""Alerts as they stand: of the engine that moves them, or by the last change that was kept."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from service.alerts.rule import Rule
from service.alerts.silence import Silence, silencing
from service.alerts.state import KEPT, Alert, Patience


@dataclass(frozen=True, slots=True)
class Standing:
    """An alert as it stands."""

    rule: Rule
    labels: Mapping[str, str]
    state: str
    since_ns: int
    value: float | None
    flapping: bool

    def shown(self, silences: Iterable[Silence], now_ns: int) -> dict[str, Any]:
        """The alert as answers have it, with those of the silences that it is under."""
        return {
            "rule": self.rule.name, "labels": dict(self.labels), "state": self.state,
            "since_ns": self.since_ns, "value": self.value, "flapping": self.flapping,
            "silenced_by": silencing(silences, self.labels, now_ns),
            "summary": self.rule.summary, "runbook": self.rule.runbook,
        }  # fmt: skip


def patience(rule: Rule) -> Patience:
    """How long things must hold by a rule."""
    return Patience(rule.for_ns, rule.keep_ns, rule.flap_changes, rule.flap_ns)


def as_told(row: Mapping[str, Any]) -> Standing:
    """An alert out of a row that was kept, whether its rule is still there or not."""
    labels = json.loads(row["labels"])
    told = {"name": row["rule"], "severity": labels.get("severity", "")}
    rule = Rule.model_construct(**told)
    return Standing(rule, labels, row["state"], row["since_ns"], row["value"], flapping=False)


def latest_first(standing: Iterable[Standing]) -> list[Standing]:
    """Alerts in the order in which they are told."""
    return sorted(
        standing, key=lambda each: (-each.since_ns, each.rule.name, sorted(each.labels.items()))
    )


def taken_up(row: Mapping[str, Any], to_ns: int) -> Alert:
    """An alert out of its last row, where there is data until `to_ns`."""
    changed = deque([row["changed_ns"]] * row["changes"], KEPT)
    held_ns = max(row["changed_ns"], to_ns)
    return Alert(row["state"], row["since_ns"], held_ns, row["value"], changed, bool(row["damped"]))


def as_kept(row: Mapping[str, Any], rules: Mapping[str, Rule], to_ns: int) -> Standing:
    """An alert as it stands by its last change and by its rule, if that is among those."""
    told = as_told(row)
    rule = rules.get(row["rule"], told.rule)
    alert = taken_up(row, to_ns)
    return replace(told, rule=rule, flapping=alert.flaps(alert.held_ns, patience(rule)))
