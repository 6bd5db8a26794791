"""States that compiled code reads through a pointer.

numba passes a NamedTuple by value: a function that takes a state of thirty arrays has three hundred arguments, and
counts thirty references up and down even where it reads one number. That was most of what there was to compile. A
class marked `by_reference` is unpacked once, where Python calls compiled code; from there on the state is one pointer,
and reading a field loads that field alone. Python holds the arrays while the call lasts, so the pointer needs no
reference count; and it cannot outlive the call, since no rule turns it into a Python object.
"""

from typing import Any, TypeVar

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

K = TypeVar("K", bound=type)


class Reference(types.Type):
    """The type of a NamedTuple that is passed as a pointer to its fields."""

    def __init__(self, fields: tuple[types.Type, ...], instance_class: type) -> None:
        self.fields, self.instance_class = fields, instance_class
        inner = ", ".join(map(str, fields))
        super().__init__(f"Reference({instance_class.__module__}.{instance_class.__qualname__}: {inner})")

    @property
    def key(self) -> object:
        """What makes two such types the same."""
        return self.instance_class, self.fields

    def place(self, name: str) -> int:
        """Which field has a name."""
        names: tuple[str, ...] = self.instance_class._fields  # type: ignore[attr-defined]
        return names.index(name)


def by_reference(state: K) -> K:
    """Have compiled code take NamedTuples of this class as a pointer. It cannot make or return them."""

    @typeof_impl.register(state)
    def _(value: Any, context: Any) -> Reference:
        return Reference(tuple(typeof_impl(field, context) for field in value), state)

    return state


@register_model(Reference)
class _ReferenceModel(models.OpaqueModel):
    """A bare pointer: nothing is counted."""


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:  # type: ignore[override]
        names: tuple[str, ...] = reference.instance_class._fields  # type: ignore[attr-defined]
        return reference.fields[reference.place(name)] if name in names else None


def _layout(context: Any, reference: Reference) -> ir.LiteralStructType:
    return ir.LiteralStructType([context.get_value_type(field) for field in reference.fields])


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    """Read one field; a reader of an array counts its own reference."""
    place = reference.place(name)
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
