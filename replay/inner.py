"""Compiled functions that only kernels call: without the doors to Python, which cost half of the compile time."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def inner(function: F) -> F:
    """Compile `function` as part of the kernels that call it, and are cached with it; `.py_func` stays plain."""
    compiled = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return cast("F", compiled)
