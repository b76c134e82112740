"""Algorithms that can be asked for beside those that packets show, one a file (`companion`)."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pipeline.cc.parameter import Parameter, Value
from pipeline.companion import COMMON, Companion
from pipeline.companion_names import COMPANIONS

__all__ = ["COMPANIONS", "companion", "companion_fields", "companion_table"]


def companion(name: str, parameters: Mapping[str, Value]) -> Companion:
    """One by name, ready; ValueError names a parameter, or what names there are."""
    if name not in COMPANIONS:
        raise ValueError(f"no companion is called {name!r}; accepted are {', '.join(COMPANIONS)}")
    made: Companion = getattr(_module(name), COMPANIONS[name])(parameters)
    return made


def companion_table(name: str) -> tuple[Parameter, ...]:
    """The parameters of one."""
    found: tuple[Parameter, ...] = _module(name).TABLE
    return found


def companion_fields(name: str) -> tuple[str, ...]:
    """The columns of its decisions that are its own."""
    own: tuple[str, ...] = _module(name).DECIDED.names
    return tuple(field for field in own if field not in (COMMON.names or ()))


def _module(name: str) -> Any:
    """The module of one: only what is asked for is loaded."""
    return import_module(f"{__name__}.{name}")
