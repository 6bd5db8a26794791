"""A short run of every room of the fuzzing harness; `python -m benchmarks.fuzz` is the long one."""

import pytest
from benchmarks.fuzz.__main__ import run_room

CASES = {"api": 200, "commands": 40, "options": 40, "saves": 30, "events": 25, "pages": 10, "log": 3, "chunks": 6}
"""Caches are left to the long run: every case there is a process that compiles."""


@pytest.mark.parametrize("room", CASES)
def test_hostile_cases_end_in_one_sentence(room: str) -> None:
    score = run_room(room, CASES[room], seed=20)
    assert score.cases >= CASES[room]
    assert score.passed, "\n".join(score.failures)
