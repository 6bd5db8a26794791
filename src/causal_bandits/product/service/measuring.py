"""/metrics in the text format of Prometheus. Each process has its own counters; `worker` is its number."""

import bisect
import os
import threading
from collections import Counter
from collections.abc import Mapping

from ..._version import __version__
from ..studies import Staleness

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
Labels = tuple[tuple[str, str], ...]


class Measures:
    """Counters of one process."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.streams = 0
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._done: Counter[str] = Counter()

    def count(self, what: str, number: int = 1) -> None:
        """Something that was done: decisions, outcomes."""
        with self._lock:
            self._done[what] += number

    def request(self, route: str, method: str, status: int | None, seconds: float) -> None:
        """One request; a route is known by its pattern, never by the names in it."""
        method = method if method in METHODS else "other"
        self._requests[route, method, status or 499] += 1
        sums = self._seconds.get((route, method))
        if sums is None:
            sums = self._seconds.setdefault((route, method), [0.0] * (len(BOUNDS) + 2))
        sums[bisect.bisect_left(BOUNDS, seconds)] += 1
        sums[-1] += seconds

    def text(self, gauges: Mapping[str, float], stale: Mapping[str, Staleness] | None = None) -> str:
        """All of it; `stale` are the studies in high-throughput mode that this process decides for."""
        worker = ("worker", str(os.getpid()))
        lines = [
            "# TYPE causal_bandits_info gauge",
            _line("info", (("version", __version__), worker), 1),
            "# TYPE causal_bandits_requests_total counter",
            *(
                _line("requests_total", (*_labels(route, method), ("status", str(status)), worker), count)
                for (route, method, status), count in sorted(self._requests.items())
            ),
            "# TYPE causal_bandits_request_seconds histogram",
        ]
        for (route, method), sums in sorted(self._seconds.items()):
            labels, seen = _labels(route, method), 0.0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), sums, strict=False):
                seen += count
                lines.append(_line("request_seconds_bucket", (*labels, ("le", bound), worker), seen))
            lines.append(_line("request_seconds_sum", (*labels, worker), sums[-1]))
            lines.append(_line("request_seconds_count", (*labels, worker), seen))
        with self._lock:
            done = sorted(self._done.items())
        for what, number in done:
            lines += [f"# TYPE causal_bandits_{what}_total counter", _line(f"{what}_total", (worker,), number)]
        for name, value in {"in_flight": self.in_flight, "event_streams": self.streams, **gauges}.items():
            lines += [f"# TYPE causal_bandits_{name} gauge", _line(name, (worker,), value)]
        for what in ("rows", "seconds") if stale else ():
            lines.append(f"# TYPE causal_bandits_snapshot_behind_{what} gauge")
            for study, behind in (stale or {}).items():
                lines.append(_line(f"snapshot_behind_{what}", (("study", study), worker), getattr(behind, what)))
        return "\n".join(lines) + "\n"


def _labels(route: str, method: str) -> Labels:
    return ("route", route), ("method", method)


def _line(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"causal_bandits_{name}{{{inside}}} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
