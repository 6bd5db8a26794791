"""Threads that work for an event loop."""

import asyncio
import threading

import pytest

from causal_bandits.service.hands import Hands


def test_work_is_done_beside_the_loop_and_by_few_threads() -> None:
    async def main() -> None:
        hands = Hands(3)
        seen = [await hands.do(threading.get_ident) for _ in range(20)]
        assert len(set(seen)) == 1
        assert seen[0] != threading.get_ident()
        together = threading.Barrier(3)
        assert len({*await asyncio.gather(*(hands.do(together.wait) for _ in range(9)))}) == 3
        hands.close()

    asyncio.run(main())


def test_errors_come_back_and_who_went_away_holds_nobody_up() -> None:
    async def main() -> None:
        hands, go = Hands(2), threading.Event()
        with pytest.raises(ZeroDivisionError):
            await hands.do(lambda: 1 // 0)
        gone = asyncio.create_task(hands.do(go.wait))
        await asyncio.sleep(0)
        gone.cancel()
        assert await hands.do(lambda: 1) == 1  # a second thread: the first one is still at work
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert await hands.do(lambda: 2) == 2
        hands.close()

    asyncio.run(main())
