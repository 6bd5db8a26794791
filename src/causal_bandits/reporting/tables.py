"""Tables for the terminal, made from summaries alone."""

from typing import Any

from rich.box import SIMPLE
from rich.table import Table


def regret_table(summary: dict[str, Any], rounds: list[int]) -> Table:
    """Regret with standard error, and relative to the baseline, at some rounds."""
    table = Table(title=summary["title"], title_justify="left", title_style="bold", caption_justify="left", box=SIMPLE)
    table.caption = (
        f"cumulative regret ± standard error over {summary['worlds']} worlds x {summary['runs']} runs, "
        f"and relative to {summary['series'][summary['baseline']]['label']}"
    )
    table.add_column("policy")
    table.add_column("told")
    for t in rounds:
        table.add_column(f"t = {t}", justify="right", no_wrap=True)
        table.add_column("relative", justify="right", no_wrap=True)
    for key, series in summary["series"].items():
        cells = []
        for t in rounds:
            at = series["t"].index(t)
            cells.append(f"{series['mean'][at]:.1f} ± {series['se'][at]:.1f}")
            is_baseline = key == summary["baseline"]
            cells.append("1" if is_baseline else f"{series['ratio'][at]:.2f} ± {series['ratio_se'][at]:.2f}")
        table.add_row(series["label"], series["knows"], *cells)
    return table
