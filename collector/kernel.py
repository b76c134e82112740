"""Compiled functions whose disk cache can never be stale.

Numba's own cache looks only at the file that defines a function, so a changed wire table or a
changed callee would go on running old machine code. Here the place of a function's code is named
after a digest of its module and of all that this imports (`kernel_sources.py`): whatever changes,
the old code is not found; what is as it was is found by every copy of the program.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core.caching import FunctionCache, UserProvidedCacheLocator
from numba.core.options import DefaultOptions
from numba.core.runtime.nrt import rtsys

from collector.kernel_part import PartCompiler
from collector.kernel_sources import Sources

F = TypeVar("F", bound=Callable[..., Any])
Record = Any
"""A numpy record inside a kernel: its fields are known to Numba, not to a type checker."""


def cache_directory() -> Path | None:
    """Where compiled code is kept, or None when no place can be written (then it stays in memory).

    `HOPSIGHT_CACHE_DIR` names the place; the default is `$XDG_CACHE_HOME/hopsight`.
    """
    fallback = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache")).expanduser() / "hopsight"
    place = Path(os.environ.get("HOPSIGHT_CACHE_DIR") or fallback) / "kernels"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError:
        return None


SOURCES = Sources(Path(__file__).resolve().parent.parent)


class BySources(UserProvidedCacheLocator):
    """Numba's place for code below `config.CACHE_DIR`, named after sources and not after a path."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Folder of the code of one module's functions."""
        path = Path(py_file).resolve()
        if not path.is_relative_to(SOURCES.root):
            outside: str = super().get_suitable_cache_subpath(py_file)  # type: ignore[no-untyped-call] # numba has no types
            return outside
        return f"{path.stem}-{SOURCES.digest(path)}"


class Kept(FunctionCache):
    """Numba's cache of one function, which gets the compiler ready only where there is no code."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None. Kernels hash nothing, so they need nothing besides."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call] # numba has no types


CACHE = cache_directory()
if CACHE is not None:
    vars(config)["CACHE_DIR"] = str(CACHE)
    vars(config)["CACHE_LOCATOR_CLASSES"] = f"{__name__}.{BySources.__name__}"


ENTRY = "collector/recognise.py"
"""Module of the walk's largest kernel; it takes most of the time to compile."""


def is_compiled(module: str = ENTRY) -> bool:
    """Whether an earlier run has kept the walk's code; else the first frames wait for it.

    `module` is the file of another kernel of the same name as its file.
    """
    if CACHE is None:
        return False
    path = SOURCES.root / module
    folder = CACHE / BySources.get_suitable_cache_subpath(str(path))
    return any(folder.glob(f"{path.stem}.{path.stem}-*.nbi"))


COMPILED: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
WITHOUT_ENTRY: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
PART: dict[str, Any] = {"pipeline_class": PartCompiler}
UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
"""No references are counted; code that is compiled so can make no array of its own."""


def kept(compiler: Callable[[F], Any], function: F) -> Any:
    """`function`, compiled; its code is kept where there is a place for it."""
    compiled = compiler(function)
    if CACHE is not None:
        compiled._cache = Kept(function)  # type: ignore[no-untyped-call] # noqa: SLF001 - its own
    return compiled


def kernel(function: F) -> F:
    """Compile `function` with Numba; its plain Python form stays reachable as `.py_func`.

    IEEE arithmetic is kept (no fastmath) so that stream and replay agree to the last bit, and
    division by zero gives infinity or NaN for the caller to flag instead of raising.
    """
    compiled = kept(njit(**COMPILED), function)
    return cast("F", compiled)


def inner(function: F) -> F:
    """Compile `function` as a part of the kernels that call it, with no entry from Python.

    That halves its compile time; what calls it is cached, so it need not be.
    """
    compiled = njit(**COMPILED, **WITHOUT_ENTRY)(function)
    return cast("F", compiled)


def borrowing(function: F) -> F:
    """As `kernel`, for a body of many small functions that makes no array of its own.

    It only borrows its arguments. Counting references at every call would take most of its time.
    """
    compiled = kept(njit(**COMPILED, **UNCOUNTED), function)
    return cast("F", compiled)


def merged(function: F) -> F:
    """As `borrowing`, and put in the place of each call: for bodies that take whole arrays.

    To hand over an array is a dozen words, at every call.
    """
    compiled = kept(njit(**COMPILED, **UNCOUNTED, forceinline=True), function)
    return cast("F", compiled)


def inlined(function: F) -> F:
    """As `merged`, without an entry from Python: a part of a `borrowing` kernel alone."""
    compiled = njit(**COMPILED, **UNCOUNTED, **WITHOUT_ENTRY, **PART, forceinline=True)(function)
    return cast("F", compiled)


def step(function: F) -> F:
    """A part of a `borrowing` kernel that is called: where speed is not lost by it."""
    compiled = njit(**COMPILED, **UNCOUNTED, **WITHOUT_ENTRY, **PART)(function)
    return cast("F", compiled)
