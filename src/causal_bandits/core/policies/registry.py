"""Policies by name: a class that has a `name` is registered, and everything that lists policies reads the registry."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from ...errors import OptionError

GROUP = "causal_bandits.policies"
"""Entry points of packages that have policies: imported when a name is not found, and when all are listed."""
ORDER = (
    *("discrete", "main_effects", "causal_thompson", "safe", "best_arm"),
    *("graph_posterior", "reward_thompson", "ucb_normal", "gaussian_thompson"),
    *("baselines", "regret_balancing", "ossb", "ucb_cv", "told_set", "perfect_interventions"),
)
"""The files in the order in which tables show their policies; a file that is not named comes after them."""


class PolicyRegistry(Mapping[str, Any]):
    """Every policy class that has a name, by its name."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._complete = False

    def register(self, policy: type[Any]) -> None:
        """Enter a class under its name."""
        before = self._found.get(policy.name)
        if before is not None and (before.__module__, before.__qualname__) != (policy.__module__, policy.__qualname__):
            taken = f"{before.__module__}.{before.__qualname__}"
            raise OptionError(f"the policy name {policy.name!r} is taken by {taken}; give this class another one")
        self._found[policy.name] = policy

    def unregister(self, name: str) -> None:
        """Remove a policy."""
        del self._found[name]

    def _load_all(self) -> dict[str, Any]:
        if not self._complete:
            for point in entry_points(group=GROUP):
                point.load()
            self._complete = True
        return self._found

    def __getitem__(self, name: str) -> Any:
        return self._found[name] if name in self._found else self._load_all()[name]

    def __iter__(self) -> Iterator[str]:
        rank = {name: number for number, name in enumerate(ORDER)}
        found = self._load_all()
        return iter(sorted(found, key=lambda name: rank.get(found[name].__module__.rpartition(".")[2], len(ORDER))))

    def __len__(self) -> int:
        return len(self._load_all())


POLICIES = PolicyRegistry()


def find_policies(path: Iterable[str], package: str) -> None:
    """Import every file of a package, so that its policies are registered."""
    for module in pkgutil.walk_packages(path, f"{package}."):
        importlib.import_module(module.name)
