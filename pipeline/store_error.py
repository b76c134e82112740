"""What can go wrong with the store, each as one sentence for the user."""


class StoreError(Exception):
    """The store cannot do what was asked; the text is one sentence that says why and what to do."""


class StoreBusy(StoreError):  # noqa: N818 - a state of the store that passes, not a fault
    """Every reader is at work and none came free in time; try again in `later_s` whole seconds."""

    def __init__(self, said: str, later_s: int = 1) -> None:
        super().__init__(said)
        self.later_s = later_s


class StoreLimit(StoreError):  # noqa: N818 - a limit that was reached, not a fault
    """A query passed a limit of time, rows or memory; ask for less."""


class StoreAway(StoreError):  # noqa: N818 - a state of the store that passes, not a fault
    """The store does not answer, or takes nothing for now; the same may be sent again later."""


class Fenced(StoreError):  # noqa: N818 - what a worker is told that was away for too long
    """Another worker has taken the place over; nothing of this one takes effect any more."""
