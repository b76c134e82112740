"""What a report is made of: inputs by their hash, programs, settings, the command that makes it."""

import hashlib
import os
import platform
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from service.settings import ENVIRONMENT_PREFIX, FILE_VARIABLE, Settings, rows, settings_file
from service.version import version

PROGRAMS = ("numba", "numpy", "polars", "pyarrow")
CHUNK = 1 << 20
STEERING = ("collector", "pipeline")
"""Sections of the settings on which decisions and verdicts depend."""
STORE = f"{ENVIRONMENT_PREFIX}STORE__DSN"
CREDENTIALS = re.compile(r"(https?://)[^/@]*@|[?&](?:user|username|password)=[^&]*")
"""Who asks a store, as an address may say it."""


def inputs(captures: Sequence[Path], topology: Path | None, flow: str | None) -> list[list[str]]:
    """What was read, with its size and its hash; a store has neither."""
    beside = [path for path in (topology, settings_file(os.environ)) if path is not None]
    files = [
        each
        for path in (*captures, *beside)
        for each in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]
    told = [
        [str(path), f"{path.stat().st_size:,}", digest(path)] for path in files if path.is_file()
    ]
    return told if captures else [["the store", "", f"flow {flow}"], *told]


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    made = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            made.update(part)
    return made.hexdigest()


def programs() -> dict[str, str]:
    """Versions of what computed."""
    return {"hopsight": version(), "Python": platform.python_version()} | {
        name: version_of(name) for name in PROGRAMS
    }


def unusual(settings: Settings) -> dict[str, Any]:
    """Settings that steer what is decided and are not the usual ones, wherever they were told."""
    usual = {name: value for name, _, value, _ in rows()}
    return {
        name: value
        for name, _, value, _ in rows(settings)
        if name.partition(".")[0] in STEERING and value != usual[name]
    }


def command(words: Sequence[str], environment: Mapping[str, str], *, stored: bool) -> str:
    """The command as a shell takes it, with what the environment told it beside its words.

    What a store's address says of its users is left out.
    """
    told = [f"{name}={shlex.quote(cleaned(environment[name]))}"
            for name in variables(environment, words, stored=stored)]  # fmt: skip
    return " ".join([*told, shlex.join(["hopsight", *map(cleaned, words)])])


def variables(
    environment: Mapping[str, str], words: Sequence[str], *, stored: bool
) -> Iterator[str]:
    """Names of variables on which the result depends, and that no word of the command replaces."""
    sections = tuple(f"{ENVIRONMENT_PREFIX}{section}__".upper() for section in STEERING)
    for name in sorted(environment):
        filed = name == FILE_VARIABLE and not any(word.startswith("--settings") for word in words)
        if filed or name.upper().startswith(sections) or (stored and name == STORE):
            yield name


def cleaned(text: str) -> str:
    """A text without credentials of a store."""
    return CREDENTIALS.sub(lambda found: found[1] or "", text)
