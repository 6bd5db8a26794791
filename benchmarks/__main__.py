"""`python -m benchmarks`: measure, print, write results.json.

`python -m benchmarks high-throughput start` measures the named parts alone. What a part measured is written as soon
as it is done; figures of the other parts stay as they are.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from causal_bandits.core.files import replacing

from .asd import discovering
from .experiments import spreading
from .gaussian import gaussian_rounds
from .high_throughput import high_throughput
from .peers import against_mabwiser, against_river
from .pending import pending_rows
from .rounds import against_literal, growth, larger_problems, safe_against_paper, subsets
from .scale import largest_factorial
from .service import service
from .start import starting
from .studies import studies
from .tests_speed import testing

RESULTS = Path(__file__).with_name("results.json")

TARGETS = {
    "causal_round_vs_river_ts_ratio": ("at least", 2.0),
    "causal_round_vs_literal_ratio": ("at least", 1500.0),
    "ask_tell_vs_mabwiser_ratio": ("at least", 1.0),
    "round_growth_1e3_1e5_ratio": ("at least", 0.8),
    "safe_round_vs_paper_ratio": ("at least", 1 / 1.5),
    "factorial_6561_round_ms": ("at most", 100.0),
    "factorial_6561_discovery_round_ms": ("at most", 100.0),
    "g2_tests_per_ms": ("at least", 100.0),
    "asd_features_ms": ("at most", 5.0),
    "asd_vs_asp_ratio": ("at least", 100.0),
    "asd_discovery_ms": ("at most", 15.0),
    "asd_table_s": ("at most", 3.0),
    "asd_table_mb": ("at most", 200.0),
    "gaussian_round_vs_plain_ratio": ("at least", 0.1),
    "gaussian_round_vs_literal_ratio": ("at least", 200.0),
    "gaussian_round_growth_1e3_1e5_ratio": ("at least", 0.8),
    "two_processes_vs_one_ratio": ("at least", 1.7),
    "storing_overhead_percent": ("at most", 5.0),
    "study_vs_optuna_ratio": ("at least", 10.0),
    "study_vs_bare_sqlalchemy_ratio": ("at least", 0.5),
    "study_ask_growth_1e2_1e5_ratio": ("at least", 0.8),
    "study_load_1e5_s": ("at most", 2.0),
    "safe_pending_tell_vs_whole_ratio": ("at least", 1.0),
    "paper_pending_tell_vs_whole_ratio": ("at least", 1.0),
    "service_ask_p99_vs_median_ratio": ("at most", 10.0),
    "service_page_1e5_ms": ("at most", 300.0),
    "service_page_1e5_kb": ("at most", 150.0),
    "service_8_clients_lost_or_doubled": ("at most", 0.0),
    "service_start_s": ("at most", 3.0),
    "high_throughput_vs_transactional_ratio": ("at least", 5.0),
    "first_use_compile_s": ("at most", 20.0),
    "warm_start_s": ("at most", 3.0),
}
PARTS: dict[str, tuple[str, Callable[[], dict[str, float]]]] = {
    "river": ("against river (27 arms, 8 subsets accepted)", against_river),
    "literal": ("against the literal Algorithm 1", against_literal),
    "mabwiser": ("against MABWiser", against_mabwiser),
    "growth": ("early and late rounds", growth),
    "safe": ("the safe policy and the paper's (27 arms, T = 2000)", safe_against_paper),
    "factorial": ("a factorial with 3^8 arms (8 observed)", largest_factorial),
    "tests": ("independence tests", testing),
    "asd": ("causal discovery (ASD-JCI123kt)", discovering),
    "gaussian": ("real-valued rewards (Sachs, 8 arms, 4 variables)", gaussian_rounds),
    "pending": ("rows whose reward is pending (6 arms)", pending_rows),
    "larger": ("larger problems", larger_problems),
    "processes": ("an experiment over two processes, and storing it", spreading),
    "start": ("a fresh process", starting),
    "studies": ("studies (27 arms, 8 sets; durable on SQLite)", studies),
    "service": ("studies over HTTP and the library (6 arms; durable on SQLite)", service),
    "high-throughput": ("high-throughput and transactional studies (6 arms; PostgreSQL, 4 workers)", high_throughput),
}


def verdict(name: str, value: float) -> str:
    """What was wanted, and whether it is so."""
    if name not in TARGETS:
        return ""
    which, target = TARGETS[name]
    met = value >= target if which == "at least" else value <= target
    return f"{which} {target:g}: " + ("[green]met[/]" if met else "[red]missed[/]")


def show_results(console: Console, results: dict[str, float]) -> None:
    """All numbers but those of the larger problems."""
    table = Table("name", "value", "wanted", title="A ratio above 1 means ours is better")
    table.columns[1].justify = "right"
    for name, value in results.items():
        if not name.endswith(("_n4", "_n5", "_n6", "_n8")):
            table.add_row(name, f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", verdict(name, value))
    console.print(table)


def show_problems(console: Console, results: dict[str, float]) -> None:
    """One row per size of problem."""
    table = Table("nodes", "arms", "subsets", "round, µs", "discovery, ms", "tables, MB", "all state, MB")
    for nodes in (4, 5, 6, 8):
        columns = [f"{results[f'{name}_n{nodes}']:,.2f}" for name in ("round_us", "discovery_ms")]
        columns += [f"{results[f'{name}_n{nodes}']:,.2f}" for name in ("tables_mb", "state_mb")]
        table.add_row(str(nodes), str(3 ** (nodes - 1)), str(subsets(nodes)), *columns)
    console.print(table)


def keep(results: dict[str, float]) -> None:
    """Add figures to those in the file, or replace them; in one step, so that the file is always whole."""
    kept: dict[str, float] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept |= {name: float(f"{value:.4g}") for name, value in results.items()}
    with replacing(RESULTS) as path:
        path.write_text(json.dumps(kept, indent=2) + "\n")


def main(names: list[str]) -> int:
    """Measure everything, or the named parts; a few minutes."""
    console = Console()
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        console.print(f"{unknown[0]!r} is not a part; choose from {', '.join(PARTS)}")
        return 2
    results: dict[str, float] = {}
    for name in names or PARTS:
        title, measure = PARTS[name]
        console.print(f"measuring {title}")
        found = measure()
        keep(found)
        results |= found
    show_results(console, results)
    if "round_us_n4" in results:
        show_problems(console, results)
    console.print(f"written to {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
