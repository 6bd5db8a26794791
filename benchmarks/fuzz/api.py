"""Calls of the public API with arguments that nobody should give."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES, Policy, RealPolicy
from causal_bandits.product.studies import parse_arm, parse_metrics, parse_reward

from .hostile import shown, spoil
from .judging import Score, judge

DISCRETE = cb.Problem("y", {"m": 2, "k": ["low", "high"]}, {"x": ["n", "a"], "z": 2})
REAL = cb.Problem("y", {"m": float, "k": ["low", "high"]}, {"x": ["n", "a"], "z": 2}, reward=float)
WORLD = cb.worlds.example_world()
GRAPH = cb.MixedGraph(["I", "A", "B", "Y"], [("I", "A"), ("A", "Y"), ("B", "Y")], [("A", "B")])
TREE = cb.MixedGraph(["A", "B", "Y"], [("A", "Y"), ("B", "Y")])
LINEAR = {("A", "Y"): 1.0}
COIN = cb.worlds.Mechanism([], [0.5, 0.5])
TRUTH = cb.DiscreteSCM(
    {"A": 2, "B": 2, "Y": 2},
    {"A": COIN, "B": COIN, "Y": cb.worlds.Mechanism(["A", "B"], [[[0.7, 0.3], [0.6, 0.4]], [[0.1, 0.9], [0.5, 0.5]]])},
    {"I_A": cb.worlds.perfect("A"), "I_B": cb.worlds.perfect("B")},
    arms=[{}, {"I_A": 0}, {"I_A": 1}, {"I_B": 0}, {"I_B": 1}],
)
WHOLE = cb.DiscreteSCM({"A": 2, "B": 2, "Y": 2}, TRUTH.mechanisms, TRUTH.interventions)
NEEDS: dict[str, Any] = {
    "graph": TRUTH.graph,
    "horizon": 60,
    "separating": ["A", "B"],
    "chances": [TRUTH.distribution(arm, ["A", "B"]).tolist() for arm in TRUTH.problem.arms],
    "cell_means": [0.2, 0.4, 0.6, 0.8],
    "parents": 2,
    "skeleton": [("A", "B")],
    "marginals": {"A": [0.5, 0.5], "B": [0.5, 0.5]},
    "past_means": [[0.2, 0.4, 0.1], [0.3, 0.5, 0.2], [0.6, 0.3, 0.4]],
    "noise": [[0.2, 0.05, 0.02], [0.05, 0.2, 0.05], [0.02, 0.05, 0.2]],
}
"""What policies are told of their world."""


class Call(NamedTuple):
    """A function and arguments with which it works."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    unchanged: Callable[[], Any] | None = None
    """What must be the same after the call has failed."""


