"""The separation table against a search over paths, and what must be true of all graphs."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from causal_bandits.discovery.asd import cache
from causal_bandits.discovery.asd.graph_space import Graphs, Space, list_graphs
from causal_bandits.discovery.asd.separation import build_table
from causal_bandits.discovery.asd.statements import all_statements
from tests.reference import asd as naive

from .instances import truth

FULL = Space(4, (1, 2, 4))


@pytest.mark.parametrize(
    "space", [Space(2, (1,)), Space(3, (1, 2)), Space(3, (1, 2, 5), sufficient=True), Space(3, (1, 2), acyclic=False)]
)
def test_every_graph_of_a_small_space_agrees_with_the_path_search(space: Space) -> None:
    table = build_table(space)
    for place in range(len(table.rows)):
        graph = naive.graph_of(space, table.graphs, place)
        expected = naive.holds(space, graph, table.statements)
        assert np.array_equal(table.truth[table.rows[place]][table.columns], expected), graph


@pytest.mark.parametrize(("acyclic", "seed"), [(True, 1), (False, 2)])
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
    table = build_table(FULL)
    assert len(table.rows) == 543 * 64
    assert table.truth.shape == (5670, 225)
    assert len(table.columns) == 576
    assert Space(4, (1, 2, 4), acyclic=False).count == 4096 * 64
    assert Space(5, (1,)).count is None
    assert Space(5, (1,), sufficient=True).count == 29281
    assert Space(6, (1,), sufficient=True).count is None


def test_a_set_of_system_nodes_separates_all_contexts_or_none() -> None:
    """In every graph at 4 + 3: contexts form a bidirected clique, so one open context opens all."""
    table = build_table(FULL)
    reward = 3
    for given in range(8):
        columns = [table.columns[table.statements.find(reward, context, given)] for context in (4, 5, 6)]
        held = table.truth[:, columns]
        assert np.array_equal(held.all(axis=1), held.any(axis=1))


def test_separating_all_given_each_other_is_separating_all() -> None:
    """What `ASD` asks per intervention variable adds up to what the paper asks for all of them, in every graph."""
    table = build_table(FULL)
    reward, contexts = 3, (4, 5, 6)
    for given in range(8):
        others = [given | sum(1 << other for other in contexts if other != context) for context in contexts]
        pairs = zip(contexts, others, strict=True)
        apart = [table.columns[table.statements.find(reward, context, mask)] for context, mask in pairs]
        together = table.columns[table.statements.find(reward, 4, given)]
        assert np.array_equal(table.truth[:, apart].all(axis=1), table.truth[:, together])


def test_the_table_is_stored_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    space = Space(3, (1, 2))
    cache.separation_table.cache_clear()
    built = cache.separation_table(space)
    (file,) = tmp_path.iterdir()
    cache.separation_table.cache_clear()
    monkeypatch.setattr(cache, "build_table", lambda space: pytest.fail("built again"))
    read = cache.separation_table(space)
    assert np.array_equal(read.truth[read.rows][:, read.columns], built.truth[built.rows][:, built.columns])
    assert np.array_equal(read.graphs.parents, built.graphs.parents)
    cache.separation_table.cache_clear()
    monkeypatch.undo()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    file.write_bytes(file.read_bytes()[:500])  # damaged: built again
    assert np.array_equal(cache.separation_table(space).truth, built.truth)
    cache.separation_table.cache_clear()


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "below")
    cache.separation_table.cache_clear()
    assert cache.separation_table(Space(2, (1,))).truth.size
    cache.separation_table.cache_clear()


def _build_in(folder: str) -> int:
    cache.cache_folder = lambda: Path(folder)
    return int(cache.separation_table(Space(3, (1, 2))).truth.sum())


def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_build_in, [str(tmp_path)] * 4, chunksize=1)
    assert len(set(found)) == 1
    assert len(list(tmp_path.iterdir())) == 1
