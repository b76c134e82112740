"""Compiled functions whose disk cache can never be stale.

Numba's own cache looks only at the file that defines a function, so a changed wire table or a
changed callee would go on running old machine code. Here the place of a function's code is named
after a digest of its module and of all that this imports (`kernel_sources.py`): whatever changes,
the old code is not found; what is as it was is found by every copy of the program.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast

from numba import config, njit, types
from numba.core.caching import FunctionCache, UserProvidedCacheLocator
from numba.core.options import DefaultOptions
from numba.core.runtime.nrt import rtsys

from collector.kernel_part import KernelCompiler, PartCompiler
from collector.kernel_sources import Sources

F = TypeVar("F", bound=Callable[..., Any])
Record = Any
"""A numpy record inside a kernel: its fields are known to Numba, not to a type checker."""


def cache_directory() -> tuple[Path | None, bool]:
    """Where compiled code is kept, and whether more may be: what an image has is only read.

    None: no place can be read, and code stays in memory. `HOPSIGHT_CACHE_DIR` names the place; the
    default is `$XDG_CACHE_HOME/hopsight`.
    """
    fallback = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache")).expanduser() / "hopsight"
    place = Path(os.environ.get("HOPSIGHT_CACHE_DIR") or fallback) / "kernels"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place, True
    except OSError:
        return place if os.access(place, os.R_OK | os.X_OK) else None, False


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

    def ensure_cache_path(self) -> None:
        """Make the folder, where anything may be made."""
        if KEEPS:
            super().ensure_cache_path()  # type: ignore[no-untyped-call] # numba has no types


class Kept(FunctionCache):
    """Numba's cache of one function, which gets the compiler ready only where there is no code."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None. Kernels hash nothing, so they need nothing besides."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call] # numba has no types

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, where anything may be kept."""
        if KEEPS:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call] # numba has no types

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """Code that finds no room, or cannot be read, is compiled anew, as where there is none."""
        with suppress(OSError):
            yield


CACHE, KEEPS = cache_directory()
if CACHE is not None:
    vars(config)["CACHE_DIR"] = str(CACHE)
    vars(config)["CACHE_LOCATOR_CLASSES"] = f"{__name__}.{BySources.__name__}"


ENTRY = "collector/recognise.py"
"""Module of the walk's largest kernel; it takes most of the time to compile."""


def is_compiled(module: str = ENTRY, name: str = "") -> bool:
    """Whether an earlier run has kept the walk's code; else the first frames wait for it.

    `module` is the file of another kernel, `name` its own where that is not the file's.
    """
    if CACHE is None:
        return False
    path = SOURCES.root / module
    folder = CACHE / BySources.get_suitable_cache_subpath(str(path))
    return any(folder.glob(f"{path.stem}.{name or path.stem}-*.nbi"))


COMPILED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
KERNEL: dict[str, Any] = {"pipeline_class": KernelCompiler}
PART: dict[str, Any] = {"pipeline_class": PartCompiler, "no_cpython_wrapper": True}
CALLED, IN_PLACE = {"forceinline": False}, {"forceinline": True}
"""Told for every function: Numba takes over from a caller what is not."""
UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
"""No references are counted; code that is compiled so can make no array of its own."""


class Kernel:
    """A function that gets its compiler, or its code, when it is called or met in another.

    The rooms have six hundred and a run calls few: to make all ready as they are imported took as
    long as all the rest of a small command.
    """

    def __init__(self, function: Callable[..., Any], how: dict[str, Any], *, entry: bool) -> None:
        update_wrapper(self, function)
        self.py_func = function
        """Its plain Python form."""
        self._how, self._entered = how, entry
        self._entry: Any = None
        """Numba's dispatcher for calls from Python; a part has none but its own."""
        self._part: Any = None
        """That for calls from kernels, which is compiled once for all widths."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it, compiled."""
        return (self._entry or self._with_entry())(*args, **named)

    @property
    def _numba_type_(self) -> Any:
        """What it is to a kernel that calls it."""
        return self._as_part()._numba_type_

    @property
    def signatures(self) -> list[Any]:
        """The types for which there is code that Python can call; of a part, that kernels can."""
        return list(self._with_entry().signatures)

    @property
    def overloads(self) -> dict[Any, Any]:
        """What was compiled for each."""
        return dict(self._with_entry().overloads)

    def recompile(self) -> None:
        """Compile all of it anew."""
        self._with_entry().recompile()

    def _with_entry(self) -> Any:
        with MAKING:
            if self._entry is None and not self._entered:
                self._entry = self._as_part()
            if self._entry is None:
                entry = njit(**COMPILED, **KERNEL, **self._how)(self.py_func)
                if CACHE is not None:
                    kept = Kept(self.py_func)  # type: ignore[no-untyped-call] # numba has no types
                    entry._cache = kept  # noqa: SLF001 - numba takes a cache in no other way
                self._entry = entry
            return self._entry

    def _as_part(self) -> Any:
        with MAKING:
            if self._part is None:
                part = njit(**COMPILED, **PART, **self._how)(self.py_func)
                usual = part.get_call_template

                def widened(args: Any, kws: Any) -> Any:
                    wide = {name: _wide(kind) for name, kind in kws.items()}
                    return usual(tuple(map(_wide, args)), wide)

                part.get_call_template = widened
                self._part = part
            return self._part


MAKING = RLock()
"""Held by the thread that makes a dispatcher: of each there is one."""


def kernel(function: F) -> F:
    """Compile `function` with Numba; its plain Python form stays reachable as `.py_func`.

    IEEE arithmetic is kept (no fastmath) so that stream and replay agree to the last bit, and
    division by zero gives infinity or NaN for the caller to flag instead of raising.
    """
    return cast("F", Kernel(function, CALLED, entry=True))


def inner(function: F) -> F:
    """Compile `function` as a part of the kernels that call it, with no entry from Python."""
    return cast("F", Kernel(function, CALLED, entry=False))


def borrowing(function: F) -> F:
    """As `kernel`, for a body of many small functions that makes no array of its own.

    It only borrows its arguments. Counting references at every call would take most of its time.
    """
    return cast("F", Kernel(function, CALLED | UNCOUNTED, entry=True))


def merged(function: F) -> F:
    """As `borrowing`, and put in the place of each call: for bodies that take whole arrays."""
    return cast("F", Kernel(function, IN_PLACE | UNCOUNTED, entry=True))


def inlined(function: F) -> F:
    """As `merged`, without an entry from Python: a part of a `borrowing` kernel alone."""
    return cast("F", Kernel(function, IN_PLACE | UNCOUNTED, entry=False))


def step(function: F) -> F:
    """A part of a `borrowing` kernel that is called: where speed is not lost by it."""
    return cast("F", Kernel(function, CALLED | UNCOUNTED, entry=False))


def _wide(kind: Any) -> Any:
    """The type that an argument is handed on in: that of no value, and of 64 bits with a sign."""
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call] # numba has no types
    return types.int64 if kind in types.signed_domain else kind
