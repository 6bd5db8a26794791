"""The names at the root: few, all listed, and a former one says where it is now."""

import subprocess
import sys

import pytest

import causal_bandits as cb
from causal_bandits.errors import MovedError, MovedImportError

FORMERLY = {
    "policies": "CTS CUCB HACUCB KLUCB UCB1 UCBV CausalGaussianThompsonSampling EpsilonGreedy GaussianThompsonSampling "
    "GraphPosteriorThompson LattimoreGeneral LattimoreParallel LuTree MaitiObserving NairObserving PomisKLUCB PomisTS "
    "RapsUCB SafeGaussianThompson SafeUCBNormal SenPhases SmallUCB SuccessiveElimination Tier UCBPlus UCBTuned "
    "UnknownUCBPlus YabePropagating",
    "worlds": "bilodeau_world example_world fix lee_bareinboim_world paper_world parallel_world random_linear_world "
    "scale shift",
    "graphs": "all_dags dag_classes from_networkx to_networkx interventional_border latent_projection mis_sets muct",
    "discovery": "DiscoveredGraphs",
    "independence": "IndependenceResult log_bayes_factor",
    "estimators": "information_sharing linear_sharing sharing_variance",
    "simulation": "play Simulation told",
    "experiments": "Comparison",
}
MOVED = [(room, name) for room, names in FORMERLY.items() for name in names.split()]


def test_the_root_is_short() -> None:
    assert len(cb.__all__) == len(set(cb.__all__)) <= 45


def test_every_listed_name_exists_and_is_shown() -> None:
    for name in cb.__all__:
        assert getattr(cb, name) is not None
    shown = set(dir(cb))
    assert {*cb.__all__, "__version__"} <= shown
    assert {name for name in shown if name.startswith("_")} == {name for name in shown if name.startswith("__")}
    assert not {"Any", "importlib", "TYPE_CHECKING", "moved"} & shown
    assert all(hasattr(cb, name) for name in shown)


def test_lazy_names_are_shown_before_they_are_used() -> None:
    program = "import sys, causal_bandits as cb; print({'Study', 'compare'} <= {*dir(cb)}, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("room", ["policies", "discovery", "graphs", "worlds", "datasets", *FORMERLY])
def test_rooms_list_what_they_have(room: str) -> None:
    module = getattr(cb, room)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(("room", "name"), MOVED)
def test_a_name_that_moved_says_where_it_is(room: str, name: str) -> None:
    assert name in getattr(cb, room).__all__
    sentence = rf"^causal_bandits\.{name} is now causal_bandits\.{room}\.{name}$"
    with pytest.raises(MovedError, match=sentence):
        getattr(cb, name)
    with pytest.raises(MovedImportError, match=sentence):
        exec(f"from causal_bandits import {name}")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'causal_bandits' has no attribute 'UCB7'$"):
        getattr(cb, "UCB7")  # noqa: B009
