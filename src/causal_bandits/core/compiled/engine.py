"""Compiled code by numba: its public API and its extension API alone; nothing imports this before it is needed.

A compiled function or an operation is an `overload` for its compiled callers, so it becomes a part of them; only what
Python calls gets a dispatcher, whose code is kept on disk (`cache`).
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from ...errors import warn_once
from . import cache, functions
from .functions import Compiled, NotCompiled, Operation, Vectorised, interpreted

OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""The GIL is released; a division by zero is numpy's; no entry points for C, which are not used."""
PARTS: Any = {"error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
"""For what compiled code calls: no entry points at all."""


class _Permission(threading.local):
    given = False


_permission = _Permission()


class WithPermission(CompilerBase):
    """numba's way of compiling, where that is wanted: a call that finds nothing in the cache must not wait for it."""

    def define_pipelines(self) -> list[Any]:
        """The passes of numba; `NotCompiled` without permission."""
        if not _permission.given:
            raise NotCompiled
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


@contextlib.contextmanager
def _permitted() -> Iterator[None]:
    _permission.given = True
    try:
        yield
    finally:
        _permission.given = False


def load(function: Compiled[..., Any], arguments: tuple[Any, ...], *, compile_now: bool, kept: bool) -> Any:
    """The dispatcher of a function, with code for these arguments.

    Args:
        function: What to run.
        arguments: What it will be called with.
        compile_now: Compile what is not in the cache; without it that raises `NotCompiled`.
        kept: Whether code may come from the cache and go there.
    """
    signature = tuple(numba.typeof(each) for each in arguments)
    if not kept:
        here = numba.njit(pipeline_class=WithPermission, **OPTIONS)(function.py_func)
        with _permitted():
            functions.say_compiling()
            here.compile(signature)
        return _with_permission(here)
    dispatcher = _dispatcher(function)
    with contextlib.suppress(NotCompiled):
        if cache.is_whole(function):
            _load(dispatcher, signature)
            return dispatcher
    if not compile_now:
        raise NotCompiled
    with cache.one_writer(function), _permitted():
        if cache.has(function) and not cache.is_whole(function):
            where = str(cache.folder())
            warn_once("compiled code, read", f"compiled code in {where!r} is corrupt; it is compiled again")
            cache.remove(function)
        functions.say_compiling()
        _compile(dispatcher, signature)
        cache.seal(function)
    return dispatcher


def _dispatcher(function: Compiled[..., Any]) -> Any:
    """numba's dispatcher over our cache folder; without such a folder its code lives as long as the process."""
    if function.dispatcher is None:
        options = {**OPTIONS, "pipeline_class": WithPermission}
        if cache.folder() is None:
            function.dispatcher = numba.njit(**options)(function.py_func)
        else:
            settings: Any = numba.config
            before = settings.CACHE_LOCATOR_CLASSES
            settings.CACHE_LOCATOR_CLASSES = f"{cache.__name__}.{cache.Locator.__name__}"
            try:
                function.dispatcher = numba.njit(cache=True, **options)(function.py_func)
            finally:
                settings.CACHE_LOCATOR_CLASSES = before
    return function.dispatcher


def _load(dispatcher: Any, signature: tuple[Any, ...]) -> None:
    """Load code; any error from a file with the right digest counts as no code."""
    try:
        dispatcher.compile(signature)
    except NotCompiled:
        raise
    except OSError as error:
        if error.errno is None:  # not of the file system: an alarm that raises TimeoutError, say
            raise
        raise NotCompiled from error
    except Exception as error:
        raise NotCompiled from error


def _compile(dispatcher: Any, signature: tuple[Any, ...]) -> None:
    """Compile, and cache the code if possible."""
    try:
        dispatcher.compile(signature)
    except Exception as error:
        if signature not in dispatcher.overloads or (isinstance(error, OSError) and error.errno is None):
            raise
        cache.say_not_kept(error)


def _with_permission(dispatcher: Any) -> Callable[..., Any]:
    """A dispatcher without a cache, which may compile for further types of arguments at any call."""

    def run(*arguments: Any) -> Any:
        with _permitted():
            return dispatcher(*arguments)

    return run


def register(thing: Any) -> None:
    """Tell numba of a compiled function, an operation or a class of states."""
    if isinstance(thing, Compiled):
        overload(thing, jit_options=PARTS, strict=False)(lambda *args, **named: thing.py_func)
    elif isinstance(thing, Vectorised):
        overload(thing, jit_options=PARTS, strict=False)(lambda *args, **named: thing.loops)
    elif isinstance(thing, Operation):
        overload(thing, jit_options=PARTS, strict=False)(lambda *args, **named: _implementation(thing, args[0]))
    else:
        typeof_impl.register(thing)(Reference.of)


def _implementation(operation: Operation[..., Any], state: Any) -> Any:
    """The Python function to compile for a type of state; None if there is none."""
    try:
        return interpreted(operation.implementation(getattr(state, "instance_class", type(None))))
    except KeyError:
        return None


class Reference(types.Type):
    """A state that compiled code reads through a pointer.

    numba passes a NamedTuple by value: a function of a state of thirty arrays has three hundred arguments, and counts
    thirty references up and down even where it reads one number. Here the state is unpacked once, where Python calls
    compiled code; from there on it is one pointer, and reading a field loads that field alone. Python holds the arrays
    while the call lasts, so the pointer needs no reference count; it cannot outlive the call, since no rule makes
    it a Python object.
    """

    def __init__(self, fields: tuple[types.Type, ...], instance_class: type) -> None:
        self.fields, self.instance_class = fields, instance_class
        inner = ", ".join(map(str, fields))
        super().__init__(f"Reference({instance_class.__module__}.{instance_class.__qualname__}: {inner})")

    @classmethod
    def of(cls, value: Any, context: Any) -> "Reference":
        """The type of a state."""
        return cls(tuple(typeof_impl(field, context) for field in value), type(value))

    @property
    def key(self) -> object:
        """What makes two such types the same."""
        return self.instance_class, self.fields

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        found: tuple[str, ...] = self.instance_class._fields  # type: ignore[attr-defined]
        return found


@register_model(Reference)
class _ReferenceModel(models.OpaqueModel):
    """A bare pointer: nothing is counted."""


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:  # type: ignore[override]
        return reference.fields[reference.names.index(name)] if name in reference.names else None


def _layout(context: Any, reference: Reference) -> ir.LiteralStructType:
    return ir.LiteralStructType([context.get_value_type(field) for field in reference.fields])


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    """Read one field; a reader of an array counts its own reference."""
    place = reference.names.index(name)
    fields = builder.bitcast(value, _layout(context, reference).as_pointer())
    loaded = builder.load(cgutils.gep_inbounds(builder, fields, 0, place))
    return impl_ret_borrowed(context, builder, reference.fields[place], loaded)


@unbox(Reference)
def _unpack(reference: Reference, value: Any, c: Any) -> NativeValue:
    """Unpack a NamedTuple into the frame of the call; its arrays are given back when the call ends."""
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    fields = cgutils.alloca_once(c.builder, _layout(c.context, reference))
    unpacked = []
    for place, kind in enumerate(reference.fields):
        native = c.unbox(kind, c.pyapi.tuple_getitem(value, place))
        with cgutils.if_unlikely(c.builder, native.is_error):
            c.builder.store(cgutils.true_bit, failed)
        c.builder.store(native.value, cgutils.gep_inbounds(c.builder, fields, 0, place))
        unpacked.append((kind, native))

    def give_back() -> None:
        for kind, native in reversed(unpacked):
            if native.cleanup is not None:
                native.cleanup()
            c.context.nrt.decref(c.builder, kind, native.value)

    pointer = c.builder.bitcast(fields, cgutils.voidptr_t)
    return NativeValue(pointer, cleanup=give_back, is_error=c.builder.load(failed))


class SafeGenerator(types.NumPyRandomGeneratorType):
    """A numpy Generator that enters compiled code straight from its capsule, without running any Python.

    numba's own way calls `ctypes.cast`, a Python function, three times for each Generator of each call, and does not
    look at what it gives. A signal handler that raises there (Ctrl-C, an alarm) leaves a null pointer behind: a crash.
    The capsule holds the same pointers, so the random numbers are the same; reading it takes C calls alone, in which
    Python runs no handler, and a fraction of the time. See docs/reference/known-issues.md.
    """


BIT_GENERATOR = types.NumPyRandomBitGeneratorType("bit_generator")
BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
"""numba's names for the first pointers of numpy's `bitgen_t`, in order."""


@register_model(SafeGenerator)
class _SafeGeneratorModel(models.StructModel):
    """The pointers alone: the caller holds the Generator while the call lasts."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("bit_generator", BIT_GENERATOR)])


@typeof_impl.register(np.random.Generator)
def _(value: Any, context: Any) -> SafeGenerator:
    return SafeGenerator("rng")


def _attribute(c: Any, owner: Any, name: str) -> Any:
    """A new reference, or null with an error of Python set; of null, null."""
    found = cgutils.alloca_once_value(c.builder, cgutils.get_null_value(c.pyapi.pyobj))
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, owner)):
        c.builder.store(c.pyapi.object_getattr_string(owner, name), found)
    return c.builder.load(found)


def _bitgen(c: Any, capsule: Any) -> Any:
    """The address of `bitgen_t`; null with an error of Python set if there is no such capsule."""
    text, address = cgutils.voidptr_t, cgutils.alloca_once_value(c.builder, cgutils.get_null_value(cgutils.voidptr_t))
    signature = ir.FunctionType(text, [c.pyapi.pyobj, text])
    read = cgutils.get_or_insert_function(c.builder.module, signature, "PyCapsule_GetPointer")
    name = c.context.insert_const_string(c.builder.module, "BitGenerator")
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, capsule)):
        c.builder.store(c.builder.call(read, [capsule, name]), address)
    return c.builder.load(address)


@unbox(SafeGenerator)
def _read_generator(kind: SafeGenerator, value: Any, c: Any) -> NativeValue:
    """The pointers of its bit generator; an error of Python if it has none."""
    inner = _attribute(c, value, "bit_generator")
    capsule = _attribute(c, inner, "capsule")
    bitgen = _bitgen(c, capsule)
    pointers = cgutils.create_struct_proxy(BIT_GENERATOR)(c.context, c.builder)
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, bitgen)):
        words = c.builder.bitcast(bitgen, c.context.get_value_type(types.uintp).as_pointer())
        for place, name in enumerate(BITGEN):
            setattr(pointers, name, c.builder.load(cgutils.gep_inbounds(c.builder, words, place)))
    c.pyapi.decref(capsule)
    c.pyapi.decref(inner)
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    native.bit_generator = pointers._getvalue()
    return NativeValue(native._getvalue(), is_error=cgutils.is_null(c.builder, bitgen))


for _thing in functions.known:
    register(_thing)
functions.announce.append(register)
