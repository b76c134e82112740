"""The states of one alert: pending, firing, resolved; time is an argument."""

from collections import deque
from dataclasses import dataclass, field

PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
ASKED = "asked"
"""Of what a receiver knows: it is being told that an alert fires. By its name it is before both."""
KEPT = 64
"""Changes that are remembered of an alert."""
SILENT_NS = 60 * 10**9
"""Between two looks at a condition that hold, or `for` if that is longer: over a longer time in
which nothing was stored nobody knows that it held."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things must hold, ns, and from how many changes on an alert flaps."""

    before_ns: int
    keep_ns: int
    flap_changes: int
    flap_ns: int


@dataclass(slots=True)
class Alert:
    """One alert: its state, since when its condition holds, when it held last, and its changes.

    One that flaps is `damped`: it stays firing in pauses of its condition (`pauses`), the begin and
    the end of which are changes all the same, until none held for the whole time of damping.
    """

    state: str = RESOLVED
    since_ns: int = 0
    held_ns: int = 0
    value: float | None = None
    changed: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT))
    damped: bool = False
    pauses: bool = False

    def changes(self, now_ns: int, flap_ns: int) -> int:
        """Changes between firing and resolved within a time, those that were damped as well."""
        return sum(1 for at_ns in self.changed if at_ns > now_ns - flap_ns)

    def flaps(self, now_ns: int, patience: Patience) -> bool:
        """Whether it changes too often to be told each time, or did and was not quiet since."""
        return self.damped or self._often(now_ns, patience)

    def _often(self, now_ns: int, patience: Patience) -> bool:
        return self.changes(now_ns, patience.flap_ns) >= patience.flap_changes

    def advance(self, value: float | None, now_ns: int, patience: Patience) -> str | None:
        """Take the value that breaks the rule, None where none does; the new state, if it is one.

        A pending alert whose condition does not hold any more is over, which is no flap; one that
        was not looked at for long begins anew.
        """
        if value is not None:
            return self._held(value, now_ns, patience)
        if self.state == PENDING:
            self.state, self.value = RESOLVED, None
            return RESOLVED
        if self.state != FIRING:
            return None
        if now_ns - self.held_ns < patience.keep_ns:
            return None
        self.damped = self.flaps(now_ns, patience)
        if self.damped and now_ns - self.held_ns < patience.flap_ns:
            self._pause(now_ns, pauses=True)
            return None
        self.value, self.damped, self.pauses = None, False, False
        return self._become(RESOLVED, now_ns)

    def _held(self, value: float, now_ns: int, patience: Patience) -> str | None:
        silent_ns = now_ns - self.held_ns
        self.value, self.held_ns = value, now_ns
        if self.state == PENDING and silent_ns > max(patience.before_ns, SILENT_NS):
            self.since_ns = now_ns
        if self.state == RESOLVED:
            self.since_ns = now_ns
            if patience.before_ns == 0:
                return self._become(FIRING, now_ns)
            self.state = PENDING
            return PENDING
        if self.state == PENDING and now_ns - self.since_ns >= patience.before_ns:
            return self._become(FIRING, now_ns)
        if self.state == FIRING:
            self._pause(now_ns, pauses=False)
            self.damped = self._often(now_ns, patience)
        return None

    def _pause(self, now_ns: int, *, pauses: bool) -> None:
        """A pause of what is damped begins or ends."""
        if self.pauses != pauses:
            self.pauses = pauses
            self.changed.append(now_ns)

    def _become(self, state: str, now_ns: int) -> str:
        self.state = state
        self.changed.append(now_ns)
        return state
