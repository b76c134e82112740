"""How often somebody may ask: buckets that fill at a steady rate."""

from collections import OrderedDict

REMEMBERED = 10_000
"""Askers whose buckets are kept; the one that asked longest ago gives way, with a full bucket."""


class Buckets:
    """One bucket an asker: `burst` requests at once, then `rate_per_s`."""

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self.rate_per_s = rate_per_s
        self.burst = burst
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, asker: str, now_s: float) -> float:
        """Take one from an asker's bucket; seconds until there is one again, 0: it was there."""
        left, since_s = self._held.pop(asker, (self.burst, now_s))
        left = min(self.burst, left + max(now_s - since_s, 0.0) * self.rate_per_s)
        allowed = left >= 1
        self._held[asker] = (left - allowed, now_s)
        if len(self._held) > REMEMBERED:
            self._held.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate_per_s
