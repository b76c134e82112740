"""The rules at work: looks at the store, states of alerts that move, each change kept and told."""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from pipeline import TABLES, Store, length_bounds
from service.alerts.rule import COUNT, AlertFile, Rule
from service.alerts.standing import Standing, as_told, latest_first, patience, taken_up
from service.alerts.state import FIRING, PENDING, RESOLVED, Alert
from service.future import MOST_AHEAD_NS, Reached, reached
from service.hub import Hub

MOST_ROWS = 100_000
MOST_UNKEPT = 100_000
"""Changes that wait for a store that takes none; of more the latest."""
MOST_ALERTS = 10_000
"""Alerts of one rule; groups beyond are not followed."""
Key = tuple[str, str]
"""Name of the rule, and the labels as JSON."""


class Engine:
    """The states of all alerts; may be asked from any thread while one thread steps."""

    def __init__(
        self,
        file: AlertFile,
        store: Store,
        hub: Hub,
        fired: Callable[[Standing], None] = lambda _: None,
        restored: Callable[[list[Standing]], None] = lambda _: None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`fired` hears of each alert that begins to fire, `restored` of those of before."""
        self.fired, self.restored, self.clock = fired, restored, clock
        self.unkept: list[dict[str, Any]] = []
        self.rules = named(file)
        self._next: dict[str, Rule] | None = None
        self.store = store
        self.hub = hub
        self.alerts: dict[Key, Alert] = {}
        self.now_ns = 0
        self.reached = Reached(0, 0)
        self._restored = False
        self._seen: tuple[int | None, int] | None = None
        self._turn = threading.Lock()

    def renew(self, file: AlertFile) -> None:
        """Go by the rules of another file from the next step on, from any thread."""
        with self._turn:
            self._next = named(file)

    def step(self) -> None:
        """One look at every rule, when something was stored since the last. Raises StoreError.

        What changed is told at once; that the store does not take it now loses nothing. Time is
        that of the data, as far as that has come by the clock: who is ahead stops no time.
        """
        clock_ns = self.clock()
        self.reached = reached(self.store, clock_ns)
        to_ns = self.reached.to_ns
        if self.reached.newest_ns and not to_ns:
            return  # all is ahead: it may as well be the clock here that is wrong, for now
        if not self._restored or self.now_ns > clock_ns + MOST_AHEAD_NS:
            self._restore(clock_ns + MOST_AHEAD_NS)
        self._take_next()
        self._keep()
        if not self.rules or not to_ns:
            return
        seen = self.store.revision, to_ns
        if self._seen == seen and seen[0] is not None:
            return
        now_ns = max(to_ns, self.now_ns + 1)
        for rule in self.rules.values():  # each told by itself: the next one may find no store
            self._tell([*self._moved(rule, self._values(rule, now_ns), now_ns)])
        self._keep()
        # What is stored here itself is no reason to look again.
        self._seen = self.store.revision, to_ns

    def ahead_s(self) -> float:
        """How far the newest verdicts are ahead of the clock, seconds; 0: they are not."""
        return max(self.reached.newest_ns - self.clock(), 0) / 10**9

    def _take_next(self) -> None:
        """Take rules that were given; what stands by none of them, as it is labelled, is over."""
        if self._next is None:
            return
        with self._turn:
            self.rules, self._next, self._seen = self._next, None, None
            gone = [(key, self.alerts.pop(key)) for key in list(self.alerts) if not self._has(key)]
            self.now_ns += bool(gone)
        self._tell(
            [
                change_of(key, RESOLVED, self.now_ns, alert.since_ns, None, len(alert.changed))
                for key, alert in gone
                if alert.state in {PENDING, FIRING}
            ]
        )

    def _has(self, key: Key) -> bool:
        """Whether an alert can be one of the rules that are in force."""
        rule, labels = self.rules.get(key[0]), json.loads(key[1])
        return rule is not None and key[1] == labelled(
            rule, {field: labels.get(label_of(field), "") for field in rule.group_by}
        )

    def _tell(self, made: list[dict[str, Any]]) -> None:
        """Tell changes, which wait for the store; pauses of what is damped are kept alone."""
        self.unkept += made
        del self.unkept[:-MOST_UNKEPT]
        for change in made:
            if change["state"] == FIRING and change["value"] is None:
                continue
            labels = json.loads(change["labels"])
            self.hub.publish("alert", change | {"labels": labels}, "")
            if change["state"] == FIRING:
                rule = self.rules[change["rule"]]
                self.fired(
                    Standing(rule, labels, FIRING, change["since_ns"], change["value"],
                             change["changes"] >= rule.flap_changes)
                )  # fmt: skip

    def _keep(self) -> None:
        """Put changes into the store; those that it does not take wait. Raises StoreError."""
        keep(self.store, "alerts", self.unkept)

    def standing(self) -> list[Standing]:
        """Every alert that is pending or firing, the latest first."""
        with self._turn:
            return latest_first(
                Standing(rule, json.loads(labels), alert.state, alert.since_ns, alert.value,
                         alert.flaps(self.now_ns, patience(rule)))
                for (name, labels), alert in self.alerts.items()
                if alert.state in {PENDING, FIRING} and (rule := self.rules.get(name))
            )  # fmt: skip

    def _values(self, rule: Rule, now_ns: int) -> dict[str, float]:
        """The values that break a rule, by the labels of their group."""
        window = {"from_ns": now_ns - rule.window_ns, "to_ns": now_ns}
        suits = length_bounds(rule.window_ns, None) if rule.over == "flows" else {}
        if rule.over == "flows":
            window["to_ns"] -= 1
        rows = self.store.query(
            f"alert_{rule.over}", **window, **suits, filter=rule.filter, rows=MOST_ROWS
        )
        names = {field: rule.column(field) for field in rule.group_by}
        if rule.value == COUNT:
            told = pl.len().cast(pl.Float64)
        else:
            column = pl.col(rule.column(rule.value)).cast(pl.Float64)
            told = column.max() if rule.above is not None else column.min()
        keys = [
            pl.col(column).cast(pl.String).fill_null("").alias(field)
            for field, column in names.items()
        ]
        grouped = (
            rows.group_by(keys, maintain_order=True).agg(told.alias("told value"))
            if keys
            else rows.select(told.alias("told value"))
        )
        return {
            labelled(rule, {field: row[field] for field in names}): row["told value"]
            for row in grouped.head(MOST_ALERTS).iter_rows(named=True)
            if breaks(rule, row["told value"])
        }

    def _moved(
        self, rule: Rule, values: Mapping[str, float], now_ns: int
    ) -> Iterator[dict[str, Any]]:
        """The changes of a rule's alerts, and begin and end of pauses of what is damped."""
        waits = patience(rule)
        with self._turn:
            self.now_ns = now_ns
            known = {labels for name, labels in self.alerts if name == rule.name}
            for labels in sorted(known | values.keys()):
                alert = self.alerts.setdefault((rule.name, labels), Alert())
                paused = alert.pauses
                state = alert.advance(values.get(labels), now_ns, waits)
                many, key = alert.changes(now_ns, rule.flap_ns), (rule.name, labels)
                if state is not None:
                    yield change_of(key, state, now_ns, alert.since_ns, alert.value, many)
                elif alert.pauses != paused:
                    yield change_of(key, alert.state, now_ns, alert.since_ns, None, many)
                old = now_ns - max(alert.changed, default=0) > rule.flap_ns
                if alert.state not in {PENDING, FIRING} and old:
                    del self.alerts[rule.name, labels]

    def _restore(self, latest_ns: int) -> None:
        """Go on from the states that the store has, of no later time.

        What fires is taken to have held until now, and to have changed when it did so last. What
        stands by rules that there are no more is over, and that is kept.
        """
        given = {"until_ns": latest_ns, "rows": MOST_ROWS}
        stood = self.store.query("alerts_last", **given).rows(named=True)
        newest = self.store.query("alerts_history", rule="", before_ns=latest_ns + 1, rows=1)
        to_ns = self.reached.to_ns
        ended: list[Standing] = []
        changes: list[dict[str, Any]] = []
        with self._turn:
            self.alerts.clear()
            self._seen = None
            told_ns = [*newest["time_ns"], *(row["changed_ns"] for row in stood)]
            self.now_ns = max(told_ns, default=0)
            over_ns = max(to_ns, self.now_ns + 1)
            for row in stood:
                key, since_ns, many = (row["rule"], row["labels"]), row["since_ns"], row["changes"]
                if self._has(key):
                    self.alerts[key] = taken_up(row, to_ns)
                else:
                    ended.append(as_told(row))
                    changes.append(change_of(key, RESOLVED, over_ns, since_ns, None, many))
                    self.now_ns = over_ns
        self.restored([*self.standing(), *ended])
        self._restored = True
        self._tell(changes)


def keep(store: Store, table: str, told: list[dict[str, Any]]) -> None:
    """Put rows into a table, and keep here what the store does not take. Raises StoreError."""
    if told:
        rows = pl.DataFrame(told, schema=TABLES[table].schema)
        store.insert(table, rows, f"{table} {rows.hash_rows().sum()}")
        told.clear()


def change_of(
    key: Key, state: str, time_ns: int, since_ns: int, value: float | None, changes: int
) -> dict[str, Any]:
    """A change of an alert: a row of the table `alerts`.

    One that fires and has no value began or ended a pause, while it is damped. Times of changes
    grow, so that the last one tells how an alert stands even where the data's time stood still in
    between.
    """
    return {
        "time_ns": time_ns, "rule": key[0], "labels": key[1], "state": state, "since_ns": since_ns,
        "value": value, "changes": changes,
    }  # fmt: skip


def named(file: AlertFile) -> dict[str, Rule]:
    """The rules of a file by their names."""
    return {rule.name: rule for rule in file.rule}


def breaks(rule: Rule, value: float | None) -> bool:
    """Whether a value is beyond what the rule allows."""
    if value is None or not math.isfinite(value):
        return False
    if rule.above is not None:
        return value > rule.above
    return rule.below is not None and value < rule.below


def labelled(rule: Rule, group: Mapping[str, str]) -> str:
    """The labels of an alert, as the store has them."""
    named = {label_of(field): value for field, value in group.items()}
    return json.dumps(named | {"alertname": rule.name, "severity": rule.severity}, sort_keys=True)


def labels_of(rule: Rule) -> set[str]:
    """The names of the labels that a rule's alerts have."""
    return {"alertname", "severity", *map(label_of, rule.group_by)}


def label_of(field: str) -> str:
    """The name of a label of what alerts are grouped by."""
    return field.replace(".", "_")
