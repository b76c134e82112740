"""Parts of kernels are compiled once, however they are called."""

from typing import Any

import numpy as np

from collector import borrowing, inlined, step


@step
def called(value: int, doubled: bool) -> int:
    return 2 * value if doubled else value


@borrowing
def entered(value: int) -> int:
    return called(value, True)


@inlined
def in_place(value: int) -> int:
    return called(value, False) + entered(value)


@borrowing
def summed(narrow: Any, wide: Any) -> int:
    total = 0
    for at in range(narrow.size):
        total += in_place(narrow[at]) + in_place(wide[at]) + called(3, at > 0)
    return total


def compiled(kernel: Any) -> list[Any]:
    """What Numba has compiled of a function."""
    return list(kernel.overloads.values())


def test_a_part_is_compiled_once_for_all_that_call_it() -> None:
    narrow, wide = np.array([1, -2], np.int8), np.array([3, 4])
    summed.recompile()  # what the cache holds of it brings no parts along
    assert summed(narrow, wide) == 3 * (1 - 2 + 3 + 4) + 3 + 6
    [part] = compiled(called)
    assert [str(kind) for kind in part.signature.args] == ["int64", "bool"]
    assert not part.fndesc.inline, "it is called in the place of what calls it"
    [part] = compiled(in_place)
    assert part.fndesc.inline


def test_what_python_calls_too_is_a_part_of_kernels_all_the_same() -> None:
    assert summed(np.array([1], np.int8), np.array([3])) == 3 * (1 + 3) + 3
    known = len(compiled(entered))
    assert entered(np.int8(-5)) == -10
    assert len(compiled(entered)) == known + 1, "no entry is made for a kernel"
