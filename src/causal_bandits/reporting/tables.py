"""Tables for the terminal, made from summaries alone."""

from typing import Any

from rich.box import SIMPLE
from rich.table import Table


def regret_table(summary: dict[str, Any], rounds: list[int]) -> Table:
    """Regret with standard error, and relative to the baseline, at some rounds."""
    table = Table(title=summary["title"], title_justify="left", title_style="bold", caption_justify="left", box=SIMPLE)
    worlds = f"{summary['worlds']} worlds x " if summary["worlds"] > 1 else ""
    table.caption = (
        f"cumulative regret ± standard error over {worlds}{summary['runs']} runs, "
        "and relative to the policy marked 1 in the same worlds"
    )
    table.add_column("policy")
    table.add_column("told")
    for t in rounds:
        table.add_column(f"t = {t}", justify="right", no_wrap=True)
        table.add_column("relative", justify="right", no_wrap=True)
    for key, found in summary["series"].items():
        cells = []
        for t in rounds:
            at = found["t"].index(t)
            cells.append(f"{found['mean'][at]:.1f} ± {found['se'][at]:.1f}")
            is_baseline = key == found["baseline"]
            cells.append("1" if is_baseline else f"{found['ratio'][at]:.3f} ± {found['ratio_se'][at]:.3f}")
        table.add_row(found["label"], found["knows"], *cells)
    return table
