"""Keeps a number and its standard error on one line: a table may break a line at any other space."""

import re
from typing import Any

ERROR = re.compile(r"(?<=[\d%]) ± (?=[\d.])")


def on_page_content(html: str, **_: Any) -> str:
    """Put non-breaking spaces around ±."""
    return ERROR.sub("\u00a0±\u00a0", html)
