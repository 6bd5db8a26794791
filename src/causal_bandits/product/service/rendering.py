"""Pages from templates; everything that is put into them is escaped."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from ...core.markup import Markup, braces, breaks, chance_words, in_path, number, printable, through_words, weight_words
from ...core.serialization import to_json
from ...reporting import charts
from ...reporting.axes import RATE
from ...reporting.sheets import evidence_of, pending_words, state_of
from ...reporting.text import short
from .pages.views import arm_name, segment_name

HERE = Path(__file__).parent
STATIC = HERE / "static"


def progress(share: float) -> Markup:
    """A bar that fills up."""
    return charts.bars([(share, "own"), (1 - share, "rest")], f"{share:.0%}")


@cache
def environment() -> jinja2.Environment:
    """The templates, with escaping everywhere and no names that are not given."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        {each.__name__: each for each in (in_path, printable, short, braces, breaks, progress, number)},
        rate=RATE.show,
        key=charts.key,
        pending=pending_words,
        through=through_words,
        chance=chance_words,
        weight=weight_words,
        state=state_of,
        evidence=evidence_of,
        json=to_json,
    )
    made.globals.update(infinity=math.inf, arm_name=arm_name, problem_segment=segment_name)
    return made


def render(template: str, /, **values: Any) -> str:
    """One page; control characters in names are spelled out wherever they are, in tooltips too."""
    return printable(environment().get_template(template).render(**values), keep="\n\t")
