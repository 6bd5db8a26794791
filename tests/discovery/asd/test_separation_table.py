"""The separation table against a search over paths, and what must be true of all graphs."""

import numpy as np
import pytest

from causal_bandits.core.discovery.asd.graph_space import Graphs, Space, list_graphs
from causal_bandits.core.discovery.asd.separation import separation_table
from causal_bandits.core.discovery.asd.statements import all_statements
from tests.reference import asd as naive

from .instances import truth

FULL = Space(4, (1, 2, 4))


@pytest.mark.parametrize(
    "space", [Space(2, (1,)), Space(3, (1, 2)), Space(3, (1, 2, 5), sufficient=True), Space(3, (1, 2), acyclic=False)]
)
def test_every_graph_of_a_small_space_agrees_with_the_path_search(space: Space) -> None:
    table = separation_table(space)
    for place in range(len(table.rows)):
        graph = naive.graph_of(space, table.graphs, place)
        expected = naive.holds(space, graph, table.statements)
        assert np.array_equal(table.truth[table.rows[place]][table.columns], expected), graph


@pytest.mark.parametrize(("acyclic", "seed"), [(True, 1), pytest.param(False, 2, marks=pytest.mark.slow)])
def test_sampled_graphs_over_four_nodes_agree_with_the_path_search(acyclic: bool, seed: int) -> None:
    space = Space(4, (1, 2, 4), acyclic=acyclic)
    graphs = list_graphs(space)
    statements = all_statements(4, 3)
    chosen = np.random.default_rng(seed).choice(len(graphs.parents), size=150, replace=False)
    sample = Graphs(graphs.parents[chosen], graphs.spouses[chosen])
    found = truth(space, sample)
    for place in range(len(chosen)):
        graph = naive.graph_of(space, sample, place)
        assert np.array_equal(found[place], naive.holds(space, graph, statements)), graph


def test_numbers_of_graphs_rows_and_columns() -> None:
    table = separation_table(FULL)
    assert len(table.rows) == 543 * 64
    assert table.truth.shape == (5670, 225)
    assert len(table.columns) == 576
    assert Space(4, (1, 2, 4), acyclic=False).count == 4096 * 64
    assert Space(5, (1,)).count is None
    assert Space(5, (1,), sufficient=True).count == 29281
    assert Space(6, (1,), sufficient=True).count is None


def test_a_set_of_system_nodes_separates_all_contexts_or_none() -> None:
    """In every graph at 4 + 3: contexts form a bidirected clique, so one open context opens all."""
    table = separation_table(FULL)
    reward = 3
    for given in range(8):
        columns = [table.columns[table.statements.find(reward, context, given)] for context in (4, 5, 6)]
        held = table.truth[:, columns]
        assert np.array_equal(held.all(axis=1), held.any(axis=1))


def test_separating_all_given_each_other_is_separating_all() -> None:
    """What `ASD` asks per lever adds up to what the paper asks for all of them, in every graph."""
    table = separation_table(FULL)
    reward, contexts = 3, (4, 5, 6)
    for given in range(8):
        others = [given | sum(1 << other for other in contexts if other != context) for context in contexts]
        pairs = zip(contexts, others, strict=True)
        apart = [table.columns[table.statements.find(reward, context, mask)] for context, mask in pairs]
        together = table.columns[table.statements.find(reward, 4, given)]
        assert np.array_equal(table.truth[:, apart].all(axis=1), table.truth[:, together])
