"""Command-line flags from a model of options."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from ..product.options import FLAG, Option, options_of

ENVIRONMENT = "CAUSAL_BANDITS_"
"""Prefix of all environment variables."""


def takes(model: Any, *, environment: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag for every option of a model, and an environment variable if asked for.

    The command gets the options that were given as keywords.
    """
    options = options_of(model)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        flags = []
        for name, option in options.items():
            shown = typer.Option(
                flag_of(name, option),
                help=option.help + default_words(model, name) + (" Repeat it for several." if option.kind.many else ""),
                metavar=option.kind.metavar or None,
                envvar=f"{ENVIRONMENT}{name.upper()}" if environment else None,
                show_envvar=False,
            )
            kind: Any = bool | None if option.kind is FLAG else list[str] | None if option.kind.many else str | None
            annotation = Annotated[kind, shown]
            flags.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))

        @wraps(command)
        def called(**given: Any) -> None:
            texts = {name: given.pop(name) for name in options}
            found = {name: text for name, text in texts.items() if text is not None and text != []}
            command(**given, **{name: _value(name, options[name], text) for name, text in found.items()})

        vars(called)["__signature__"] = signature.replace(parameters=[*own, *flags])
        return called

    return decorate


def flag_of(name: str, option: Option) -> str:
    """The flag of an option."""
    flag = option.flag or f"--{name.replace('_', '-')}"
    return f"{flag}/--no-{flag[2:]}" if option.kind is FLAG else flag


def default_words(model: Any, name: str) -> str:
    """The default of an option, where its model has one."""
    default = getattr(model, name, None)
    if isinstance(default, tuple):
        default = " ".join(default)
    return "" if default in (None, "", False) else f" [default: {default}]"


def _value(name: str, option: Option, text: Any) -> Any:
    return option.kind.from_text(name, text) if isinstance(text, str) else text
