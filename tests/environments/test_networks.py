"""Worlds from BIF files: what is read, what is refused, and that hiding variables changes no distribution."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits.errors import CausalBanditsError, WorldError
from causal_bandits.research.worlds import NETWORKS, DiscreteSCM, Nudge, from_bif
from causal_bandits.research.worlds.networks import Node, read_network

COIN = "variable X { type discrete [ 2 ] { a, b }; }\nprobability ( X ) { table 0.5, 0.5; }\n"
PAIR = COIN + "variable Z { type discrete [ 2 ] { c, d }; }\n"


def packaged(name: str) -> dict[str, Node]:
    folder = Path(__file__).parents[2] / "src/causal_bandits/core/datasets/networks"
    return read_network((folder / f"{name}.bif").read_text())


def joint(nodes: dict[str, Node], fixed: dict[str, str]) -> dict[tuple[str, ...], float]:
    """P(all variables | do(fixed)), cell by cell: the slow, obvious way."""
    found = {}
    for values in itertools.product(*(node.levels for node in nodes.values())):
        cell = dict(zip(nodes, values, strict=True))
        chance = 1.0
        for name, node in nodes.items():
            if name in fixed:
                chance *= cell[name] == fixed[name]
            else:
                row = node.table[tuple(nodes[parent].levels.index(cell[parent]) for parent in node.parents)]
                chance *= row[node.levels.index(cell[name])]
        found[values] = chance
    return found


def success(nodes: dict[str, Node], fixed: dict[str, str], target: str, levels: list[str]) -> float:
    place = list(nodes).index(target)
    return sum(chance for values, chance in joint(nodes, fixed).items() if values[place] in levels)


@pytest.mark.parametrize(
    ("name", "variables", "arrows", "parameters"), [("asia", 8, 8, 18), ("survey", 6, 6, 21), ("sachs", 11, 17, 178)]
)
def test_packaged_networks_have_their_published_sizes(name: str, variables: int, arrows: int, parameters: int) -> None:
    """Numbers of nodes, arcs and free parameters as the Bayesian Network Repository states them."""
    nodes = packaged(name)
    assert name in NETWORKS
    assert (len(nodes), sum(len(node.parents) for node in nodes.values())) == (variables, arrows)
    assert sum(node.table[..., 1:].size for node in nodes.values()) == parameters


def test_asia_by_hand() -> None:
    """P(dysp = no | do(smoke = no, bronc = no)) = .9 P(neither) + .3 P(either), P(neither) = .99 (1 - .0104)."""
    world = from_bif("asia", target="dysp", success="no", levers=["smoke", "bronc"])
    neither = 0.99 * (1 - (0.99 * 0.01 + 0.01 * 0.05))
    arm = {"I_smoke": "no", "I_bronc": "no"}
    assert world.means[world.problem.index(arm)] == pytest.approx(0.9 * neither + 0.3 * (1 - neither))


@pytest.mark.parametrize(
    ("name", "target", "levels", "levers"),
    [
        ("asia", "dysp", ["no"], {"smoke": ["yes"], "lung": ["no"]}),
        ("survey", "T", ["train", "other"], {"E": ["uni"]}),
        ("asia", "either", ["yes"], {"smoke": ["no"]}),
        ("asia", "either", ["no"], {"smoke": ["no"]}),
    ],
)
def test_means_are_those_of_the_network(
    name: str, target: str, levels: list[str], levers: dict[str, list[str]]
) -> None:
    nodes = packaged(name)
    world = from_bif(name, target=target, success=levels, levers=levers)
    for arm in world.problem.arms:
        fixed = {lever.removeprefix("I_"): str(value) for lever, value in arm.active.items()}
        assert world.means[world.problem.index(arm)] == pytest.approx(success(nodes, fixed, target, levels))


def test_effects_of_the_target_can_be_seen() -> None:
    """The target's level is recoded, and what it causes is not: P(xray = yes | either = yes) = .98."""
    everything = list(packaged("asia"))
    for level, code in (("yes", 1), ("no", 0)):
        world = from_bif("asia", target="either", success=level, levers="smoke", observed=everything)
        table = world.distribution({}, ["either", "xray"])
        assert table[code, 1] / table[code].sum() == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("name", "observed", "spouses"),
    [
        ("asia", ["lung", "bronc", "either"], [("lung", "bronc")]),
        ("asia", ["smoke", "bronc", "either"], []),
        ("survey", ["O", "R"], [("O", "R")]),
    ],
)
def test_hiding_changes_no_distribution(name: str, observed: list[str], spouses: list[tuple[str, str]]) -> None:
    target, levels = ("dysp", ["no"]) if name == "asia" else ("T", ["train"])
    nodes = packaged(name)
    lever = observed[1]
    world = from_bif(name, target=target, success=levels, levers=[lever], observed=observed)
    assert set(world.problem.observed_names) == set(observed)
    assert list(world.graph.bidirected) == spouses
    for arm in world.problem.arms:
        fixed = {each.removeprefix("I_"): str(value) for each, value in arm.active.items()}
        truth = joint(nodes, fixed)
        table = world.distribution(arm, [*observed, target])
        for cell in np.ndindex(table.shape):
            wanted = {each: nodes[each].levels[code] for each, code in zip(observed, cell, strict=False)}
            total = 0.0
            for values, chance in truth.items():
                found = dict(zip(nodes, values, strict=True))
                same = all(found[each] == value for each, value in wanted.items())
                total += chance * (same and (found[target] in levels) == bool(cell[-1]))
            assert table[cell] == pytest.approx(total, abs=1e-12)


