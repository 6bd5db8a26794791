"""Tables of pages in a browser: headings stand over their columns, no word is broken, nothing is cut off.

Long names of variables may be broken after an underscore.
"""

from pathlib import Path
from typing import Any

import numpy as np

import causal_bandits as cb
from tests.devtools import browser

from .servers import running

PROBLEM = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"], "account": 2},
    {"layout_of_the_product_detail_page": ["none", "grid with pictures"], "free_shipping": ["no", "yes"]},
    segments={"device": ["mobile", "desktop"]},
)
PAGES = ("", "/sets", "/funnel", "/decisions", "/decisions/7", "/health", "/compare")
MISALIGNED = """[...document.querySelectorAll('main table')].flatMap(table => {
  const left = cell => cell.getBoundingClientRect().left;
  const heads = [...table.querySelectorAll('thead th')], cells = [...(table.querySelector('tbody tr')?.children ?? [])];
  const shown = heads.filter((head, place) => cells[place] && head.offsetParent !== null);
  return shown.filter(head => Math.abs(left(head) - left(cells[heads.indexOf(head)])) > 1).map(head => head.innerText);
})"""
CUT_OFF = """[...document.querySelectorAll('section > .scroll, .legend')]
  .filter(each => each.scrollWidth > each.clientWidth + 1).length"""
BROKEN = r"""(() => {
  const found = [], texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.checkVisibility() || texts.currentNode.parentElement.closest('svg')) continue;
    for (const word of texts.currentNode.data.matchAll(/[^\W_]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(word[0]);
    }
  }
  return found;
})()"""


def outcome(number: int, rng: np.random.Generator) -> dict[str, Any]:
    clicked = int(rng.random() < 0.4)
    cart = "some" if clicked else "empty"
    return {"id": number, "clicked": clicked, "cart": cart, "account": clicked, "purchase": int(rng.random() < 0.2)}


def test_headings_stand_over_columns_and_words_are_whole(tmp_path: Path) -> None:
    storage, rng = f"sqlite:///{tmp_path}/studies.db", np.random.default_rng(0)
    study = cb.Study.create("checkout", PROBLEM, storage=storage, seed=3, control={})
    for device in ("mobile", "desktop"):
        made = study.ask(100, segment={"device": device})
        study.tell_many([outcome(each.id, rng) for each in made])
    other = cb.Study.create("other", PROBLEM, storage=storage, seed=4)
    other.close()
    with running() as server, browser(tmp_path) as page:
        address = server.serve(storage)
        for width in (1440, 1280, 390):
            page.resize(width)
            for path in PAGES:
                page.visit(f"{address}{path}" if path == "/compare" else f"{address}/studies/checkout{path}")
                assert page.run("document.querySelector('main').innerText.length") > 40
                assert page.run(BROKEN) == [], (width, path)
                assert width == 390 or page.run(MISALIGNED) == [], (width, path)
                assert page.run(CUT_OFF) == 0, (width, path)
        page.visit("about:blank")
    study.close()
