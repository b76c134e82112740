"""Settings read again while a command runs (SIGHUP)."""

import logging
from collections.abc import Callable

from service.failure import Failure
from service.settings import Settings, SettingsError

logger = logging.getLogger("hopsight.service")


def reloaded(
    read: Callable[[], Settings], began: Settings, bound: tuple[str, ...] = ("",)
) -> Settings | None:
    """The settings as they are now; None, and a logged sentence, when they cannot be used.

    Those that a command is `bound` to since it `began`, by how their names begin, are named where
    they are others now.
    """
    try:
        settings = read()
    except (SettingsError, Failure) as error:
        logger.warning("settings were read again and are refused: %s; the ones before hold", error)
        return None
    logger.info("settings were read again")
    if left := [name for name in unlike(began, settings) if name.startswith(bound)]:
        logger.warning("%s: need a restart of this command", ", ".join(left))
    return settings


def unlike(one: Settings, other: Settings) -> list[str]:
    """Names of the settings that differ, without their values, which may be secret."""
    told, wanted = one.model_dump(), other.model_dump()
    return [
        f"{section}.{name}"
        for section, values in told.items()
        for name, value in values.items()
        if value != wanted[section][name]
    ]
