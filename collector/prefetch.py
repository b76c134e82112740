"""A hint to the processor: fetch what a loop will read some turns from now.

Processors follow a few arrays of a loop by themselves. One that reads some thirty columns waits for
memory at most of them.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped] # it has no types
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

WORD = ir.IntType(32)
READ, DATA = (ir.Constant(WORD, value) for value in (0, 1))
NEAREST, NEAR = (ir.Constant(WORD, value) for value in (3, 2))
"""Which cache a line is to come to: the first, or the second where it does not displace much."""


def prefetch(array: Any, *index: Any) -> None:
    """Ask for the cache line of an element, which may lie behind the array's end.

    Nothing is read, nothing can fail, and plain Python does nothing.
    """


def ask(builder: Any, element: Any, cache: Any) -> None:
    """Write the instruction for what a pointer points to."""
    shape = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, WORD, WORD, WORD])
    asked = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")  # type: ignore[no-untyped-call] # numba has no types
    builder.call(asked, [builder.bitcast(element, cgutils.voidptr_t), READ, cache, DATA])


@intrinsic
def _ask(_: Any, array: Any, index: Any) -> Any:
    """The instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, indices = signature.args
        view = context.make_array(kind)(context, builder, arguments[0])
        values = cgutils.unpack_tuple(builder, arguments[1])  # type: ignore[no-untyped-call] # numba has no types
        places = [
            context.cast(builder, value, one, types.intp)
            for value, one in zip(values, indices, strict=True)
        ]
        element = cgutils.get_item_pointer(context, builder, kind, view, places)  # type: ignore[no-untyped-call] # numba has no types
        ask(builder, element, NEAREST)
        return context.get_dummy_value()

    return types.void(array, index), generate


@overload(prefetch, jit_options={"_nrt": False})  # type: ignore[typeddict-unknown-key] # as `kernel.UNCOUNTED`
def _compiled(array: Any, *index: Any) -> Any:  # noqa: ARG001 - their types choose the body
    """What a kernel runs."""

    def fetch(array: Any, *index: Any) -> None:
        _ask(array, index)  # type: ignore[call-arg] # the first argument is the compiler's

    return fetch
