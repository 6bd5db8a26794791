"""Pages from templates; everything that is put into them is escaped."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from ..markup import printable
from .gate import in_path

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> jinja2.Environment:
    """The templates, with escaping everywhere and no names that are not given."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    made.filters["in_path"] = in_path
    made.filters["printable"] = printable
    return made


def render(template: str, /, **values: Any) -> str:
    """One page."""
    return environment().get_template(template).render(**values)
