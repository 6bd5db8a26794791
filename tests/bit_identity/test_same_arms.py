"""No arm changes: what every policy did when it was recorded, it does again, also from save files and studies of then.

Arms are compared exactly. Other numbers too, on the machine and with the libraries that recorded them; elsewhere the
last bits of a logarithm may differ, and they are compared to nine digits.
"""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import load_policy

from .cases import CASES
from .recording import (
    HERE,
    SEEDS,
    STUDIES,
    case_answer,
    goes_on,
    made_with,
    plain,
    read,
    save_path,
    saved_policy,
    smoke,
    study_goes_on,
)

RECORDED = read()
SAME_MACHINE = RECORDED["made_with"] == made_with()
SAVED = [name for name, case in CASES.items() if case.saved]


def assert_same(now: Any, then: Any, where: str) -> None:
    """Equal, but for the last bits of floats on another machine; None is what could not be said then."""
    if then is None and isinstance(now, float | list):
        return
    if isinstance(now, dict) and isinstance(then, dict):
        assert now.keys() == then.keys(), where
        for key in now:
            assert_same(now[key], then[key], f"{where}, {key}")
    elif isinstance(now, list) and isinstance(then, list):
        assert len(now) == len(then), where
        for place, (one, other) in enumerate(zip(now, then, strict=True)):
            assert_same(one, other, f"{where}[{place}]")
    elif isinstance(now, float) and isinstance(then, float):
        both = math.isnan(now) and math.isnan(then)
        close = now == then if SAME_MACHINE else math.isclose(now, then, rel_tol=1e-9, abs_tol=1e-12)
        assert both or close, f"{where}: {now!r} was {then!r}"
    else:
        assert now == then, where


@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
@pytest.mark.parametrize("name", CASES)
def test_same_arms(name: str, seed: int) -> None:
    assert_same(plain(case_answer(name, seed)), RECORDED["cases"][name][str(seed)], name)


@pytest.mark.parametrize("name", SAVED)
def test_a_save_file_of_then_goes_on(name: str) -> None:
    assert_same(plain(goes_on(name, load_policy(save_path(name)))), RECORDED["resumed"][name], name)


@pytest.mark.parametrize("name", SAVED)
def test_same_save_file(name: str) -> None:
    with np.load(save_path(name)) as file:
        then = dict(file)
    header = json.loads(then.pop("header").tobytes())
    now = saved_policy(name).pack()
    assert {**header, **plain(now.header)} == header
    assert now.arrays.keys() == then.keys()
    for key, array in now.arrays.items():
        assert (array.dtype.kind, array.shape) == (then[key].dtype.kind, then[key].shape), key
        exact = SAME_MACHINE or array.dtype.kind != "f"
        np.testing.assert_allclose(array, then[key], rtol=0 if exact else 1e-9, err_msg=key)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_of_then_goes_on(name: str, tmp_path: Path) -> None:
    shutil.copy(HERE / "studies.db", tmp_path / "studies.db")
    assert_same(plain(study_goes_on(f"sqlite:///{tmp_path}/studies.db", name)), RECORDED["studies"][name], name)


@pytest.mark.parametrize("figure", ["fig5", "example"])
def test_same_figure(figure: str, tmp_path: Path) -> None:
    """The quick ones; ``python -m tests.bit_identity`` records all of them."""
    now, then = smoke(figure, tmp_path)[figure], RECORDED["figures"][figure]
    assert_same(now["numbers"], then["numbers"], figure)
    assert now["digest"] == then["digest"] or not SAME_MACHINE
