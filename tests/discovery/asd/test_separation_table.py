"""The separation table against a search over paths, and what must be true of all graphs."""

import errno
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import errors
from causal_bandits.core.discovery.asd import cache
from causal_bandits.core.discovery.asd.graph_space import Graphs, Space, list_graphs
from causal_bandits.core.discovery.asd.separation import SeparationTable, build_table
from causal_bandits.core.discovery.asd.statements import all_statements
from causal_bandits.errors import CacheWarning
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
    """What `ASD` asks per lever adds up to what the paper asks for all of them, in every graph."""
    table = build_table(FULL)
    reward, contexts = 3, (4, 5, 6)
    for given in range(8):
        others = [given | sum(1 << other for other in contexts if other != context) for context in contexts]
        pairs = zip(contexts, others, strict=True)
        apart = [table.columns[table.statements.find(reward, context, mask)] for context, mask in pairs]
        together = table.columns[table.statements.find(reward, 4, given)]
        assert np.array_equal(table.truth[:, apart].all(axis=1), table.truth[:, together])


SMALL = Space(3, (1, 2))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache; nothing is in memory, nothing was said."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(errors, "_warned", set())
    cache.separation_table.cache_clear()
    yield tmp_path / "cache"
    cache.separation_table.cache_clear()


def table_again(space: Space = SMALL) -> SeparationTable:
    """As a new process would find it."""
    cache.separation_table.cache_clear()
    return cache.separation_table(space)


def arrays(table: SeparationTable) -> list[NDArray[Any]]:
    return [*table.graphs, *table.statements, table.rows, table.columns, table.truth]


def same(one: SeparationTable, other: SeparationTable) -> bool:
    pairs = zip(arrays(one), arrays(other), strict=True)
    return all(np.array_equal(mine, yours) and mine.dtype == yours.dtype for mine, yours in pairs)


def test_the_table_is_stored_and_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = table_again()
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(cache, "build_table", lambda space: pytest.fail("built again"))
    assert same(table_again(), built)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:500],
    "one byte short": lambda content: content[:-1],
    "a bit flipped": lambda content: content[:999] + bytes([content[999] ^ 4]) + content[1000:],
    "zeros": lambda content: bytes(len(content)),
    "an archive without its digest": lambda content: content[32:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_said_once_and_built_again(folder: Path, damage: str) -> None:
    built = table_again()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    with pytest.warns(CacheWarning, match="is corrupt; it is built again and replaced"):
        assert same(table_again(), built)
    assert cache._unpack(file.read_bytes()[32:]).truth.shape == built.truth.shape
    file.write_bytes(DAMAGES[damage](whole))
    assert same(table_again(), built)  # without another word: the tests turn warnings into errors


def test_the_table_of_another_space_is_not_taken_for_it(folder: Path) -> None:
    other = Space(3, (1, 4))
    built = table_again()
    table_again(other)
    shutil.copy(cache.cache_file(other), cache.cache_file(SMALL))
    with pytest.warns(CacheWarning, match="is corrupt"):
        assert same(table_again(), built)


@pytest.mark.parametrize("thing", ["directory", "pipe", "too large", "loop"])
def test_what_is_no_table_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch, thing: str) -> None:
    built = table_again()
    file = cache.cache_file(SMALL)
    if thing == "too large":
        monkeypatch.setattr(cache, "MOST_BYTES", file.stat().st_size)
    else:
        file.unlink()
    if thing == "directory":
        (file / "below").mkdir(parents=True)
    elif thing == "pipe":
        os.mkfifo(file)
    elif thing == "loop":
        file.symlink_to(file)
    with pytest.warns(CacheWarning, match=r"is corrupt|cannot be read|cannot be cached"):
        assert same(table_again(), built)


def test_a_folder_that_cannot_be_written_is_said_once(folder: Path) -> None:
    folder.touch()
    with pytest.warns(CacheWarning, match=r"cannot be cached in '.*' \(.*\): until then every process builds it"):
        assert cache.separation_table(SMALL).truth.size
    assert table_again().truth.size


def test_a_full_disk_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.warns(CacheWarning, match=r"cannot be cached in '.*' \(No space left on device\)"):
        assert cache.separation_table(SMALL).truth.size
    assert not list(folder.iterdir())


def _build_in(folder: str) -> int:
    cache.cache_folder = lambda: Path(folder)
    return int(cache.separation_table(Space(3, (1, 2))).truth.sum())


@pytest.mark.slow
def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_build_in, [str(tmp_path)] * 4, chunksize=1)
    assert len(set(found)) == 1
    assert len(list(tmp_path.iterdir())) == 1
