"""Compiled operations with one implementation per type of state: a rule, a state and nothing else to edit.

numba compiles a caller once for every type of state it meets, and picks the implementation then; so one rollout serves
every rule, and costs what a rollout of its own would. States are NamedTuples of imported modules.
"""

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .compiled import by_type, compiled, compiled_here, interpreted

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

PACKAGE = __name__.partition(".")[0]


class Operation(Generic[P, R]):
    """What can be done with states of several types; the first argument is the state.

    >>> from typing import NamedTuple
    >>> class Coin(NamedTuple):
    ...     chance: float
    >>> @Operation
    ... def mean(state: Any) -> float:
    ...     ...
    >>> @mean.of(Coin)
    ... def mean_of_coin(state: Coin) -> float:
    ...     return state.chance
    >>> mean(Coin(0.25))
    0.25
    """

    def __init__(self, stub: Callable[P, R]) -> None:
        functools.update_wrapper(self, stub)
        self._implementations: dict[type, Callable[..., Any]] = {}
        self._otherwise: Callable[..., Any] | None = None
        by_type(self, self._find)

    def of(self, *states: type) -> Callable[[F], F]:
        """Say how it is done for states of these types; said again, the last word counts."""

        def register(function: F) -> F:
            self._implementations.update(dict.fromkeys(states, function))
            return function

        return register

    def otherwise(self, function: F) -> F:
        """Say how it is done for states of all other types."""
        self._otherwise = function
        return function

    def implementation(self, state: type) -> Callable[..., Any]:
        """How it is done for states of a type."""
        known = self._implementations
        return known[state] if self._otherwise is None else known.get(state, self._otherwise)

    def _find(self, *types: Any) -> Any:
        """For numba: the Python function to compile for these types of arguments."""
        found = self._implementations.get(getattr(types[0], "instance_class", type(None)), self._otherwise)
        return None if found is None else interpreted(found)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        """Do it, from Python."""
        return cast(R, self.implementation(type(arguments[0]))(*arguments, **options))


def generic(function: F) -> F:
    """Compile a function of any state that compiled functions call: it is kept with those, not by itself."""
    return compiled_here(function)


def entry(function: F) -> F:
    """Compile a function of any state that Python calls.

    It is kept on disk for the states of this package. One made elsewhere, say in a script, is compiled for this process
    alone: the next process might not find its type, and then could read nothing that is kept with it.
    """
    kept, here = compiled(function), compiled_here(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> object:
        # States come first: a policy's, and in a rollout that of a world.
        return (kept if all(_is_ours(each.__class__) for each in arguments[:2]) else here)(*arguments)

    vars(call).update(py_func=function, kept=kept, here=here)
    return cast(F, call)


@functools.lru_cache(maxsize=256)
def _is_ours(kind: type) -> bool:
    """Whether an argument of this type is no state, or one of this package."""
    return not hasattr(kind, "_fields") or kind.__module__.partition(".")[0] == PACKAGE
