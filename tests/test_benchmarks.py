"""The benchmarks keep what they measured."""

import json
from pathlib import Path

import pytest
from benchmarks import __main__ as benchmarks


def fails() -> dict[str, float]:
    raise RuntimeError("no server")


def test_figures_are_kept_when_a_later_part_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results.json"
    results.write_text('{"other": 1.0, "first": 1.0}')
    monkeypatch.setattr(benchmarks, "RESULTS", results)
    parts = {"one": ("one", lambda: {"first": 2.00001, "second": 3.0}), "two": ("two", fails)}
    monkeypatch.setattr(benchmarks, "PARTS", parts)
    with pytest.raises(RuntimeError, match="no server"):
        benchmarks.main([])
    assert json.loads(results.read_text()) == {"other": 1.0, "first": 2.0, "second": 3.0}
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_part_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmarks.main(["serve"]) == 2
    assert "'serve' is not a part; choose from river," in capsys.readouterr().out
