"""What is wrong with a snapshot that is given back."""


class SnapshotError(ValueError):
    """A snapshot is refused; the text is one sentence that names what differs or is damaged."""
