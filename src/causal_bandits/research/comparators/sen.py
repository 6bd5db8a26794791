"""Sen, Shanmugam, Dimakis and Shakkottai 2017: importance sampling between arms in phases, then commit."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats, Ints, by_reference
from .counts import Counts, arm_index, counted
from .through_cells import through_chances
from .told_set import CommittingPolicy
from .ucb import ucb1_of_arm


@through_chances
@counted
@by_reference
class CommittedState(NamedTuple):
    """Counts and P(Z | arm): UCB1 over the arms that are left, and finally of one."""

    counts: Counts
    chances: Floats


arm_index.of(CommittedState)(ucb1_of_arm)


class SenPhases(CommittingPolicy):
    """SRISv1: in phase l of n, pull arms so that all that are left are estimated well, and drop the worst.

    M_kj = 1 + ln E_k[exp(p_k(z) / p_j(z) - 1)] says how well rows of arm j serve arm k. A phase of T / (l H_n) rounds
    is allocated to maximize min_k sum_j nu_j / M_kj, H_n = 1 + 1/2 + ... + 1/n, n = ceil(ln 2 ln(10 sqrt(T))). Then
    Y_k = (1 / Z_k) sum_j sum_rows Y r_kj 1{r_kj <= 2 ln(2 / eps) M_kj} / M_kj with eps = 2^(1 - l),
    Z_k = sum_j n_j / M_kj, and arms below the best by more than 5 / 2^l are dropped. T = `budget`.

    Their arms change P(V | pa(V)) of one node V: told `separating` = V and pa(V), `chances` = P(V, pa(V) | a), the
    ratio p_k / p_j is theirs. Deviation: any separating set may be told; arms have no costs; the best arm is then
    played on.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    name = "sen"

    def _start(self, counts: Counts) -> CommittedState:
        self.phases = math.ceil(math.log(2) * math.log(10 * math.sqrt(self.budget)))
        self._divergence = pair_divergence(self.chances)
        self._phase = 0
        self._alive: Bools = np.ones(len(counts.allowed), dtype=np.bool_)
        return self._next_phase(CommittedState(counts, self.chances))

    def _next_phase(self, state: CommittedState) -> CommittedState:
        self._phase += 1
        self._before = state.counts.seen.copy()
        rounds = self.budget / (self._phase * sum(1 / i for i in range(1, self.phases + 1)))
        share = phase_allocation(self._divergence, self._alive)
        return self._explore(state, np.ceil(share * rounds - 1e-9).astype(np.int64))

    def _plan(self, state: CommittedState) -> CommittedState:
        rows = state.counts.seen - self._before
        means = clipped_pool(rows, state.chances, self._divergence, 2.0 ** (1 - self._phase))
        means = np.where(self._alive, means, -np.inf)
        best = int(means.argmax())
        self._alive = self._alive & (means >= means[best] - 5 / 2**self._phase)
        if self._phase == self.phases or np.count_nonzero(self._alive) == 1:
            return self._settle(state, np.arange(len(means)) == best)
        return self._next_phase(state)


def pair_divergence(p: Floats) -> Floats:
    """M_kj = 1 + ln E_k[exp(p_k / p_j - 1)] (log-divergence); infinite if p_j does not reach where p_k does."""
    k, j = np.broadcast_arrays(p[:, None, :], p[None, :, :])
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.divide(k, j, out=np.where(k > 0, np.inf, 0.0), where=j > 0)
        terms = np.where(k > 0, k * np.exp(ratio - 1), 0.0)
        found: Floats = 1 + np.log(terms.sum(axis=2))
    return found


def clipped_pool(rows: Ints, p: Floats, divergence: Floats, eps: float) -> Floats:
    """Y_k of all arms from (arms, cells, 2) counts (their clipped estimator); an arm that no row serves gets -inf."""
    k, j = np.broadcast_arrays(p[:, None, :], p[None, :, :])
    ratio = np.divide(k, j, out=np.zeros(k.shape), where=j > 0)
    ratio[ratio > (2 * math.log(2 / eps) * divergence)[:, :, None]] = 0
    service = 1 / divergence
    total = service @ rows.sum(axis=(1, 2))
    sums = np.einsum("kj,kjz,jz->k", service, ratio, rows[:, :, 1])
    means: Floats = np.divide(sums, total, out=np.full(len(p), -np.inf), where=total > 0)
    return means


def phase_allocation(divergence: Floats, alive: Bools) -> Floats:
    """nu that maximizes min over the arms left of sum_j nu_j / M_kj: a linear program."""
    return _solve(divergence.tobytes(), alive.tobytes()).copy()


@lru_cache(maxsize=512)
def _solve(divergence: bytes, alive: bytes) -> Floats:
    from scipy.optimize import linprog  # slow to import, and few policies need it

    left = np.frombuffer(alive, dtype=np.bool_)
    service = 1 / np.frombuffer(divergence).reshape(len(left), len(left))
    wanted = service[left]
    rows = np.column_stack([-wanted, np.ones(len(wanted))])
    goal = np.append(np.zeros(len(left)), -1.0)
    equal = np.append(np.ones(len(left)), 0.0)[None, :]
    found = linprog(goal, rows, np.zeros(len(wanted)), equal, [1.0])
    share: Floats = np.clip(found.x[:-1], 0, None)
    share /= share.sum()
    return share
