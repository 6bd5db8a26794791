# The README's two commands are `make demo` and `make test`; both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
# The theme advertises its successor on every build unless this is set.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
PIP_FLAGS := --quiet --disable-pip-version-check --no-input -c constraints.txt

.PHONY: setup demo test check docs bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "causal-bandits needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/causal-bandits reproduce fig2a --scale quick --out results

check: setup
	@$(BIN)/ruff check src tests benchmarks scripts docs/_extensions
	@$(BIN)/ruff format --check src tests benchmarks scripts docs/_extensions
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(MKDOCS)

docs: setup
	@$(MKDOCS)
	@echo "Open site/index.html in a browser"

test: check
	@$(BIN)/python -m pytest -n 2 --dist worksteal

$(BENCH_VENV)/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(BENCH_VENV) with the peers to measure against (once)"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input -e '.[bench]'
	@touch $@

bench: $(BENCH_VENV)/.ready
	@$(BENCH_VENV)/bin/python -m benchmarks

clean:
	rm -rf $(VENV) $(BENCH_VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
