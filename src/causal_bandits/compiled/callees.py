"""How a compiled function is compiled for the compiled functions that call it.

numba makes of every function a library of its own: optimised together with all that it calls, turned into machine code
and wrapped for Python, and then all of it once more as a part of each caller. Only functions that Python calls need
that. For its callers a function is typed and lowered here, and nothing else: it is optimised and turned into machine
code as a part of them. What that is depends on the arguments alone, so results are the same to the bit.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.types import Function
from numba.core.typing.templates import infer, infer_global, make_overload_template


class _Part(JITCodeLibrary):
    """Code that becomes a part of other libraries and is never run by itself."""

    def _optimize_final_module(self) -> None:
        """Leave that to the library that it becomes a part of."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Key:
    """What numba finds a lowered function by, in place of an entry point."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lower(NativeLowering):
    """Lower a function for its callers: no machine code, no way in for Python."""

    _name = "lower_for_callers"

    def run_pass(self, state: Any) -> bool:
        """Lower it, and note it under a key of its own."""
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        key = _Key()
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state.cr = state.cr._replace(cfunc=key)
        return True


class ForCallers(CompilerBase):
    """numba's way of compiling, up to lowering."""

    def define_pipelines(self) -> list[Any]:
        """The passes of numba, with ours in place of its lowering."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_Lower if each is NativeLowering else each, why) for each, why in passes.passes]
        passes.finalize()
        return [passes]


def _for_callers(dispatcher: Any) -> Any:
    """A dispatcher by `ForCallers`, whose parts have no way in and are kept with those who call them."""
    dispatcher._cache = NullCache()
    dispatcher.add_overload = lambda result: dispatcher.overloads.update({tuple(result.signature.args): result})
    return dispatcher


def serve_callers(dispatcher: Any, make: Callable[[], Any]) -> None:
    """Have compiled callers of a function take their part from a dispatcher of its own.

    Args:
        dispatcher: What Python calls.
        make: Makes the dispatcher for compiled callers, by `ForCallers`; called when the first of them is compiled.
    """

    @cache
    def callee() -> Any:
        return _for_callers(make())

    dispatcher.get_call_template = lambda args, kws: callee().get_call_template(args, kws)
    dispatcher.get_overload = lambda signature: callee().get_overload(signature)


def serve_by_type(operation: Any, find: Callable[..., Any], make: Callable[[Any], Any]) -> None:
    """Have compiled callers of an operation take the part that belongs to the types of their arguments.

    This is `numba.extending.overload`, but for what it would compile each implementation to by itself.

    Args:
        operation: What they call.
        find: The Python function for types of arguments, or None.
        make: Makes the dispatcher of such a function, by `ForCallers`.
    """
    template: Any = make_overload_template(operation, find, {}, strict=False, inline="never")
    template._get_jit_decorator = lambda self: lambda: lambda function: _for_callers(make(function))
    infer(template)
    infer_global(operation, Function(template))
