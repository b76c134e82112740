"""The environment of a job's process: the settings of the service, none of its secrets."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.settings import ENVIRONMENT_PREFIX, NONE, Settings, rows

SPARED = "HOPSIGHT_CACHE_DIR"
"""Where compiled code is kept."""
MEMORY = "HOPSIGHT_JOB_MEMORY"
"""Bytes that the process may take; it takes the variable away before it reads settings."""
SECTIONS = ("collector", "pipeline", "store")
ROOT = Path(__file__).resolve().parents[2]


def environment_of(
    settings: Settings, given: Mapping[str, str], topology: Path | None = None
) -> dict[str, str]:
    """Variables by which the commands of a job find what the service was started with."""
    kept = {
        name: value
        for name, value in given.items()
        if name == SPARED or not name.startswith(ENVIRONMENT_PREFIX)
    }
    usual = {name: value for name, _, value, _ in rows()}
    for name, variable, value, _ in rows(settings):
        if name.partition(".")[0] in SECTIONS and (value != usual[name] or name == "store.dsn"):
            kept[variable] = text(value)
    if named := topology or settings.pipeline.topology:
        kept["HOPSIGHT_PIPELINE__TOPOLOGY"] = str(Path(named).resolve())
    kept[MEMORY] = str(settings.service.job_memory_bytes)
    paths = [str(ROOT), *filter(None, given.get("PYTHONPATH", "").split(":"))]
    return kept | {"PYTHONPATH": ":".join(dict.fromkeys(paths))}


def text(value: Any) -> str:
    """A value as a variable has it."""
    if value is None:
        return NONE
    return str(value) if isinstance(value, str | Path) else json.dumps(value)
