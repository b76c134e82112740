"""Words that lie in memory of somebody else, such as a column of Arrow: read where they are.

Compiled code takes arrays, and an array of its own for each of twenty columns of a batch is dear to
hand over, and its type is another one for each way in which the columns came. An address is a
number.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped] # it has no types
from numba.core import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from collector.prefetch import NEAR, ask

WORD = 8
"""Octets of a word."""


def word_at(address: int, place: int) -> int:
    """The signed 64-bit word at a place of an array that begins at an address; only compiled."""
    raise NotImplementedError("a word is read from its address by compiled code alone")


def address_of(values: NDArray[Any]) -> int:
    """Where an array of words begins; who keeps the address keeps the array too."""
    if values.itemsize != WORD or not values.flags.c_contiguous:
        raise ValueError("only words that lie side by side have one address")
    return int(values.__array_interface__["data"][0])


@intrinsic
def _word(_: Any, address: Any, place: Any) -> Any:  # noqa: ARG001 - the types are these alone
    """The instruction."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(start, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


def fetch_at(address: int, place: int) -> None:
    """Ask for the line of a word, not to the nearest cache; there need be none. Only compiled."""
    raise NotImplementedError("a line is asked for by compiled code alone")


@intrinsic
def _fetch(_: Any, address: Any, place: Any) -> Any:  # noqa: ARG001 - the types are these alone
    """The instruction."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        start = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        ask(builder, builder.gep(start, [arguments[1]]), NEAR)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@overload(word_at, jit_options={"_nrt": False})  # type: ignore[typeddict-unknown-key] # as `kernel.UNCOUNTED`
def _compiled(address: Any, place: Any) -> Any:  # noqa: ARG001 - their types choose the body
    """What a kernel runs."""

    def read(address: Any, place: Any) -> Any:
        return _word(address, place)  # type: ignore[call-arg] # the first argument is the compiler's

    return read


@overload(fetch_at, jit_options={"_nrt": False})  # type: ignore[typeddict-unknown-key] # as `kernel.UNCOUNTED`
def _compiled_fetch(address: Any, place: Any) -> Any:  # noqa: ARG001 - their types choose the body
    """What a kernel runs."""

    def fetch(address: Any, place: Any) -> None:
        _fetch(address, place)  # type: ignore[call-arg] # the first argument is the compiler's

    return fetch