def test_soft_levers_keep_the_parents() -> None:
    world = from_bif("sachs", target="Akt", success="HIGH", levers={"PKA": [Nudge(1.0), "LOW"]})
    assert [str(arm) for arm in world.problem.arms] == ["do()", "do(PKA=+1)", "do(PKA=LOW)"]
    nudged = world.distribution({"I_PKA": "+1"}, ["PKC", "PKA"])
    free = world.distribution({}, ["PKC", "PKA"])
    odds = (nudged[:, 2] / nudged[:, :2].sum(axis=1)) / (free[:, 2] / free[:, :2].sum(axis=1))
    assert odds == pytest.approx(float(np.exp(1)))


def test_a_file_by_its_path(tmp_path: Path) -> None:
    text = PAIR.replace("X", '"the X"') + 'probability ( Z | "the X" ) { // a comment\n (a) 0.1 0.9; (b) 0.8, 0.2; }'
    (tmp_path / "my.bif").write_text('network "mine" { property note = (1, 2); }\n/* two\nlines */' + text)
    world = from_bif(tmp_path / "my.bif", target="Z", success="d", levers="the X")
    assert world.means.tolist() == pytest.approx([0.55, 0.9, 0.2])


DAMAGED = {
    "empty": ("", "no variables"),
    "another format": ("<?xml version='1.0'?><BIF/>", "is not read; expected network"),
    "cut": (PAIR + "probability ( Z | X ) { (a) 0.1,", "is not read"),
    "a name without an end": ('variable "X { }', "is not read"),
    "continuous": ("variable X { type continuous; }", "expected network NAME { }, variable NAME { type discrete"),
    "levels": ("variable X { type discrete [ 3 ] { a, b }; }", "says 3 levels"),
    "one level": ("variable X { type discrete [ 1 ] { a }; }", "at least 2"),
    "no type": ("variable X { }", "is not read"),
    "twice": (COIN + "variable X { type discrete [ 2 ] { a, b }; }", "declared twice"),
    "table twice": (COIN + "probability ( X ) { table 0.5, 0.5; }", "given twice"),
    "no table": (PAIR, "no probabilities of 'Z'"),
    "unknown parent": (PAIR + "probability ( Z | W ) { (a) 1, 0; }", "'W' is not a variable"),
    "its own parent": (PAIR + "probability ( Z | Z ) { (c) 1, 0; }", "expected other variables"),
    "unknown level": (PAIR + "probability ( Z | X ) { (e) 1, 0; }", "the row (e) is not a level of each of 'X'"),
    "values": (PAIR + "probability ( Z | X ) { (a, b) 1, 0; }", "the row (a, b) is not a level of each"),
    "a row is missing": (PAIR + "probability ( Z | X ) { (b) 1, 0; }", "lacks the row (a)"),
    "a row twice": (PAIR + "probability ( Z | X ) { (b) 1, 0; (b) 1, 0; }", "a row twice"),
    "flat table": (PAIR + "probability ( Z | X ) { table 1, 0, 0, 1; }", "expected a row per joint value"),
    "joint table": (PAIR + "probability ( Z , X ) { table 1, 0, 0, 1; }", "is not read"),
    "numbers": (PAIR + "probability ( Z ) { table 0.5, 0.4, 0.1; }", "expected 2 probabilities"),
    "sum": (PAIR + "probability ( Z ) { table 0.5, 0.4; }", "is '0.5, 0.4'; expected 2 probabilities that sum to 1"),
    "negative": (PAIR + "probability ( Z ) { table -0.5, 1.5; }", "expected 2 probabilities"),
    "nan": (PAIR + "probability ( Z ) { table nan, 1; }", "expected 2 probabilities"),
    "words": (PAIR + "probability ( Z ) { table half, half; }", "is 'half, half'; expected 2 probabilities"),
    "decision": (COIN + "decision D { }", "'decision D { }' is not read"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_one_sentence(case: str, tmp_path: Path) -> None:
    text, words = DAMAGED[case]
    (tmp_path / "x.bif").write_text(text)
    with pytest.raises(WorldError) as caught:
        from_bif(tmp_path / "x.bif", target="Z", success="c", levers="X")
    assert words in str(caught.value)
    assert "x.bif" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lines_are_counted() -> None:
    with pytest.raises(WorldError, match=r"the text, line 4: 'flat \{ \}' is not read"):
        read_network(f"// first\n{COIN}flat {{ }}")


def test_comments_are_read_in_one_pass() -> None:
    """A reader that looks for the end of each of them again would need hours."""
    many = 300_000
    assert list(read_network("/* one */ // two\n" * many + COIN)) == list(read_network(COIN))
    with pytest.raises(WorldError, match=r"line 2: '\{ a comment that is not closed' is not read"):
        read_network("\n" + "/* " * many)


def test_a_cycle_is_refused() -> None:
    variables = "".join(f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for name in "XZ")
    both = "probability ( X | Z ) { default 0.5, 0.5; } probability ( Z | X ) { default 0.5, 0.5; }"
    with pytest.raises(WorldError, match="the text has a cycle"):
        read_network(variables + both)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "target": ({"target": "death"}, "'death' (target) is not a variable"),
    "success": ({"success": "maybe"}, "expected some of the levels"),
    "all succeed": ({"success": ["yes", "no"]}, "not all"),
    "lever": ({"levers": ["weather"]}, "'weather' (levers) is not a variable"),
    "no lever": ({"levers": []}, "expected variables to act on"),
    "lever on the target": ({"levers": ["dysp"]}, "not the target"),
    "level": ({"levers": {"smoke": ["often"]}}, "expected a Nudge or a level"),
    "twice": ({"levers": {"smoke": ["no", "no"]}}, "expected different levels"),
    "hidden lever": ({"observed": ["lung", "either"]}, "acts on a hidden variable"),
    "not a list": ({"observed": 3}, "expected a list of names"),
    "no such network": ({"network": "alarm"}, "neither a packaged network"),
    "no such file": ({"network": "/nowhere/x.bif"}, "cannot read"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_questions_are_one_sentence(case: str) -> None:
    changed, words = BAD[case]
    asked: dict[str, object] = {"network": "asia", "target": "dysp", "success": "no", "levers": ["smoke"], **changed}
    with pytest.raises(CausalBanditsError) as caught:
        from_bif(asked.pop("network"), **asked)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cause_with_causes_cannot_be_hidden() -> None:
    with pytest.raises(WorldError, match=r"'E' cannot be hidden: it has causes \('A', 'S'\)"):
        from_bif("survey", target="T", success="car", levers="O", observed=["A", "S", "O", "R"])
    with pytest.raises(WorldError, match="has 3 levels and causes 'Akt'"):
        from_bif("sachs", target="Erk", success="LOW", levers="Mek", observed=["Mek", "PKA", "Akt", "Raf", "PKC"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_cut_or_changed_file_escapes(data: st.DataObject) -> None:
    """A packaged file that is cut, or with a piece replaced, is read or refused in one sentence."""
    text = (Path(__file__).parents[2] / "src/causal_bandits/core/datasets/networks/asia.bif").read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    text = text[:start] + data.draw(st.text(alphabet='{}()[]|,;" \n0.5aé', max_size=5)) + text[end:]
    nodes, said = {}, ""
    try:
        nodes = read_network(text)
    except WorldError as error:
        said = str(error)
    assert bool(nodes) != bool(said)
    assert "\n" not in said
    assert all(np.allclose(node.table.sum(axis=-1), 1) for node in nodes.values())


def test_worlds_are_plain_ones() -> None:
    assert type(from_bif("asia", target="dysp", success="no", levers="smoke")) is DiscreteSCM
