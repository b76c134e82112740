"""Compiled functions that only kernels call: no entry from Python, half of the compile time."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
INSIDE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner(function: F) -> F:
    """Compile `function` as a part of the kernels that call it; they are cached, it need not be."""
    compiled = njit(nogil=True, error_model="numpy", **INSIDE)(function)
    return cast("F", compiled)
