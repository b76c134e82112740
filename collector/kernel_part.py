"""How kernels and their parts are compiled: parts to code that is linked, and no further.

Numba would optimise and assemble every small function for itself, and then once more inside each
function that calls it; a kernel of two hundred parts took a third of its compile time for code that
nothing runs. Here a part is lowered and left as it is. A kernel links all that it reaches, once,
and keeps its parts to itself: what nobody else can call, LLVM may give other arguments. Of an array
only its place and strides are handed on then, and not a dozen words.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped] # it has no types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class PartLibrary(JITCodeLibrary):
    """The code of one part, which is neither optimised nor loaded, without that of others."""

    def finalize(self) -> None:
        """Let those that link it call it, and none beside them."""
        self._finalized = True
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        self._shared_module = self._final_module


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel with all its parts."""

    def finalize(self) -> None:
        """Link what is reached, however many steps away; optimise and load it."""
        self._linking_libraries = list(dict.fromkeys(_reached(self)))
        super().finalize()  # type: ignore[no-untyped-call] # numba has no types

    def _optimize_final_module(self) -> None:
        """Optimise, when parts are known to be called from here alone."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()  # type: ignore[no-untyped-call] # numba has no types


def _reached(library: Any) -> Iterator[Any]:
    """The libraries that one calls, those of its parts with them."""
    for each in library._linking_libraries:  # noqa: SLF001 - of the same family
        yield each
        if isinstance(each, PartLibrary):
            yield from _reached(each)


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call] # numba has no types
class LowerPart(NativeLowering):
    """Lower a function and leave its code as it is."""

    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        """Lower into a library of its own."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call] # numba has no types
        state.library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call] # numba has no types
        # Callers find the function by the object that would be its entry; any builtin will do.
        entry = list[int]().append
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call] # numba has no types
class LowerKernel(NativeLowering):
    """Lower a function and compile it with all its parts."""

    _name = "lower_kernel"

    def run_pass(self, state: Any) -> bool:
        """Lower into a library that takes its parts in."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call] # numba has no types
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call] # numba has no types


class KernelCompiler(CompilerBase):
    """Numba's stages with the last but one exchanged."""

    lowering: type[NativeLowering] = LowerKernel

    def define_pipelines(self) -> list[Any]:
        """The stages of one function."""
        usual: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call] # numba has no types
        stages = type(usual)("kernel")
        for stage, doc in usual.passes:
            stages.add_pass(self.lowering if stage is NativeLowering else stage, doc)
        stages.finalize()
        return [stages]


class PartCompiler(KernelCompiler):
    """The same for a part."""

    lowering = LowerPart
