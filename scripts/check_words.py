"""`python scripts/check_words.py`: refuse retired words and British spelling where people read (part of `make check`).

Reads pages, notebooks, templates, the help of the Makefile, and in the source docstrings, comments and texts such as
help and error messages.
Text in backticks and blocks of code are names, not prose, and are left alone.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
RETIRED = {
    r"go(es|ing)? by\b(?! (car|plane|train))": "is chosen by, is named by",
    r"go(es|ing)? on\b": "continue, keep going",
    r"(stand|stands|standing|stood) beside": "is next to",
    r"hangs? on": "depends on",
    r"(has|have|had) (a|no) say": "counts, is ignored",
    r"as far as": "to the extent that, where",
    r"what is (stated|so|said)": "name the thing",
    r"dear(er|est)?": "expensive, costly",
    r"by hand": "manually, yourself",
    r"of (its|their|his|her|your|our) own(?! (rows|segment|size|cells|arrows|decisions|uniform))": "its own, separate",
    r"beforehand": "before, a priori, prior",
    r"anew": "again",
    r"so many": "this many, that number of",
    r"lies? around": "any",
    r"in the end": "finally, or leave it out",
    r"patiently": "with retries",
    r"wish(es)?": "option",
    r"taken for": "treated as",
    r"plainly": "clearly",
    r"damaged": "corrupt",
    r"whilst": "while",
    r"mend(s|ed|ing)?": "fix",
    r"in vain": "falsely, without effect",
    r"for good(?! enough)": "permanently",
    r"for ever": "forever",
    r"by turns": "alternating, in turn",
    r"be it as": "even as",
    r"judged (through|by)": "estimated through, compared by",
    r"one (looks|likes)": "you look, you like",
    r"tak(es?|ing) away": "remove",
    r"(came|comes?) about": "over time, develop",
    r"what (came|comes) of": "the outcome of",
    r"speaks? (for|against)": "is evidence for, against",
    r"(says?|said) of (it|them|him)": "says about it",
    r"what is believed": "the estimates",
    r"patience": "retries, a longer wait",
    r"settle[sd]?": "record, fit, converge or commit",
    r"safe[- ]ts(?!-)": "the default policy, `safe`",
    r"served stud(y|ies)": "study in high-throughput mode",
    r"(no|a) lever moved": "the control",
}
BRITISH = {
    r"learnt": "learned",
    r"\w*colour\w*": "color",
    r"analys(e|es|ed|er|ers|ing)": "analyze",
    r"\w*behaviour\w*": "behavior",
    r"neighbour\w*": "neighbor",
    r"cent(re|res|red|ring)": "center",
    r"\w*favour\w*": "favor",
    r"honour\w*": "honor",
    r"grey\w*": "gray",
    r"label(led|ling)": "labeled",
    r"relabel(led|ling)": "relabeled",
    r"model(led|ling)": "modeled",
    r"cancel(led|ling)": "canceled",
    r"signal(led|ling)": "signaled",
    r"judgement\w*": "judgment",
    r"catalogue\w*": "catalog",
    r"artefact\w*": "artifact",
    r"licence\w*": "license",
    r"defence\w*": "defense",
    r"fulfil(s|led)?": "fulfill",
    r"\w*(?:random|maxim|minim|normal|optim|summar|neutral|recogn|synchron|real|vector|serial|initial|organ|penal"
    r"|general|character|categor|discret|marginal|factor|linear|standard|parameter|regular|local|final|visual|emphas"
    r"|stabil|token|util)is(e|es|ed|ing|er|ers|ation|ations)": "-ize",
}
MARKS = {r"\d %(?!})": "percent without a space: 5%"}
"""What is refused, and what to write instead."""
PATTERN = {
    re.compile(rf"\b(?:{word})\b".replace(" ", r"\s+") if word not in MARKS else word, re.IGNORECASE): better
    for word, better in {**RETIRED, **BRITISH, **MARKS}.items()
}
GUIDES = {**PATTERN, re.compile(r"\btold\b", re.IGNORECASE): "given, reported"}
"""For how-to guides and tutorials; elsewhere `told` is also the name of an event and of a function."""
ALLOWED = re.compile(r"realisable|promised?|precis\w+|otherwise|likewise|wise|exercise", re.IGNORECASE)
NAMES = re.compile(r"`[^`\n]*`|https?://\S+|\]\([^)]*\)|%\(\w+\)s|\[`[^\]]*\]\[[^\]]*\]")
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"^>.*$", re.MULTILINE)
Found = tuple[int, str, str]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def found_in(text: str, *, first: int = 1, patterns: Mapping[re.Pattern[str], str] = PATTERN) -> Iterator[Found]:
    """The line, the word and what to write instead, for every word that is refused.

    >>> list(found_in("It is learnt anew; `learnt` is a name."))
    [(1, 'anew', 'again'), (1, 'learnt', 'learned')]
    """
    prose = NAMES.sub(_blank, text)
    for pattern, better in patterns.items():
        for match in pattern.finditer(prose):
            if not ALLOWED.fullmatch(match[0]):
                yield first + prose[: match.start()].count("\n"), match[0], better


def in_page(text: str, patterns: Mapping[re.Pattern[str], str] = PATTERN) -> Iterator[Found]:
    """A Markdown page or a template: all but blocks of code."""
    yield from found_in(FENCE.sub(_blank, text), patterns=patterns)


def in_notebook(text: str, patterns: Mapping[re.Pattern[str], str] = PATTERN) -> Iterator[Found]:
    """The Markdown cells of a notebook."""
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            yield from in_page("".join(cell["source"]), patterns)


def in_makefile(text: str) -> Iterator[Found]:
    """The help of targets.

    >>> list(in_makefile("all: setup ## Build it anew\\n\\t@echo anew\\n"))
    [(1, 'anew', 'again')]
    """
    for line, each in enumerate(text.splitlines(), 1):
        yield from found_in(each.partition("## ")[2], first=line)


def in_source(text: str) -> Iterator[Found]:
    """Docstrings, comments, and texts of more than one word in Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            examples = re.sub(r"^ *(>>>|\.\.\. ).*$", _blank, node.value, flags=re.MULTILINE)
            yield from found_in(examples, first=node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from found_in(token.string, first=token.start[0])


READERS = {".md": in_page, ".html": in_page, ".yml": in_page, ".ipynb": in_notebook, ".py": in_source, "": in_makefile}


def in_file(path: Path) -> Iterator[Found]:
    """What is refused in a file, by its kind and folder."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".md", ".ipynb") and path.parent in (ROOT / "docs/how-to", ROOT / "docs/tutorials"):
        return (in_page if path.suffix == ".md" else in_notebook)(text, GUIDES)
    return READERS[path.suffix](text)


def files() -> list[Path]:
    """What people read."""
    folders = [ROOT / name for name in ("docs", "src", "benchmarks", "scripts", "examples", ".github")]
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix and path.suffix in READERS]
    every = (ROOT / "Makefile", *sorted(ROOT.glob("*.md")), *found)
    return [path for path in every if path != Path(__file__)]


def main() -> None:
    """Print what is refused; the exit code says whether anything was."""
    refused = 0
    for path in files():
        for line, word, better in sorted(in_file(path)):
            print(f"{path.relative_to(ROOT)}:{line}: {word!r}: write {better}")
            refused += 1
    sys.exit(f"{refused} words are refused; see scripts/check_words.py" if refused else 0)


if __name__ == "__main__":
    main()
