"""Which hopsight this is."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


def version() -> str:
    """Version of the installed distribution; `unknown` in a tree that is not installed."""
    try:
        return installed("hopsight")
    except PackageNotFoundError:
        return "unknown"
