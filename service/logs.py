"""Logs: one line an event to standard error, as text or as JSON for programs."""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

TEXT = "%(created).3f %(name)s: %(message)s"
NOISY = ("aiokafka", "uvicorn.error", "httpx", "httpcore")
"""Libraries that log what we say ourselves, or whole addresses, of which a receiver's may be its
secret."""


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
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.ERROR)
