"""Where lines break: not between a number and its error nor in a flag, and in long names after a dot or underscore."""

import re
from typing import Any

ERROR = re.compile(r"(?<=[\d%]) ± (?=[\d.])")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?![^<>]*>)")
CODE = re.compile(r"(<pre\b.*?</pre>)|<code>[^<]*</code>", re.DOTALL)
NAME = re.compile(r'(?<=doc-object-name )([^"]*">)([\w.]+)')
WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[._])(?=\w)")


def on_page_content(html: str, **_: Any) -> str:
    """Put non-breaking spaces around ±, keep flags whole, and let the names of the reference break between words.

    >>> on_page_content('0.5 ± .1 <span class="doc doc-object-name doc-function-name">cb.load_policy</span>')
    '0.5\\xa0±\\xa0.1 <span class="doc doc-object-name doc-function-name">cb.<wbr>load_<wbr>policy</span>'
    >>> on_page_content("<code>plan --rate 0.1</code>")
    '<code>plan <span class="flag">--rate</span> 0.1</code>'
    """
    html = ERROR.sub("\u00a0±\u00a0", html)
    html = CODE.sub(lambda found: found[1] or FLAG.sub(r'<span class="flag">\g<0></span>', found[0]), html)
    return NAME.sub(lambda found: found[1] + WORDS.sub("<wbr>", found[2]), html)
