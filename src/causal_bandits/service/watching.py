"""Watching studies: one poll for each study that somebody watches, whoever changed it, and any number of streams."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from starlette.concurrency import run_in_threadpool

from ..errors import CausalBanditsError, StorageError
from ..studies import Change
from .desk import Desk
from .measuring import Measures
from .plain import plain

POLL_SECONDS = 0.5
BEAT_SECONDS = 15.0
AT_ONCE = 500


class Watch:
    """The streams of a process."""

    def __init__(self, desk: Desk, measures: Measures, closing: asyncio.Event, most: int) -> None:
        self._desk, self._measures, self._closing, self._most = desk, measures, closing, most
        self._moved: dict[str, asyncio.Event] = {}
        self._watchers: dict[str, int] = {}

    async def stream(self, name: str, after: int | None) -> AsyncIterator[str]:
        """The events of a study from a number on; an unknown study is an error before anything is sent."""
        newest = await run_in_threadpool(lambda: self._desk.look(name, lambda study: study.newest.sequence))
        if self._measures.streams >= self._most:
            raise StorageError(f"this server has {self._most} streams of events already; close some, or ask later")
        return self._sent(name, newest if after is None else min(after, newest))

    async def _sent(self, name: str, seen: int) -> AsyncIterator[str]:
        self._measures.streams += 1
        quiet = 0.0
        try:
            yield f"retry: 2000\nid: {seen}\n\n"
            while not self._closing.is_set():
                try:
                    found = await self._news(name, seen)
                except CausalBanditsError as error:
                    yield f"event: gone\ndata: {json.dumps({'detail': str(error)})}\n\n"
                    return
                if found:
                    yield "".join(map(sent, found))
                    seen, quiet = found[-1].sequence, 0.0
                    continue
                await self._pause()
                quiet += POLL_SECONDS
                if quiet >= BEAT_SECONDS:
                    quiet = 0.0
                    yield ": still here\n\n"
        finally:
            self._measures.streams -= 1

    async def _news(self, name: str, seen: int) -> Sequence[Change]:
        return await run_in_threadpool(lambda: self._desk.look(name, lambda study: study.changes(seen, limit=AT_ONCE)))

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), POLL_SECONDS)
        except TimeoutError:
            return


def sent(change: Change) -> str:
    """A change as a server-sent event."""
    return f"id: {change.sequence}\nevent: {change.kind}\ndata: {json.dumps(plain(change))}\n\n"
