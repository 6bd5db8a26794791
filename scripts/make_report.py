"""`python scripts/make_report.py [--pdf]`: docs/results/technical-report.md, and report.pdf of it (`make report`).

Every number of the report is read from the summaries in docs/results, which `scripts/make_results.py RESULTS` copies
from a folder that `reproduce` made, or is computed here from a world. A section without a summary says which command
makes it.
"""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import causal_bandits as cb
from causal_bandits.reporting.sheets import in_markdown
from causal_bandits.reporting.summary_plots import finding
from causal_bandits.reporting.summary_sheets import evidence, sheet_of
from causal_bandits.research.experiments import judge

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "results"
PAGE = KEPT / "technical-report.md"
PDF = ROOT / "report.pdf"
LONGEST = 48

ABSTRACT = """---
hide: [navigation, toc]
---

# Sharing through mediators, without knowing that they separate

A technical report for readers who want the whole argument in one place: model, limits, experiments, tails. It is
written by `make report` from the summaries in this folder; no number is typed.

**Abstract.** In many experiments, variables between the levers and the reward are seen: a visit before a purchase, an
application before a loan. Where a set of them makes the reward independent of the levers, all arms can learn its
conditional mean together. Nobody knows in advance which set does. The default policy averages over all sets and
learns how much arms differ given each.

We state what can be gained at best, show that without knowing the set nothing is gained in the long run, and measure
how much is gained at horizons that occur in practice, compared with oracles that are given more.
"""

MODEL = """## Model

Arms are combinations of levers. Playing arm a shows mediators and a reward Y of 0 or 1. A set S of mediators
*separates* if E[Y | S, a] does not depend on a. For every set, including the empty one, the policy fits

    E[Y | s, a] = m_s + b_s d_a,    d_a = effects of levers + deviation of the arm, or 0

with a grid of scales whose prior is that of 4,871 real tests (median .18 log-odds), a Dirichlet posterior of P(S |
a), and an average over sets by the precision of what they say about an arm ([the model on one
page](../explanation/model.md)). Arms are drawn by variance-based information-directed sampling from joint draws of
all means.
"""

LIMITS = """## Limits

A policy that is consistent has regret of at least C ln T: C_0 if nothing is known, C_S if S is known to separate, and
to second order C_S / C_0 = eta^2 = Var(E[Y | S]) / Var(Y) ([derivation](../explanation/limits.md)). Arm a has mean mu_a
and gap D_a to the best mean mu*; C_0 = sum_a D_a / kl(mu_a, mu*).
"""

SECTIONS = {
    "practice": "## Experiments: funnels, e-mails and loans",
    "late": "## Experiments: rewards that come late",
    "oracle": "## How far from a Bayes oracle",
    "tails": "## Tails",
}

END = """## Limits of this report

Funnels are simulated; two real experiments are replayed from their counts. Standard errors are between runs of the
same worlds where there are several runs of a world. Where a claim above does not hold or is inconclusive, it is marked
so. Related work and all comparators: [policies](../explanation/policies.md). Further measurements, including where
the default loses to Thompson Sampling: [the default policy, measured](measured.md), [every policy compared](field.md).
"""


def main() -> None:
    """Write the page, and with --pdf the document."""
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)} written")
    if "--pdf" in sys.argv[1:]:
        build()


def page() -> str:
    """The report."""
    return "\n".join([ABSTRACT, MODEL, LIMITS, eta_table(), proposition(), *map(section, SECTIONS), END])


def eta_table() -> str:
    """What the mediators of packaged worlds explain."""
    worlds = {
        "Hillstrom's e-mails": cb.worlds.hillstrom_world(),
        "loan offers": cb.worlds.loan_world(),
        "a funnel, 6 arms, 8%": cb.worlds.practice_world("mediated", rate=0.08, arms=6, seed=1),
    }
    rows = []
    for name, world in worlds.items():
        found = world.limits()
        rows.append(f"| {name} | {found.c0:.3g} | {found.cs:.3g} | {found.cs / found.c0:.3f} | {found.eta2:.3f} |")
    return "\n".join(["| world | C_0 | C_S | C_S / C_0 | eta^2 |", "|---|---:|---:|---:|---:|", *rows, ""])


def proposition() -> str:
    """The proposition and its proof, from the page that has them."""
    text = (ROOT / "docs/explanation/limits.md").read_text()
    return text[text.index("**Proposition.**") : text.index("∎") + 1] + "\n"


def section(figure: str) -> str:
    """One experiment: claims with their verdicts, then the table."""
    path = KEPT / f"{figure}.json"
    if not path.exists():
        return f"{SECTIONS[figure]}\n\nNot kept here; `causal-bandits reproduce {figure}` makes it.\n"
    summary: Any = json.loads(path.read_text())
    claims = [
        f"- {each.text} **{each.words}**\n" + "\n".join(f"    - {evidence(one)}" for one in each.measured)
        for each in judge(summary)
    ]
    sheet = sheet_of(summary)
    about = json.loads((KEPT / "manifest.json").read_text())["figures"].get(figure, {}).get("options", {})
    runs = f" --runs {about['runs']}" if about.get("runs") else ""
    command = f"causal-bandits reproduce {figure} --scale {about.get('scale', 'quick')}{runs} --seed {summary['seed']}"
    parts = [
        SECTIONS[figure],
        f"*{summary['question']}*",
        *(["\n".join(claims)] if claims else []),
        in_markdown(sheet._replace(rows=sheet.rows[:LONGEST])),
        f"{sheet.caption[:1].upper()}{sheet.caption[1:]}. Made by `{command}`.",
        f"![{finding(summary)}]({figure}.png)",
    ]
    return "\n\n".join(parts) + "\n"


def build() -> None:
    """A PDF by pandoc, or by weasyprint from HTML."""
    if shutil.which("pandoc"):
        made = subprocess.run(["pandoc", PAGE.name, "-o", str(PDF)], cwd=KEPT, check=False)
        if made.returncode == 0:
            print(f"{PDF.name} written by pandoc")
            return
    if find_spec("weasyprint") is not None and find_spec("markdown") is not None:
        import markdown
        import weasyprint

        html = markdown.markdown(PAGE.read_text(), extensions=["meta", "tables"])
        weasyprint.HTML(string=html, base_url=str(KEPT)).write_pdf(str(PDF))
        print(f"{PDF.name} written by weasyprint")
        return
    raise SystemExit(
        "no PDF was made: install pandoc with a LaTeX engine, or weasyprint and markdown "
        f"(python -m pip install weasyprint markdown); the report is in {PAGE.relative_to(ROOT)}"
    )


if __name__ == "__main__":
    main()
