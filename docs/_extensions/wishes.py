"""For the API reference: keywords that a typed dictionary lists stand in the signature, each with its type."""

from typing import Any

import griffe


class Wishes(griffe.Extension):
    """Writes `**wishes: Unpack[Wishes]` out."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the signatures of a package, all of whose modules are known now."""
        self._write_out(pkg)

    def _write_out(self, scope: griffe.Module | griffe.Class) -> None:
        for member in scope.members.values():
            if isinstance(member, griffe.Module | griffe.Class):
                self._write_out(member)
            elif isinstance(member, griffe.Function):
                for parameter in list(member.parameters):
                    if str(parameter.annotation).startswith("Unpack["):
                        _write_out(member, parameter)


def _write_out(function: griffe.Function, parameter: griffe.Parameter) -> None:
    annotation: Any = parameter.annotation
    listed = function.modules_collection[annotation.slice.canonical_path]
    del function.parameters[parameter.name]
    for wish in listed.attributes.values():
        function.parameters.add(
            griffe.Parameter(
                wish.name, annotation=wish.annotation, kind=griffe.ParameterKind.keyword_only, default="None"
            )
        )
