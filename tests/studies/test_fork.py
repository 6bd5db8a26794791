"""Processes that fork while a study is open."""

import os

import pytest

import causal_bandits as cb

from .cases import SHOP


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_connections_of_its_own(storage: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=storage, seed=1)
    study.ask()
    child = os.fork()
    if child == 0:
        try:
            study.ask()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert study.ask().id == 3
