"""Where lines break: not between a number and its standard error, and in long names only after a dot or underscore."""

import re
from typing import Any

ERROR = re.compile(r"(?<=[\d%]) ± (?=[\d.])")
NAME = re.compile(r'(?<=doc-object-name )([^"]*">)([\w.]+)')


def on_page_content(html: str, **_: Any) -> str:
    """Put non-breaking spaces around ±, and places to break a line into the names of the reference.

    >>> on_page_content('0.5 ± .1 <span class="doc doc-object-name doc-function-name">cb.load_policy</span>')
    '0.5\\xa0±\\xa0.1 <span class="doc doc-object-name doc-function-name">cb.<wbr>load_<wbr>policy</span>'
    """
    html = ERROR.sub("\u00a0±\u00a0", html)
    return NAME.sub(lambda found: found[1] + re.sub(r"([._])(?=\w)", r"\1<wbr>", found[2]), html)
