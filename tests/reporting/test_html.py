"""HTML is made in one place: text comes back from it as it was given, and colors come from one theme."""

import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.core.markup import markup, tag
from causal_bandits.reporting import theme
from causal_bandits.reporting.html import page, sheet_table
from causal_bandits.reporting.sheets import Sheet

SOURCES = Path(theme.__file__).parents[1]
TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=30)


class Reader(HTMLParser):
    """Collects the elements with their attributes, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(TEXTS, TEXTS)
def test_text_and_attributes_come_back_as_they_were_given(text: str, title: str) -> None:
    read = Reader(tag("p", text, tag("b", text), at={"title": title}))
    assert read.elements == [("p", {"title": title}), ("b", {})]
    assert "".join(read.texts) == 2 * text


@given(st.lists(TEXTS, min_size=2, max_size=2))
def test_cells_are_text_unless_they_are_elements(cells: list[str]) -> None:
    link = tag("a", cells[0], at={"href": "#here"})
    read = Reader(sheet_table(Sheet("", cells[1], ("one", "two"), ((link, cells[1]),), (1,))))
    assert [name for name, _ in read.elements].count("td") == 2
    assert ("a", {"href": "#here"}) in read.elements
    assert ("td", {"class": "n"}) in read.elements
    assert "".join(read.texts) == "onetwo" + cells[0] + 2 * cells[1]


def test_a_page_has_its_parts_once_and_no_end_where_none_belongs() -> None:
    made = page("A & B", [tag("h1", "A & B"), "", "1 < 2", markup(["3 > 2"])])
    assert made.count("A &amp; B") == 2
    assert "1 &lt; 2" in made
    assert made.count("3 &gt; 2") == 1
    assert "</meta>" not in made
    assert "</link>" not in made


def test_colors_and_escaping_have_one_place_each() -> None:
    sources = {path.relative_to(SOURCES).as_posix(): path.read_text() for path in SOURCES.rglob("*.py")}
    colored = {name for name, text in sources.items() if re.search(r"#[0-9a-fA-F]{6}\b", text)}
    assert colored == {"reporting/theme.py"}
    assert {name for name, text in sources.items() if "from html import" in text} == {"core/markup.py"}
