"""Names of a package that are loaded when they are first asked for, with the module they are in."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(homes: Mapping[str, str], names: dict[str, Any]) -> Callable[[str], object]:
    """The `__getattr__` (PEP 562) of a package, whose globals `names` are.

    `homes` are its modules with the names that each of them gives, between spaces.
    """
    package = names["__name__"]

    def load(name: str) -> object:
        for home, given in homes.items():
            if name in given.split():
                module = import_module(f"{package}.{home}")
                names.update({each: getattr(module, each) for each in given.split()})
                return names[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
