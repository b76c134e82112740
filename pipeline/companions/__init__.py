"""Algorithms that can be asked for beside those that packets show, one a file (`companion`)."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pipeline.cc.parameter import Parameter, Value
from pipeline.companion import Companion

COMPANIONS = {"poseidon": "Poseidon", "swift": "Swift"}
"""Modules of this folder, which are the algorithms' names, and the class in each."""


def companion(name: str, parameters: Mapping[str, Value]) -> Companion:
    """One by name, ready; ValueError names a parameter, or what names there are."""
    if name not in COMPANIONS:
        raise ValueError(f"no companion is called {name!r}; accepted are {', '.join(COMPANIONS)}")
    made: Companion = getattr(_module(name), COMPANIONS[name])(parameters)
    return made


def table(name: str) -> tuple[Parameter, ...]:
    """The parameters of one."""
    found: tuple[Parameter, ...] = _module(name).TABLE
    return found


def _module(name: str) -> Any:
    """The module of one: only what is asked for is loaded."""
    return import_module(f"{__name__}.{name}")
