"""Watching studies: one poll for each study that somebody watches, whoever changed it, and any number of streams."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence

from starlette.concurrency import run_in_threadpool

from ...core.serialization import to_json
from ...errors import CausalBanditsError, StorageError
from ..studies import Change
from .measuring import Measures
from .registry import StudyRegistry

POLL_SECONDS = 0.5
BEAT_SECONDS = 15.0
AT_ONCE = 500
"""Changes that are read at once."""


class Feed:
    """The newest changes of one study, read by one task for all its streams."""

    def __init__(self, newest: int) -> None:
        self.streams = 0
        self.task: asyncio.Task[None] | None = None
        self.error: CausalBanditsError | None = None
        self.newest = newest
        self.changes: Sequence[Change] = ()
        """What was read last; `newest` is the last of them."""
        self.moved = asyncio.Event()
        """Set, and replaced, whenever there is news."""


class Watch:
    """The streams of a process."""

    def __init__(self, registry: StudyRegistry, measures: Measures, closing: asyncio.Event, most: int) -> None:
        self._registry, self._measures, self._closing, self._most = registry, measures, closing, most
        self._feeds: dict[str, Feed] = {}

    async def stream(self, name: str, after: int | None) -> AsyncGenerator[str, None]:
        """The events of a study from a number on; an unknown study is an error before anything is sent.

        Whoever calls this must close the iterator; it counts as a stream until then.
        """
        if self._measures.streams >= self._most:
            raise StorageError(f"this server already has {self._most} event streams; close some, or try again later")
        self._measures.streams += 1
        try:
            newest = await run_in_threadpool(self._registry.look, name, lambda study: study.newest.sequence)
            sent = self._sent(name, newest, newest if after is None else min(after, newest))
            await anext(sent)  # begun, so that its end is certain to be reached
        except BaseException:
            self._measures.streams -= 1
            raise
        return sent

    async def _sent(self, name: str, newest: int, seen: int) -> AsyncGenerator[str, None]:
        feed = self._feeds.get(name)
        if feed is None or feed.error is not None:
            feed = self._feeds[name] = Feed(newest)
            feed.task = asyncio.ensure_future(self._poll(name, feed))
        feed.streams += 1
        try:
            yield ""
            yield f"retry: 2000\nid: {seen}\n\n"
            while not self._closing.is_set():
                moved = feed.moved
                found = [change for change in feed.changes if change.sequence > seen]
                if seen < feed.newest and (not found or found[0].sequence > seen + 1):  # longer ago than what was read
                    found = [*await self._read(name, seen)]
                if found:
                    yield "".join(map(sent, found))
                    seen = found[-1].sequence
                elif feed.error is not None:
                    yield f"event: gone\ndata: {json.dumps({'detail': str(feed.error)})}\n\n"
                    return
                else:
                    try:
                        await asyncio.wait_for(moved.wait(), BEAT_SECONDS)
                    except TimeoutError:
                        yield ": still here\n\n"
        except CausalBanditsError as error:
            yield f"event: gone\ndata: {json.dumps({'detail': str(error)})}\n\n"
        finally:
            self._measures.streams -= 1
            feed.streams -= 1
            if feed.streams == 0 and feed.task is not None:
                feed.task.cancel()
                if self._feeds.get(name) is feed:
                    del self._feeds[name]

    async def _poll(self, name: str, feed: Feed) -> None:
        """Read what changed, as long as somebody watches."""

        def wake() -> None:
            moved, feed.moved = feed.moved, asyncio.Event()
            moved.set()

        try:
            while not self._closing.is_set():
                found = await self._read(name, feed.newest)
                if found:
                    feed.changes, feed.newest = found, found[-1].sequence
                    wake()
                if len(found) < AT_ONCE:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._closing.wait(), POLL_SECONDS)
        except CausalBanditsError as error:
            feed.error = error
        finally:
            wake()

    async def _read(self, name: str, seen: int) -> Sequence[Change]:
        return await run_in_threadpool(
            lambda: self._registry.look(name, lambda study: study.changes(seen, limit=AT_ONCE))
        )


def sent(change: Change) -> str:
    """A change as a server-sent event."""
    return f"id: {change.sequence}\nevent: {change.kind}\ndata: {json.dumps(to_json(change))}\n\n"
