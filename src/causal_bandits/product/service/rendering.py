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
from .pages.views import arm_name, segment_name, short

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
    made.filters["in_path"] = in_path
    made.filters["printable"] = printable
    made.filters["short"] = short
    made.filters["braces"] = braces
    made.filters["breaks"] = breaks
    made.filters["key"] = charts.key
    made.filters["share"] = progress
    made.filters["progress"] = progress
    made.filters["pending"] = pending_words
    made.filters["through"] = through_words
    made.filters["chance"] = chance_words
    made.filters["number"] = number
    made.filters["weight"] = weight_words
    made.filters["state"] = state_of
    made.filters["json"] = to_json
    made.filters["rate"] = RATE.show
    made.filters["evidence"] = evidence_of
    made.globals["infinity"] = math.inf
    made.globals["arm_name"] = arm_name
    made.globals["problem_segment"] = segment_name
    return made


def render(template: str, /, **values: Any) -> str:
    """One page; control characters in names are spelled out wherever they are, in tooltips too."""
    return printable(environment().get_template(template).render(**values), keep="\n\t")