def rows_of(problem: cb.Problem, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows that the problem can count."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        arm = problem.arms[int(rng.integers(len(problem.arms)))]
        seen = {"m": float(rng.normal()) if problem.reward_is_real else int(rng.integers(2)), "k": "low"}
        reward = float(rng.normal()) if problem.reward_is_real else int(rng.integers(2))
        rows.append({**dict(arm), **seen, "k": ["low", "high"][int(rng.integers(2))], "y": reward})
    return rows


def _history(problem: cb.Problem) -> cb.History:
    history = cb.History(problem)
    history.extend(history.encode_many(rows_of(problem, 60)))
    return history


def functions() -> list[Call]:
    """Everything that is no method."""
    table = [[[5, 3], [2, 7]], [[4, 4], [1, 9]]]
    history, real = _history(DISCRETE), _history(REAL)
    rng = np.random.default_rng(0)
    mechanisms = {"A": cb.worlds.Mechanism([], [0.5, 0.5]), "Y": cb.worlds.Mechanism(["A"], [[0.9, 0.1], [0.2, 0.8]])}
    scm = {"variables": {"A": 2, "Y": 2}, "mechanisms": mechanisms, "interventions": {"I": cb.worlds.perfect("A")}}
    problem = {"target": "y", "observed": {"m": 2, "k": ["low", "high"]}, "interventions": {"x": ["n", "a"], "z": 2}}
    more = {"arms": [{"x": "a"}, {"x": "n"}], "idle": {"x": "a"}, "targets": {"x": ["m"]}, "reward": bool}
    frame = pl.DataFrame(rows_of(DISCRETE, 60))
    levers = {"target": "y", "interventions": ["x", "z"]}
    sharing = {"share": [[0.4, 0.6], [0.3, 0.7]], "reward": [0.2, 0.7], "rows": [20, 30], "arm": 0}
    return [
        Call("Problem", cb.Problem, problem),
        Call("Problem(...)", cb.Problem, {**problem, **more}),
        Call("Problem.from_dict", cb.Problem.from_dict, {"data": DISCRETE.to_dict()}),
        Call("Problem.arm", lambda s: DISCRETE.arm(s, z=1), {"s": {"x": "a"}}),
        Call("Problem.index", DISCRETE.index, {"arm": {"x": "a"}}),
        Call("Problem.intervention", DISCRETE.intervention, {"name": "x"}),
        Call("Problem.arm_groups", DISCRETE.arm_groups, {"names": ["x"]}),
        Call("Problem.with_arm", DISCRETE.with_arm, {"settings": {"x": "new"}, "new_levels": True}),
        Call("bins", cb.bins, {"cuts": [0.5, 1.5]}),
        Call("bins(quantiles)", cb.bins, {"quantiles": 4, "after": 100}),
        Call("History", cb.History, {"problem": DISCRETE}),
        Call("History.encode", history.encode, {"arm": {"x": "a"}, "observation": {"m": 1, "k": "low", "y": 1}}),
        Call("History.encode_many", history.encode_many, {"frame": rows_of(DISCRETE, 4), "arm": None, "missing": True}),
        Call("History.value", history.value, {"name": "k", "value": "low"}),
        Call("History.observation", history.observation, {"row": 3}),
        Call("History.tables", history.tables, {"max_size": 1}),
        Call("analyze", cb.analyze, {"source": frame, **levers, "observed": ["m"], "drop": ["k"], "level": 0.9}),
        Call("analyze(real)", cb.analyze, {"source": rows_of(REAL, 60), **levers, "kind": "gaussian", "max_size": 1}),
        Call("discover", cb.discover, {"history": history, "asd": cb.ASD(), "best": 2}),
        Call("g_squared", cb.independence.g_squared, {"table": table}),
        Call("log_bayes_factor", cb.independence.log_bayes_factor, {"table": table}),
        Call(
            "information_sharing",
            cb.estimators.information_sharing,
            {"history": history, "variables": ["m"], "separated": ["x"]},
        ),
        Call("linear_sharing", cb.estimators.linear_sharing, {"history": real, "variables": ["m"], "separated": ["x"]}),
        Call("sharing_variance", cb.estimators.sharing_variance, sharing),
        Call("DirectTesting", cb.DirectTesting, {"alpha": 0.05, "reading": "joint", "require_evidence": True}),
        Call("ResidualTesting", cb.ResidualTesting, {"alpha": 0.05, "reading": "joint", "factor": "environments"}),
        Call("BayesFactors", cb.BayesFactors, {"threshold": 1.0, "reading": "both", "veto": None}),
        Call("KnownSets", cb.KnownSets, {"sets": [["m"], ["k"]]}),
        Call(
            "ASD", cb.ASD, {"alpha": 0.02, "engine": "auto", "forbidden": ["x -> k"], "required": [], "time_limit": 9.0}
        ),
        Call("MixedGraph", cb.MixedGraph, {"nodes": ["a", "b"], "directed": [("a", "b")], "bidirected": [("a", "b")]}),
        Call("separated", cb.graphs.separated, {"graph": GRAPH, "a": "I", "b": "Y", "given": ["A"], "criterion": "d"}),
        Call("separating_sets", cb.separating_sets, {"graph": GRAPH, "contexts": "I", "target": "Y", "max_size": 2}),
        Call("pomis_sets", cb.graphs.pomis_sets, {"graph": TREE, "target": "Y", "manipulable": ["A"]}),
        Call("latent_projection", cb.graphs.latent_projection, {"graph": GRAPH, "onto": ["A", "Y"]}),
        Call("all_dags", lambda nodes: _first(cb.graphs.all_dags(nodes)), {"nodes": ["a", "b"]}),
        Call("dag_classes", cb.graphs.dag_classes, {"nodes": ["a", "b", "c"], "target": "c", "with_parent": True}),
        Call(
            "random_dag",
            cb.graphs.random_dag,
            {"nodes": ["a", "b", "c"], "target": "c", "rng": 3, "max_target_parents": 2},
        ),
        Call("to_networkx", cb.graphs.to_networkx, {"graph": GRAPH}),
        Call("from_networkx", cb.graphs.from_networkx, {"G": cb.graphs.to_networkx(GRAPH)}),
        Call("Mechanism", cb.worlds.Mechanism, {"parents": ["A"], "table": [[0.9, 0.1], [0.2, 0.8]]}),
        Call("DiscreteSCM", cb.DiscreteSCM, {**scm, "target": "Y", "noise": {"u": [0.5, 0.5]}, "arms": [{}, {"I": 1}]}),
        Call(
            "LinearGaussianSCM",
            cb.LinearGaussianSCM,
            {"coefficients": LINEAR, "interventions": {"I": {"off": {}, "on": {"A": cb.worlds.shift(1.0)}}}},
        ),
        Call("fix", cb.worlds.fix, {"value": 1.0}),
        Call("shift", cb.worlds.shift, {"by": 1.0}),
        Call("scale", cb.worlds.scale, {"factor": 1.0}),
        Call("perfect", cb.worlds.perfect, {"variable": "A", "levels": [0, 1]}),
        Call(
            "StructurelessWorld",
            cb.StructurelessWorld,
            {"base": WORLD, "means": [0.5] * len(WORLD.problem.arms), "seed": 1},
        ),
        Call("LoggedWorld", cb.LoggedWorld, {"problem": DISCRETE, "frame": frame}),
        Call("paper_world", cb.worlds.paper_world, {"graph": TREE, "target": "Y", "seed": 0}),
        Call("random_linear_world", cb.worlds.random_linear_world, {"graph": TREE, "target": "Y", "seed": 0}),
        Call("parallel_world", cb.worlds.parallel_world, {"variables": 4, "rare": 2, "chance": 0.1, "gap": 0.2}),
        Call("bilodeau_world", cb.worlds.bilodeau_world, {"case": "worst", "horizon": 100, "arms": 4}),
        Call("lee_bareinboim_world", cb.worlds.lee_bareinboim_world, {"diagram": "iv", "seed": 0}),
        Call("example_world", cb.worlds.example_world, {"best": "S3"}),
        Call("World.sample", WORLD.sample, {"arm": WORLD.problem.arms[0], "count": 3, "rng": rng}),
        Call("World.pull", WORLD.pull, {"arm": WORLD.problem.arms[0], "rng": rng}),
        Call(
            "simulate",
            cb.simulate,
            {"policy": cb.ThompsonSampling, "world": WORLD, "horizon": 4, "runs": 2, "seed": 0, "checkpoints": [1, 4]},
        ),
        Call(
            "play",
            cb.simulation.play,
            {"policy": cb.comparators.UCB1(WORLD.problem, seed=0), "world": WORLD, "horizon": 3, "rng": rng},
        ),
        Call(
            "observe",
            cb.observe,
            {"policy": cb.comparators.UCB1(WORLD.problem, seed=0), "world": WORLD, "rows": 3, "rng": rng},
        ),
        Call("told", cb.simulation.told, {"name": "c-ucb", "world": WORLD, "horizon": 100, "separating": ["S2"]}),
        Call("preset", cb.preset, {"name": "safe", "problem": DISCRETE, "seed": 0}),
        Call(
            "compare",
            cb.compare,
            {
                "policies": {"a": cb.comparators.UCB1, "b": cb.comparators.UCBV},
                "worlds": [WORLD],
                "horizon": 3,
                "runs": 1,
                "name": "c",
            },
        ),
        Call("load_policy", cb.load_policy, {"path": "/nowhere/x"}),
        Call("parse_arm", parse_arm, {"text": "x=a,z=1"}),
        Call("parse_metrics", parse_metrics, {"problem": DISCRETE, "pairs": ["m=1", "k=low"]}),
        Call("parse_reward", parse_reward, {"problem": DISCRETE, "text": "1"}),
    ]


def _first(found: Any) -> Any:
    return next(iter(found), None)


def policies() -> list[Call]:
    """Making policies, and the methods that all of them share."""
    calls = []
    for name, kind in POLICIES.items():
        world = WHOLE if name in ("pomis-ts", "pomis-kl-ucb") else TRUTH
        problem = REAL if issubclass(kind, RealPolicy) else world.problem
        needs = {need: NEEDS[need] for need in kind.needs}
        calls.append(Call(f"{name}(...)", kind, {"problem": problem, "seed": 1, **needs}))
    options = {"discovery": cb.DirectTesting(), "max_size": 1, "variance": "monte-carlo", "samples": 9}
    real = {
        "discovery": cb.ResidualTesting(),
        "max_size": 1,
        "initial": 2,
        "variance": "bootstrap",
        "bootstraps": 5,
    }
    calls.append(Call("causal-ts(...)", cb.CausalThompsonSampling, {"problem": DISCRETE, **options}))
    calls.append(Call("causal-ucb-normal(...)", cb.CausalUCBNormal, {"problem": REAL, **real}))
    for name, problem in (
        ("safe", DISCRETE),
        ("ts", DISCRETE),
        ("causal-ucb-normal", REAL),
        ("ucb1", DISCRETE),
    ):
        policy: Policy[Any] = POLICIES[name](problem, seed=1)
        policy.tell_many(rows_of(problem, 80))
        calls += _methods(name, policy, problem)
    return calls


def _methods(name: str, policy: Policy[Any], problem: cb.Problem) -> Iterator[Call]:
    seen = {"m": 0.5 if problem.reward_is_real else 1, "k": "low", "y": 1.0 if problem.reward_is_real else 1}
    same = partial(_known, policy)
    methods: dict[str, dict[str, Any]] = {
        "ask": {"n": 2},
        "tell": {"arm": {"x": "a"}, "observation": seen, "missing": False},
        "tell_many": {"frame": rows_of(problem, 3), "arm": None, "missing": False},
        "recommend": {"margin": 0.1},
        "estimates": {"level": 0.9},
        "separating_sets": {"rejected": True},
        "restrict": {"arms": [{"x": "a"}, {}]},
        "save": {"path": "/nowhere/at/all"},
    }
    for method, arguments in methods.items():
        yield Call(f"{name}.{method}", getattr(policy, method), arguments, same)
    yield Call(f"{name}.load", type(policy).load, {"path": "/nowhere/at/all"}, same)


def _known(policy: Policy[Any]) -> Any:
    return policy.rows, policy.history.packed["rewards"].tobytes(), policy.history.packed["codes"].tobytes()


def studies(folder: Path) -> list[Call]:
    """A study's methods."""
    storage = f"sqlite:///{folder}/fuzz.db"
    calls = []
    for problem, name in ((DISCRETE, "s"), (REAL, "r")):
        study = cb.Study.create(name, problem, storage=storage, seed=1)
        for row, decision in zip(rows_of(problem, 30), study.ask(30), strict=True):
            if decision.id < 25:
                study.tell(decision, {"m": row["m"], "k": row["k"]}, reward=row["y"])
        calls += list(_study_methods(study, problem))
    made = {"name": "s", "problem": DISCRETE, "storage": storage, "policy": "safe", "seed": 1, "expire_after": None}
    calls.append(Call("Study.create", cb.Study.create, {**made, "options": {}}))
    calls.append(Call("Study.load", cb.Study.load, {"name": "s", "storage": storage}))
    calls.append(Call("Study.list", cb.Study.list, {"storage": storage}))
    return calls


def _study_methods(study: cb.Study, problem: cb.Problem) -> Iterator[Call]:
    row = rows_of(problem, 1)[0]
    mediators = {"m": row["m"], "k": row["k"]}
    same = partial(_stored, study)
    arms = study.problem.arms
    table = [{**one, "id": number} for number, one in enumerate(rows_of(problem, 2), start=27)]
    methods: dict[str, dict[str, Any]] = {
        "ask": {"n": 1, "key": "k", "arms": [{"x": "a"}, {}]},
        "tell": {"decision": 26, "mediators": mediators, "reward": row["y"], "final": False},
        "tell_many": {"frame": table, "final": False},
        "correct": {"decision": 3, "mediators": mediators, "reward": row["y"], "reason": "refund"},
        "exclude": {"decisions": [4], "reason": "bots"},
        "include": {"decisions": [4]},
        "abandon": {"decision": 30},
        "expire": {"older_than": 1e9},
        "import_rows": {"frame": rows_of(problem, 3), "arm": None, "key": "i"},
        "retire": {"arm": {"x": "a", "z": 1}},
        "forbid": {"arm": {"x": "a"}},
        "allow": {"arm": {"x": "a"}},
        "add_arm": {"settings": {"x": "a"}, "new_levels": False},
        "recommend": {"margin": 0.1},
        "estimates": {"level": 0.9},
        "separating_sets": {"rejected": True},
        "explain": {"decision": 3},
        "evaluate": {"policy": {arms[0]: 0.5, arms[1]: 0.5}, "method": "direct", "level": 0.9, "draws": 5},
        "evaluate ": {"policy": {"x": "a"}, "method": "weighted", "level": 0.9, "draws": 5},
        "propensity": {"decision": 3},
        "describe": {"history": False},
    }
    for method, arguments in methods.items():
        yield Call(f"study.{method}", getattr(study, method.strip()), arguments, same)
    for method in ("to_frame", "missing", "__repr__"):
        yield Call(f"study.{method}", lambda _nothing, m=method: getattr(study, m)(), {"_nothing": 0}, same)


def _stored(study: cb.Study) -> Any:
    return study._session.read(lambda state: state.seq)


def api_calls(cases: int, rng: np.random.Generator) -> Score:
    """The room: random calls, each with arguments spoilt; a call that failed must have changed nothing."""
    score = Score()
    with tempfile.TemporaryDirectory() as folder:
        calls = [*functions(), *policies(), *studies(Path(folder))]
        for _ in range(cases):
            call = calls[int(rng.integers(len(calls)))]
            arguments = spoil(call.arguments, rng)
            story = f"{call.name}({shown(arguments)})"
            before = call.unchanged() if call.unchanged else None
            if not judge(score, story, partial(_called, call, arguments)) and call.unchanged:
                judge_same(score, story, before, call.unchanged)
    return score


def _called(call: Call, arguments: dict[str, Any]) -> None:
    found = call.function(**arguments)
    try:
        repr(found)
    except ValueError as error:
        if "digits" not in str(error):  # Python itself shows no integer of this many
            raise


def judge_same(score: Score, story: str, before: Any, now: Callable[[], Any]) -> None:
    """A call that failed changed nothing; counted only where it did."""
    if now() != before:
        score.add("different", f"{story} failed, but changed something")
