"""Settings read again while a command runs (SIGHUP)."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable

from service.failure import Failure
from service.settings import Settings, SettingsError

EARLY = threading.Event()
"""Whether a SIGHUP came that nothing was read again for."""
logger = logging.getLogger("hopsight.service")


def reloaded(read: Callable[[], Settings]) -> Settings | None:
    """The settings as they are now; None, and a logged sentence, when they cannot be used."""
    try:
        settings = read()
    except (SettingsError, Failure) as error:
        logger.warning("settings were read again and are refused: %s; the ones before hold", error)
        return None
    logger.info("settings were read again and are taken")
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


def wait_to_reload() -> None:
    """Have a SIGHUP end nothing before a command can read anything again (`reload_at`).

    What it asks for is done then: a worker may wait minutes for its store.
    """
    if threading.current_thread() is threading.main_thread():
        EARLY.clear()
        signal.signal(signal.SIGHUP, lambda *_: EARLY.set())


def reload_at(loop: asyncio.AbstractEventLoop, reload: Callable[[], object]) -> None:
    """Read again at each SIGHUP from now on, and at once for one that came before."""
    loop.add_signal_handler(signal.SIGHUP, reload)
    if EARLY.is_set():
        EARLY.clear()
        reload()
