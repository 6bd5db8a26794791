"""Tables of routes and commands, in place of `<!-- routes of the server -->` and `<!-- commands -->`."""

import functools
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import typer.main

from causal_bandits.cli.root import app
from causal_bandits.product.service import ServiceSettings
from causal_bandits.product.service.app import create_app


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the tables of a page out."""
    for mark, table in (("routes of the server", routes_table), ("commands", commands_table)):
        place = f"<!-- {mark} -->"
        if place in markdown:
            markdown = markdown.replace(place, table())
    return markdown


@functools.cache
def routes_table() -> str:
    """Every route of the OpenAPI document with its first sentence."""
    with tempfile.TemporaryDirectory() as folder:
        document = create_app(ServiceSettings(f"sqlite:///{folder}/studies.db")).openapi()
    lines = ["| route | query | what it does |", "|---|---|---|"]
    for path, item in document["paths"].items():
        for method, about in item.items():
            query = ", ".join(f"`{each['name']}`" for each in about.get("parameters", []) if each["in"] == "query")
            lines.append(f"| `{method.upper()} {path}` | {query} | {_first_sentence(about['description'])} |")
    return "\n".join(lines)


def commands_table() -> str:
    """Every command with the first sentence of its help."""
    lines = ["| command | what it does |", "|---|---|"]
    lines += [f"| `causal-bandits {name}` | {says} |" for name, says in commands(typer.main.get_command(app))]
    return "\n".join(lines)


def commands(command: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The commands of a group and of the groups in it."""
    for each, found in command.commands.items():
        full = f"{name} {each}".strip()
        if hasattr(found, "commands"):
            yield from commands(found, full)
        else:
            yield full, _first_sentence(found.help)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0].replace("|", "\\|")
