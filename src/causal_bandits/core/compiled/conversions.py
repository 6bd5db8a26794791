"""How states and Generators enter compiled code: the one module that uses numba's low-level extension API.

numba's own conversions work, but not well enough here:

- It passes a NamedTuple by value, and counts references to all its arrays at every call: a round takes three times as
  long (docs/reference/known-issues.md). A `Reference` is a pointer to the fields.
- It converts a Generator by calling `ctypes.cast`, a Python function, and does not check the result. If Ctrl-C or an
  alarm raises there, the process crashes (docs/reference/known-issues.md). Blocking signals during the call does not
  help: another thread may receive them, and Python runs the handler in the main thread all the same. A
  `SafeGenerator` is read by C calls alone, during which Python runs no handler.

Nothing else in this package depends on how numba represents values.
"""

from contextlib import ExitStack
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)


class Reference(types.Type):
    """A pointer to the fields of a state, which are unpacked once, where Python calls compiled code.

    Python holds the arrays while the call lasts, so nothing is counted. The pointer cannot outlive the call: there is
    no conversion back to Python.
    """

    def __init__(self, fields: tuple[types.Type, ...], instance_class: type) -> None:
        self.fields, self.instance_class = fields, instance_class
        inner = ", ".join(map(str, fields))
        super().__init__(f"Reference({instance_class.__module__}.{instance_class.__qualname__}: {inner})")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        found: tuple[str, ...] = self.instance_class._fields  # type: ignore[attr-defined]
        return found

    def layout(self, context: Any) -> ir.LiteralStructType:
        """What the pointer points to."""
        return ir.LiteralStructType([context.get_value_type(field) for field in self.fields])


def pass_by_reference(state: type) -> None:
    """Have compiled code take NamedTuples of this class as a `Reference`."""

    @typeof_impl.register(state)
    def _(value: Any, context: Any) -> Reference:
        return Reference(tuple(typeof_impl(field, context) for field in value), state)


register_model(Reference)(models.OpaqueModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:  # type: ignore[override]
        return reference.fields[reference.names.index(name)] if name in reference.names else None


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    """Read one field; a reader of an array counts its own reference."""
    place = reference.names.index(name)
    fields = builder.bitcast(value, reference.layout(context).as_pointer())
    loaded = builder.load(cgutils.gep_inbounds(builder, fields, 0, place))
    return impl_ret_borrowed(context, builder, reference.fields[place], loaded)


@unbox(Reference)
def _unpack(reference: Reference, value: Any, c: Any) -> NativeValue:
    """Unpack a NamedTuple into the frame of the call; its arrays are given back when the call ends."""
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    fields = cgutils.alloca_once(c.builder, reference.layout(c.context))
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


BIT_GENERATOR = types.NumPyRandomBitGeneratorType("bit_generator")
BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
"""numba's names for the first pointers of numpy's `bitgen_t`, in order."""


class SafeGenerator(types.NumPyRandomGeneratorType):
    """A Generator as the pointers of its bit generator; the caller holds the Generator while the call lasts."""


@register_model(SafeGenerator)
class _SafeGeneratorModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("bit_generator", BIT_GENERATOR)])


@typeof_impl.register(np.random.Generator)
def _(value: Any, context: Any) -> SafeGenerator:
    return SafeGenerator("rng")


@unbox(SafeGenerator)
def _read_generator(kind: SafeGenerator, value: Any, c: Any) -> NativeValue:
    """Read the pointers from `value.bit_generator.capsule`; what cannot be read is an error of Python."""
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    pointers = cgutils.create_struct_proxy(BIT_GENERATOR)(c.context, c.builder)
    signature = ir.FunctionType(cgutils.voidptr_t, [c.pyapi.pyobj, cgutils.voidptr_t])
    get_pointer = cgutils.get_or_insert_function(c.builder.module, signature, "PyCapsule_GetPointer")
    with ExitStack() as stack:
        inner = c.pyapi.object_getattr_string(value, "bit_generator")
        with cgutils.early_exit_if_null(c.builder, stack, inner):
            pass
        capsule = c.pyapi.object_getattr_string(inner, "capsule")
        c.pyapi.decref(inner)
        with cgutils.early_exit_if_null(c.builder, stack, capsule):
            pass
        name = c.context.insert_const_string(c.builder.module, "BitGenerator")
        address = c.builder.call(get_pointer, [capsule, name])
        c.pyapi.decref(capsule)
        with cgutils.early_exit_if_null(c.builder, stack, address):
            pass
        words = c.builder.bitcast(address, c.context.get_value_type(types.uintp).as_pointer())
        for place, field in enumerate(BITGEN):
            setattr(pointers, field, c.builder.load(cgutils.gep_inbounds(c.builder, words, place)))
        native.bit_generator = pointers._getvalue()
        c.builder.store(cgutils.false_bit, failed)
    return NativeValue(native._getvalue(), is_error=c.builder.load(failed))
