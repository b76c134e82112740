"""What changed between two looks at the store: which flows are held back, and where."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import polars as pl

from pipeline import Asked, length_bounds
from service.hub import Hub
from service.shape import flow_of, hop_of, records

WINDOW_NS = 10 * 10**9
"""The latest time that is looked at."""
AWAY_S = 60.0
"""For how long it is looked on after the last listener has gone: most come again by then."""
MOST_FLOWS = 10_000
MOST_EVENTS = 200
"""Changes of one look that are told one by one, to whoever sees all and of each tenant to its
people; of more the number is."""
UNTOLD = "verdicts_not_told"
TOLD = ("kind", "u_mean", "confidence", "reroute_helps", "since_ns")
Rows = Mapping[str, Mapping[str, Any]]
Change = tuple[Mapping[str, Any], dict[str, Any]]
"""A flow's row, and what was and is told of it."""


@dataclass(frozen=True, slots=True)
class Look:
    """The flows that are held back, by their hash, at the latest time that is stored."""

    to_ns: int
    flows: Rows


EMPTY = Look(0, {})
"""A store in which nothing is."""


def look(store: Asked) -> Look:
    """What is held back now."""
    extent = store.query("extent").row(0, named=True)
    if not extent["verdicts"]:
        return EMPTY
    from_ns, to_ns = int(extent["from_ns"]), int(extent["to_ns"])
    from_ns = max(from_ns, to_ns - WINDOW_NS)  # of before nothing is stored
    span = {"from_ns": from_ns, "to_ns": to_ns - 1}
    found: pl.DataFrame = store.query(
        "top_bottlenecks", **span, **length_bounds(to_ns - from_ns, None), rows=MOST_FLOWS
    )
    return Look(to_ns, {row["flow"]: row for row in records(found)})


def changes(before: Rows, now: Rows) -> Iterator[Change]:
    """Flows whose bottleneck is another one, each with what was and what is."""
    for flow in {**now, **before}:
        was, here = before.get(flow), now.get(flow)
        if said(was) != said(here):
            row = here or was or {}
            yield row, {"flow": flow_of(row), "was": shown(was), "now": shown(here)}


def said(row: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """What is another bottleneck when it differs."""
    return None if row is None else (row["kind"], row["node"], row["port"])


def shown(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A bottleneck as events tell it; None: none."""
    return None if row is None else {"hop": hop_of(row)} | {name: row[name] for name in TOLD}


class Changes:
    """Looks again and tells the hub what changed, while somebody listens or is expected again.

    Who comes later than that is told to ask anew: nobody looked meanwhile.
    """

    def __init__(self, store: Asked, hub: Hub, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.hub = hub
        self.clock = clock
        self.before: Look | None = None
        self.revision: int | None = None
        self._heard_s = -inf

    def _expected(self) -> bool:
        """Whether somebody listens, or did until a moment ago."""
        now_s = self.clock()
        if self.hub.listeners:
            self._heard_s = now_s
        return now_s - self._heard_s < AWAY_S

    def step(self) -> None:
        """One look. Raises StoreError."""
        if not self._expected():
            if self.before is not None:
                self.hub.forget()
            self.before = None
            return
        revision = getattr(self.store, "revision", None)
        if self.before is not None and revision is not None and revision == self.revision:
            return
        now, before = look(self.store), self.before
        self.revision = revision
        self.before = now
        if before is None:
            if now is not EMPTY:
                # Whoever came just now may have looked before what was stored a moment ago.
                self.hub.publish("stored", {"to_ns": now.to_ns, UNTOLD: 0})
            return
        told = list(changes(before.flows, now.flows))
        owned = self._tell(told)
        if told or now.to_ns != before.to_ns or revision is not None:
            latest = {"to_ns": now.to_ns}

            def own(tenants: tuple[str, ...]) -> dict[str, Any]:
                return latest | {UNTOLD: sum(beyond(owned[tenant]) for tenant in tenants)}

            self.hub.publish("stored", latest | {UNTOLD: beyond(len(told))}, own=own)

    def _tell(self, told: Sequence[Change]) -> Counter[str]:
        """Publish changes one by one, the worst first; how many each tenant has."""
        owned: Counter[str] = Counter()
        for number, (row, data) in enumerate(told):
            owner = row.get("owner") or ""
            wide = number < MOST_EVENTS
            if wide or (owner and owned[owner] < MOST_EVENTS):
                self.hub.publish("verdict", data, owner, wide=wide)
            owned[owner] += 1
        return owned


def beyond(count: int) -> int:
    """How many changes are not told one by one."""
    return max(count - MOST_EVENTS, 0)
