"""Streams of events: one poll for each watched study, however many streams it has."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, StorageError
from causal_bandits.product.service import watching
from causal_bandits.product.service.measuring import Measures
from causal_bandits.product.service.registry import StudyRegistry
from causal_bandits.product.service.watching import Watch
from causal_bandits.product.studies import Change

STREAMS = 300
Scene = Callable[[StudyRegistry], Coroutine[Any, Any, None]]
PROBLEM = cb.Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})


class Counting(Watch):
    """Counts what is read, and reads the second time only when it may."""

    def __init__(self, registry: StudyRegistry, most: int = STREAMS) -> None:
        self.measures, self.closing = Measures(), asyncio.Event()
        super().__init__(registry, self.measures, self.closing, most)
        self.reads: Counter[str] = Counter()
        self.may_read = asyncio.Event()

    async def _read(self, name: str, seen: int) -> Sequence[Change]:
        if self.reads[name]:
            await self.may_read.wait()
        self.reads[name] += 1
        return await super()._read(name, seen)


@pytest.fixture
def play(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[StudyRegistry], Coroutine[Any, Any, None]]], None]:
    """Runs something with two studies."""
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.01)

    def work(scene: Scene) -> None:
        registry = StudyRegistry(storage)
        for name in ("shop", "other"):
            registry.create(name, PROBLEM, {"policy": "ts", "seed": 1})
        asyncio.run(scene(registry))
        registry.close()

    return work


async def begin(watch: Watch, name: str = "shop", after: int | None = None) -> Any:
    stream = await watch.stream(name, after)
    assert (await anext(stream)).startswith("retry: 2000\nid: ")
    return stream


def test_one_poll_for_all_streams(play: Any) -> None:
    async def scene(registry: StudyRegistry) -> None:
        watch = Counting(registry)
        streams = [await begin(watch) for _ in range(STREAMS - 1)]
        streams.append(await begin(watch, "other"))
        waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
        registry.act("shop", lambda study: study.ask())
        watch.may_read.set()
        found = [await each for each in waiting[:-1]]
        assert len(set(found)) == 1
        assert found[0].startswith("id: 2\nevent: asked\n")
        assert not waiting[-1].done()
        reads = watch.reads["shop"]
        assert reads <= 3  # before the change, at it, and the one that may be under way
        assert len(watch._feeds) == 2
        watch.closing.set()
        with pytest.raises(StopAsyncIteration):
            await waiting[-1]
        for stream in streams:
            await stream.aclose()
        assert (watch.measures.streams, watch._feeds) == (0, {})

    play(scene)


def test_the_poll_ends_with_the_last_stream(play: Any) -> None:
    async def scene(registry: StudyRegistry) -> None:
        watch = Counting(registry)
        first, second = await begin(watch), await begin(watch)
        task = watch._feeds["shop"].task
        assert task is not None
        await first.aclose()
        assert not task.cancelled()
        await second.aclose()
        await asyncio.wait([task])
        assert task.cancelled()
        assert (watch.measures.streams, watch._feeds) == (0, {})

    play(scene)


def test_a_stream_begins_where_its_reader_was(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when that is longer ago than what is kept for all."""
    monkeypatch.setattr(watching, "AT_ONCE", 3)

    async def scene(registry: StudyRegistry) -> None:
        watch = Counting(registry)
        watch.may_read.set()
        for _ in range(10):
            registry.act("shop", lambda study: study.ask())
        stream = await begin(watch, after=1)
        text = ""
        while "id: 11\n" not in text:
            text += await anext(stream)
        registry.act("shop", lambda study: study.ask())
        text += await anext(stream)
        ids = [int(line.removeprefix("id: ")) for line in text.splitlines() if line.startswith("id: ")]
        assert ids == [*range(2, 13)]
        await stream.aclose()

    play(scene)


def test_streams_are_bounded_and_end_with_their_study(play: Any) -> None:
    async def scene(registry: StudyRegistry) -> None:
        watch = Counting(registry, most=2)
        watch.may_read.set()
        begun = await asyncio.gather(*(watch.stream("shop", None) for _ in range(5)), return_exceptions=True)
        refused = [each for each in begun if isinstance(each, StorageError)]
        assert len(refused) == 3
        assert str(refused[0]) == "this server already has 2 event streams; close some, or try again later"
        streams = [each for each in begun if not isinstance(each, BaseException)]
        registry.delete("shop")
        for stream in streams:
            said = [text async for text in stream]
            assert said[-1].startswith("event: gone\n")
        assert (watch.measures.streams, watch._feeds) == (0, {})
        with pytest.raises(CausalBanditsError):
            await watch.stream("shop", None)
        assert watch.measures.streams == 0

    play(scene)
