"""How a part of a kernel is compiled: to code that its callers link, and no further.

Numba would optimise and assemble every small function for itself, and then once more inside each
function that calls it; a kernel of sixty parts took a third of its compile time for code that
nothing runs.
"""

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call] # numba has no types
class LowerForLinking(NativeLowering):
    """Lower a function and leave its code as it is."""

    _name = "lower_for_linking"

    def run_pass(self, state: Any) -> bool:
        """Lower into a library that is neither optimised nor loaded."""
        library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        library.enable_object_caching()
        library._optimize_final_module = library._finalize_final_module = _nothing  # noqa: SLF001 - what a library does for itself alone
        state.library = library
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call] # numba has no types
        # Callers find the function by the object that would be its entry; any builtin will do.
        entry = list[int]().append
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [library])
        state["cr"] = state["cr"]._replace(cfunc=entry)
        return True


class PartCompiler(CompilerBase):
    """Numba's stages with the last but one exchanged."""

    def define_pipelines(self) -> list[Any]:
        """The stages of one function."""
        usual: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call] # numba has no types
        stages = type(usual)("part")
        for stage, doc in usual.passes:
            stages.add_pass(LowerForLinking if stage is NativeLowering else stage, doc)
        stages.finalize()
        return [stages]


def _nothing() -> None:
    """What is left undone."""
