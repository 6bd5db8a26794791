"""Who draws what: objects of lower rooms are drawn by `reporting`, which alone knows how, and registers itself here."""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_DRAWERS: dict[str, Callable[..., Any]] = {}


def draws(what: str) -> Callable[[F], F]:
    """Register the function that draws one kind of thing."""

    def registered(function: F) -> F:
        _DRAWERS[what] = function
        return function

    return registered


def drawn(what: str, *arguments: Any, **options: Any) -> Any:
    """Draw; the answer is matplotlib's axes."""
    return _DRAWERS[what](*arguments, **options)
