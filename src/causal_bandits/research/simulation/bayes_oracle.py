"""A Bayes oracle: Thompson sampling whose prior is the generator that the world was drawn from.

The generator is any function of random numbers. Its parameters are the uniform random numbers that it reads from a
`Tape`; so a move that changes some of them a little, accepted by the ratio of likelihoods, leaves the posterior given
all rows as it is, whatever the generator does with them (Metropolis-Hastings; Wingate, Stuhlmueller and Goodman 2011).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ...core.compiled import Floats
from ...core.problem import Arm, Level, Problem
from ...core.seeds import Seed, generator
from ...errors import OptionError, brief, whole_number
from ..worlds import DiscreteWorld

Draw = Callable[[np.random.Generator], DiscreteWorld | Floats | None]
"""Draws a world; or only what an oracle needs of it, which is quicker: P(observed variables and reward | arm), (arms,
levels of each variable, 2), or None if the problem is another one."""
IMPOSSIBLE = -1e9
"""Logarithm of a probability of 0."""
GROWTH = 1.2
"""Worlds are also moved when rows have grown by this factor: equal ones keep equal weights, however wrong they are."""
TRIES = 3000
"""Worlds that are drawn, at most, for each one with the problem that is played."""


class Tape(np.random.Generator):
    """Random numbers that are functions of recorded uniform ones, by inverting distribution functions.

    Args:
        values: The uniform numbers to read first; more are drawn when these are used up.
        rng: Generator of those.

    >>> tape = Tape(np.array([0.5, 0.25]), np.random.default_rng(0))
    >>> float(tape.normal(3.0)), int(tape.integers(4)), tape.used
    (3.0, 1, 2)
    """

    def __init__(self, values: Floats, rng: np.random.Generator) -> None:
        super().__init__(np.random.PCG64(0))
        self.values, self.rng, self.used = values, rng, 0
        self._untouched = self.bit_generator.state

    def check(self) -> None:
        """Reject a generator that drew in a way that is not recorded."""
        if self.bit_generator.state != self._untouched:
            raise OptionError(
                "the generator of worlds draws numbers that a Tape cannot record; use random, uniform, normal, "
                "standard_normal, integers, choice, permutation, dirichlet or spawn"
            )

    def _take(self, size: Any) -> Any:
        shape = () if size is None else size
        count = int(np.prod(shape))
        missing = self.used + count - len(self.values)
        if missing > 0:
            self.values = np.append(self.values, self.rng.random(max(missing, 32)))
        taken = self.values[self.used : self.used + count].reshape(shape)
        self.used += count
        return float(taken) if size is None else taken

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:  # noqa: D102
        return self._take(size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:  # noqa: D102
        return low + (high - low) * self._take(size)

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:  # noqa: D102
        return special.ndtri(np.clip(self._take(size), 1e-15, 1 - 1e-15))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:  # noqa: D102
        return loc + scale * self.standard_normal(size)

    def integers(self, low: Any, high: Any = None, size: Any = None, *_: Any, endpoint: bool = False, **__: Any) -> Any:  # noqa: D102
        first, last = (0, low) if high is None else (low, high)
        found = np.floor(first + (last + endpoint - first) * np.asarray(self._take(size))).astype(np.int64)
        return found if size is not None else int(found)

    def permutation(self, x: Any, *_: Any, **__: Any) -> Any:  # noqa: D102
        items = np.arange(x) if isinstance(x, int) else np.asarray(x)
        return items[np.argsort(self._take(len(items)))]

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, *_: Any, **__: Any) -> Any:  # noqa: D102
        items = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        if not replace:
            return self.permutation(items)[: 1 if size is None else size]
        edges = np.cumsum(np.full(len(items), 1 / len(items)) if p is None else p)
        return items[np.minimum(np.searchsorted(edges, self._take(size), side="right"), len(items) - 1)]

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:  # noqa: D102
        shapes = np.asarray(alpha, dtype=np.float64)
        if size is not None:
            raise OptionError("a Tape draws one Dirichlet vector at a time; leave out size")
        gammas = special.gammaincinv(shapes, np.clip(self._take(len(shapes)), 1e-12, 1 - 1e-12))
        return gammas / gammas.sum()

    def spawn(self, n_children: int) -> Any:  # noqa: D102
        return [self] * n_children


class Particle(NamedTuple):
    """A world that may be the true one."""

    values: Floats
    """The uniform numbers that it was made of."""
    log_law: Floats
    """(arms, cells): log P(observed variables and reward | arm)."""
    best: int
    """Its best arm."""

    def log_likelihood(self, counts: Floats) -> float:
        """Of all rows, by how many there are of each arm and cell."""
        return float((counts * self.log_law).sum())


def make_particle(problem: Problem, draw: Draw, values: Floats, rng: np.random.Generator) -> Particle | None:
    """The world made of these uniform numbers, and of further ones; None if its problem is another one."""
    tape = Tape(values, rng)
    world = draw(tape)
    tape.check()
    if isinstance(world, DiscreteWorld):
        world = law_of(world) if world.problem == problem else None
    if world is None:
        return None
    if not isinstance(world, np.ndarray) or len(world) != len(problem.arms):
        raise OptionError(
            f"the generator of worlds returned {brief(world)}; expected a discrete world, such as practice_world(...)"
        )
    law = world.reshape(len(world), -1)
    log_law = np.where(law > 0, np.log(np.maximum(law, 1e-300)), IMPOSSIBLE)
    return Particle(tape.values[: tape.used], log_law, int(np.argmax(law[:, 1::2].sum(axis=1))))


def law_of(world: DiscreteWorld) -> Floats:
    """P(observed variables and reward | arm): (arms, levels of each variable, 2)."""
    names = [*world.problem.observed_names, world.problem.target]
    return np.array([world.distribution(arm, names) for arm in world.problem.arms])


def prior_particles(problem: Problem, draw: Draw | None, count: int, seed: Seed) -> list[Particle]:
    """Worlds drawn from the generator that have this problem."""
    if draw is None:
        raise OptionError(
            "a Bayes oracle needs the generator that the world was drawn from, draw=...; for a world without one use "
            "the oracles told-means or causal-ts-known"
        )
    rng, found = generator(seed), []
    for _ in range(TRIES * whole_number("particles", count, 2)):
        particle = make_particle(problem, draw, np.empty(0), rng)
        if particle is not None:
            found.append(particle)
        if len(found) == count:
            return found
    raise OptionError(f"the generator does not draw worlds with the problem {brief(problem)}; pass that of its family")


def moved(particle: Particle, problem: Problem, draw: Draw, counts: Floats, rng: np.random.Generator) -> Particle:
    """One Metropolis-Hastings step: draw one number again, or move some or all of them a little."""
    size, values = len(particle.values), particle.values.copy()
    if size == 0:
        return particle
    again = rng.random() < 0.6
    if again:
        values[rng.integers(size)] = rng.random()
    else:
        few = rng.permutation(size)[: int(rng.choice([1, 2, 4, size]))]
        values[few] = np.abs(values[few] + 10 ** rng.uniform(-2.5, -0.5) * rng.standard_normal(len(few)))
        values[few] = 1 - np.abs(1 - values[few] % 2)
    other = make_particle(problem, draw, values, rng)
    if other is None or (len(other.values) != size and not again):
        return particle
    ratio = other.log_likelihood(counts) - particle.log_likelihood(counts) + math.log(size / len(other.values))
    return other if math.log(max(rng.random(), 1e-300)) < ratio else particle


class BayesOracle:
    """An oracle: Thompson sampling with the generator of the worlds as its prior.

    It keeps worlds with weights proportional to the likelihood of all rows, draws one of them by weight, and plays its
    best arm. When few worlds have most of the weight, or rows have grown by a fifth, it resamples worlds by weight and
    moves each.

    Args:
        problem: The problem; its reward is 0 or 1.
        draw: Draws a world from a Generator.
        particles: Number of worlds to start with, or worlds that `prior_particles` gave.
        kept: Number of worlds after resampling; as many as at the start by default.
        moves: Metropolis-Hastings steps of each world after resampling.
        seed: Seed or Generator of its draws.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        draw: Draw | None,
        particles: int | Sequence[Particle] = 64,
        kept: int | None = None,
        moves: int = 2,
        seed: Seed = None,
    ) -> None:
        self.problem, self.rng, self.moves = problem, generator(seed), whole_number("moves", moves, 1)
        known = prior_particles(problem, draw, particles, self.rng) if isinstance(particles, int) else particles
        self.particles = list(known)
        self.kept = len(known) if kept is None else whole_number("kept", kept, 2)
        self.draw = draw
        self.sizes = (*(variable.size for variable in problem.observed), 2)
        self.counts = np.zeros((len(problem.arms), math.prod(self.sizes)))
        self.rows, self._due = 0, 20.0
        self.refreshes = 0
        """How often worlds were drawn again."""
        self._look()

    def _look(self) -> None:
        self._laws = np.array([particle.log_law for particle in self.particles])
        self._best = np.array([particle.best for particle in self.particles])
        self._logs = np.zeros(len(self.particles))

    @property
    def weights(self) -> Floats:
        """(particles,): probabilities of the worlds."""
        weights = np.exp(self._logs - self._logs.max())
        found: Floats = weights / weights.sum()
        return found

    def probability_best(self) -> Floats:
        """(arms,): the probability of every arm to be the best."""
        return np.bincount(self._best, self.weights, minlength=len(self.problem.arms)).astype(np.float64)

    def ask(self) -> Arm:
        """The best arm of a world drawn by weight."""
        place = np.searchsorted(np.cumsum(self.weights), self.rng.random())
        return self.problem.arms[int(self._best[min(int(place), len(self._best) - 1)])]

    def tell(self, arm: Arm, observation: Mapping[str, Level]) -> None:
        """Count a row, and draw worlds again where few are left that explain the rows."""
        codes = [variable.code(observation[variable.name]) for variable in self.problem.observed]
        reward = int(observation[self.problem.target])
        cell = int(np.ravel_multi_index((*codes, reward), self.sizes))
        number = self.problem.index(arm)
        self.counts[number, cell] += 1
        self._logs += self._laws[:, number, cell]
        weights = self.weights
        self.rows += 1
        if 1 / (weights**2).sum() < self.kept / 2 or (self.rows >= self._due and len(weights) == self.kept):
            self._refresh(weights)

    def _refresh(self, weights: Floats) -> None:
        """Draw worlds again by weight, evenly, and move them."""
        assert self.draw is not None
        self.refreshes += 1
        self._due = GROWTH * self.rows
        chosen = np.searchsorted(np.cumsum(weights), (np.arange(self.kept) + self.rng.random()) / self.kept)
        kept = [self.particles[min(int(place), len(weights) - 1)] for place in chosen]
        for _ in range(self.moves):
            kept = [moved(particle, self.problem, self.draw, self.counts, self.rng) for particle in kept]
        self.particles = kept
        self._look()
