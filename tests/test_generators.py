"""Generators in compiled code: the same numbers, and no interrupt crashes the interpreter."""

import sys
from typing import Any

import numpy as np
import pytest
from benchmarks.interrupts import interrupt

from causal_bandits.core.compiled import compiled


@compiled
def _draws(rng: np.random.Generator, other: np.random.Generator) -> tuple[Any, ...]:
    return rng.random(), rng.beta(2.0, 3.0), rng.standard_normal(), rng.integers(0, 10), other.random()


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_a_generator_gives_the_same_numbers_in_compiled_code_and_goes_on_from_there(kind: str) -> None:
    def generator() -> np.random.Generator:
        return np.random.Generator(getattr(np.random, kind)(7))

    ours, other, rng = generator(), generator(), generator()
    expected = rng.random(), rng.beta(2.0, 3.0), rng.standard_normal(), rng.integers(0, 10), generator().random()
    assert _draws(ours, other) == expected
    assert ours.random() == rng.random()


class _Broken(np.random.Generator):
    answer: object = None

    @property
    def bit_generator(self) -> object:  # type: ignore[override]
        if self.answer is None:
            raise KeyboardInterrupt
        return self.answer


def test_a_generator_that_cannot_be_read_is_an_error_and_not_a_crash() -> None:
    broken, rng = _Broken(np.random.PCG64(1)), np.random.default_rng(1)
    before = sys.getrefcount(broken), sys.getrefcount(rng)
    for first, second in ((broken, rng), (rng, broken), (broken, broken)):
        with pytest.raises(KeyboardInterrupt):
            _draws(first, second)
        del first, second
    broken.answer = 3
    with pytest.raises(AttributeError, match="capsule"):
        _draws(broken, rng)
    assert (sys.getrefcount(broken), sys.getrefcount(rng)) == before


def test_no_python_runs_between_the_call_and_the_compiled_code() -> None:
    """numba's own unboxing calls `ctypes.cast`, where a signal handler that raises crashes the interpreter."""
    called = []
    rng = np.random.default_rng(1)
    _draws(rng, rng)
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_filename))
    _draws(rng, rng)
    sys.setprofile(None)
    assert called
    assert not [name for name in called if "ctypes" in name]


@pytest.mark.slow
def test_every_interrupt_in_a_tight_loop_of_asks_is_raised() -> None:
    """Without the rule of ours the first one or two crash the process. Longer: `python -m benchmarks.interrupts`."""
    for subject, kind in (("SafePolicy", "ctrl-c"), ("ThompsonSampling", "alarm")):
        outcome = interrupt(subject, 60, seed=3, kind=kind)
        assert outcome[:4] == (60, 60, 0, 0), outcome
