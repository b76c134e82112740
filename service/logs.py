"""Logs: one line an event to standard error, as text or as JSON for programs."""

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

TEXT = "%(created).3f %(name)s: %(message)s"
NOISY = ("aiokafka", "uvicorn.error", "httpx", "httpcore", "urllib3", "clickhouse_connect")
"""Libraries that log what we say ourselves, or whole addresses, of which a receiver's may be its
secret."""


EVERY_S = 30.0
"""Least time between two lines of one kind that such a library logs."""


class Once(logging.Filter):
    """Lets a line of a noisy library through once in `EVERY_S`.

    Of a broker that is away its library logs ten a second for as long as that takes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock = clock
        self.told: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        if not record.name.startswith(NOISY):
            return True
        if record.levelno < logging.ERROR:  # one sets the level of another when it is loaded
            return False
        # The same line with other numbers is the same.
        key, now_s = (record.name, str(record.msg)), self.clock()
        if now_s - self.told.get(key, -EVERY_S) < EVERY_S:
            return False
        self.told[key] = now_s
        return True


class TextLines(logging.Formatter):
    """Each record on a line: what strangers wrote into a file neither ends it nor steers a screen.

    What went wrong stands behind it as Python tells it.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        told = super().formatMessage(record)
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in told)


class JsonLines(logging.Formatter):
    """Each record as a JSON object on a line: time, level, logger, message, and what went wrong."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told)


def unheard() -> None:
    """Where no logs were begun, a store's library writes nothing before the sentence of a failure.

    Of a logger without any handler Python prints warnings as they are.
    """
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())


def quiet() -> None:
    """Of a command that says in one sentence what failed, and logs nothing: libraries neither."""
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def begin(form: Literal["text", "json"]) -> None:
    """Log from now on, in this form."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.ERROR)
    handler.addFilter(Once())
