"""How a numpy Generator enters compiled code: straight from its capsule, without running any Python.

numba's own way calls `ctypes.cast`, a Python function, three times for each Generator of each call, and does not look
at what it gives. A signal handler that raises there (Ctrl-C, an alarm) leaves a null pointer behind: the interpreter
crashes. The capsule holds the same pointers, so the random numbers are the same; reading it takes C calls alone, in
which Python runs no handler, and a fraction of the time. See docs/known-issues.md.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any

from llvmlite import ir
from numba.core import cgutils, pythonapi, types
from numba.extending import NativeValue

GENERATOR, BIT_GENERATOR = types.NumPyRandomGeneratorType, types.NumPyRandomBitGeneratorType
BITGEN = ("state", "next_uint64", "next_uint32", "next_double")
"""The first pointers of numpy's `bitgen_t`, in order."""


def _field(name: str) -> str:
    return name if name == "state" else f"fnptr_{name}"


def _attribute(c: Any, owner: Any, name: str, failed: Any) -> Any:
    """A new reference, or null with the error noted; of null, null."""
    found = cgutils.alloca_once_value(c.builder, cgutils.get_null_value(c.pyapi.pyobj))
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, owner)):
        c.builder.store(c.pyapi.object_getattr_string(owner, name), found)
    value = c.builder.load(found)
    with cgutils.if_unlikely(c.builder, cgutils.is_null(c.builder, value)):
        c.builder.store(cgutils.true_bit, failed)
    return value


def _bitgen(c: Any, capsule: Any, failed: Any) -> Any:
    """The address of `bitgen_t`; null with the error noted where there is no such capsule."""
    text, address = cgutils.voidptr_t, cgutils.alloca_once_value(c.builder, cgutils.get_null_value(cgutils.voidptr_t))
    signature = ir.FunctionType(text, [c.pyapi.pyobj, text])
    read = cgutils.get_or_insert_function(c.builder.module, signature, "PyCapsule_GetPointer")
    name = c.context.insert_const_string(c.builder.module, "BitGenerator")
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, capsule)):
        c.builder.store(c.builder.call(read, [capsule, name]), address)
    value = c.builder.load(address)
    with cgutils.if_unlikely(c.builder, cgutils.is_null(c.builder, value)):
        c.builder.store(cgutils.true_bit, failed)
    return value


def unbox_bit_generator(typ: Any, obj: Any, c: Any) -> NativeValue:
    """The pointers of a bit generator; an error of Python where it has none."""
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    native = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    native.parent = obj
    capsule = _attribute(c, obj, "capsule", failed)
    bitgen = _bitgen(c, capsule, failed)
    word = c.context.get_value_type(types.uintp)
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, bitgen)):
        words = c.builder.bitcast(bitgen, word.as_pointer())
        for place, name in enumerate(BITGEN):
            pointer = c.builder.load(cgutils.gep_inbounds(c.builder, words, place))
            setattr(native, _field(name), pointer)
        native.state_address = native.state
    c.pyapi.decref(capsule)
    return NativeValue(native._getvalue(), is_error=c.builder.load(failed))


def unbox_generator(typ: Any, obj: Any, c: Any) -> NativeValue:
    """The pointers of its bit generator, and a reference that keeps it alive during the call."""
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    native = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    native.parent = obj
    inner = _attribute(c, obj, "bit_generator", failed)
    unboxed = c.unbox(BIT_GENERATOR("bit_generator"), inner)
    native.bit_generator = unboxed.value
    with cgutils.if_unlikely(c.builder, unboxed.is_error):
        c.builder.store(cgutils.true_bit, failed)
    with cgutils.if_likely(c.builder, c.builder.not_(c.builder.load(failed))):
        native.meminfo = c.pyapi.nrt_meminfo_new_from_pyobject(cgutils.voidptr_t(None), obj)
    c.pyapi.decref(inner)
    return NativeValue(native._getvalue(), is_error=c.builder.load(failed))


@lru_cache(maxsize=1)
def install() -> None:
    """Replace numba's unboxing, in its registry since `numba.extending.unbox` refuses a second rule for a type.

    Called before the first function is compiled, not on import: numba's own rules take a while to import.
    """
    import_module("numba.core.boxing")
    rules: dict[Any, Any] = getattr(getattr(pythonapi, "_unboxers", None), "functions", {})
    for kind, ours in ((BIT_GENERATOR, unbox_bit_generator), (GENERATOR, unbox_generator)):
        if kind in rules:
            rules[kind] = ours
