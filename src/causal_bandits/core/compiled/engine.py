"""Compiled code by numba; nothing imports this module before it is needed.

A compiled function or an operation is an `overload` for its compiled callers, so it becomes a part of them; only what
Python calls gets a dispatcher, whose code is kept on disk (`cache`).
"""

from contextvars import ContextVar
from typing import Any

import numba
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.extending import overload

from . import cache, functions
from .conversions import pass_by_reference
from .functions import Compiled, Loops, NotCompiled, Operation, interpreted

PARTS: Any = {"error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
"""For what compiled code calls: a division by zero is numpy's, and there are no entry points for C or Python."""

_may_compile: ContextVar[bool] = ContextVar("may_compile", default=False)


class WithPermission(CompilerBase):
    """numba's way of compiling, where that is wanted: a call that finds nothing in the cache must not wait for it.

    A pipeline is numba's documented way to intervene. `Dispatcher.disable_compile` cannot replace it: that also stops
    loading from the cache, and code for a tuple of integers then truncates floats instead of refusing them.
    """

    def define_pipelines(self) -> list[Any]:
        """The passes of numba; `NotCompiled` without permission."""
        if not _may_compile.get():
            raise NotCompiled
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""For what Python calls: the GIL is released."""


def load(function: Compiled[..., Any], arguments: tuple[Any, ...], *, compile_now: bool, kept: bool) -> Any:
    """The dispatcher of a function, with code for these arguments.

    Args:
        function: What to run.
        arguments: What it will be called with.
        compile_now: Compile what is not in the cache; without it that raises `NotCompiled`.
        kept: Whether code may come from the cache and go there; if not, it is compiled now, for this process.
    """
    signature = tuple(numba.typeof(each) for each in arguments)
    if not kept:
        functions.say_compiling()
        dispatcher: Any = numba.njit(**OPTIONS)(function.py_func)
        dispatcher.compile(signature)
        return dispatcher
    if function.dispatcher is None:
        function.dispatcher = _cached_dispatcher(function)
    if not (cache.is_whole(function) and _loaded(function.dispatcher, signature)):
        if not compile_now:
            with cache.one_writer(function, wait=False) as writes:
                if writes:
                    cache.remove_corrupt(function)
            raise NotCompiled
        _compile(function, signature)
    return function.dispatcher


def _cached_dispatcher(function: Compiled[..., Any]) -> Any:
    """numba's dispatcher over our cache folder; without such a folder its code lives as long as the process."""
    settings: Any = numba.config
    before = settings.CACHE_LOCATOR_CLASSES
    settings.CACHE_LOCATOR_CLASSES = f"{cache.__name__}.{cache.Locator.__name__}"
    try:
        there_is_one = cache.folder() is not None
        return numba.njit(cache=there_is_one, pipeline_class=WithPermission, **OPTIONS)(function.py_func)
    finally:
        settings.CACHE_LOCATOR_CLASSES = before


def _loaded(dispatcher: Any, signature: tuple[Any, ...]) -> bool:
    """Load code from the cache; any error from a file with the right digest counts as no code."""
    try:
        dispatcher.compile(signature)
    except Exception as error:
        if cache.is_alarm(error):
            raise
        return False
    return True


def _compile(function: Compiled[..., Any], signature: tuple[Any, ...]) -> None:
    """Compile, and keep the code if possible."""
    token = _may_compile.set(True)
    try:
        with cache.one_writer(function):
            cache.remove_corrupt(function)
            functions.say_compiling()
            try:
                function.dispatcher.compile(signature)
            except Exception as error:
                if signature not in function.dispatcher.overloads or cache.is_alarm(error):
                    raise
                cache.say_not_kept(error)
            cache.seal(function)
    finally:
        _may_compile.reset(token)


def register(thing: Any) -> None:
    """Tell numba of a compiled function, an operation or a class of states."""
    if isinstance(thing, Compiled):
        overload(thing, jit_options=PARTS, strict=False)(lambda *args, **named: thing.py_func)
    elif isinstance(thing, Loops):
        overload(thing.function, jit_options=PARTS, strict=False)(lambda *args, **named: thing.loops)
    elif isinstance(thing, Operation):
        overload(thing, jit_options=PARTS, strict=False)(lambda *args, **named: _implementation(thing, args[0]))
    else:
        pass_by_reference(thing)


def _implementation(operation: Operation[..., Any], state: Any) -> Any:
    """The Python function to compile for a type of state; None if there is none."""
    try:
        return interpreted(operation.implementation(getattr(state, "instance_class", type(None))))
    except KeyError:
        return None


for _thing in functions.known:
    register(_thing)
functions.listeners.append(register)
