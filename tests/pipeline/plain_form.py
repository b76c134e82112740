"""Kernels in plain Python, all the way down: what a kernel calls is plain Python too."""

from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import pipeline.cc

MADE: dict[str, dict[str, Any]] = {}
"""Globals of each module in its plain form."""


def plain(module: ModuleType) -> Any:
    """A module of `pipeline.cc` whose functions were never compiled."""
    return SimpleNamespace(**plain_globals(module))


def plain_globals(module: ModuleType) -> dict[str, Any]:
    if module.__name__ not in MADE:
        names = MADE[module.__name__] = dict(vars(module))
        names.update({name: plain_value(value, module) for name, value in vars(module).items()})
    return MADE[module.__name__]


def plain_value(value: Any, module: ModuleType) -> Any:
    if isinstance(value, ModuleType) and value.__name__.startswith("pipeline.cc."):
        return plain(value)
    if not hasattr(value, "py_func"):
        return value
    body = value.py_func
    home = module
    if body.__module__ != module.__name__:
        home = getattr(pipeline.cc, body.__module__.rpartition(".")[2])
    return FunctionType(body.__code__, plain_globals(home), body.__name__, body.__defaults__)
