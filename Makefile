# The few verbs of this repository; `make help` lists them.
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# By all processors, and without the tests of libraries: two thirds of the work that pip makes of it.
BYTE_CODE = $(BIN)/python -m compileall -q -j 0 -x '/tests/' $(VENV)/lib >/dev/null 2>&1 || true
PINS := pyproject.toml constraints.txt
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)

# One more than processors: of what tests take a fifth is waiting for others.
JOBS ?= 3
CORPUS := $(abspath $(VENV))/corpus
CHECKED := $(abspath $(VENV))/checked
BOUNDED := 1000000
SMALL := tests/data/cc/dctcp_a1.pcap.zst
PLAY := from collector import CollectorSettings; from replay import scenario, simulate; \
	simulate(scenario.demo(duration_ns=1_000_000), CollectorSettings())
# Code that several tests run, and the tests' own, is made once while the worker's is compiled.
BEFORE = $(BIN)/hopsight decode $(SMALL); $(BIN)/python -c '$(PLAY)'; \
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -q $(ARGS)

export DEBIAN_FRONTEND := noninteractive

.PHONY: help setup demo test lint bench soak docs clean tools
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Make .venv with everything that developing and testing need

demo: $(VENV)/.run ## Known fabric in, bottlenecks beside the truth out, then the console (ONCE=1 skips it)
	$(BIN)/hopsight demo $(if $(filter-out 0 no false,$(ONCE)),--once)

test: $(VENV)/.dev tools ## Run the tests in JOBS=3 processes (ARGS= are handed to pytest)
	@$(BIN)/python -m compileall -q collector pipeline replay service # hundreds of processes start
	@$(BIN)/python -m pipeline.warming & { $(BEFORE); } >/dev/null 2>&1; wait
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

lint: $(VENV)/.dev ## Check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev tools ## Run every benchmark and write docs/benchmarks.md
	@$(PIP) -q install -c constraints.txt dpkt # only to be compared with
	$(BIN)/python benchmarks/run.py

soak: $(VENV)/.dev tools ## Damage and compare millions of frames, fuzz the plain reader (takes half an hour)
	$(BIN)/python benchmarks/soak_walk.py
	NUMBA_BOUNDSCHECK=1 HOPSIGHT_CACHE_DIR=$(CHECKED) $(BIN)/python benchmarks/soak_walk.py $(BOUNDED) 10000
	$(BIN)/python benchmarks/soak_tshark.py
	$(BIN)/python benchmarks/soak_flood.py
	$(BIN)/python benchmarks/soak_kill.py
	$(BIN)/python benchmarks/soak_gaps.py
	$(BIN)/python benchmarks/soak_gaps.py 25 2 interface
	$(BIN)/python benchmarks/soak_takeover.py
	$(BIN)/python benchmarks/soak_live.py
	$(BIN)/python benchmarks/soak_live.py --seconds 600 --rate 100000
	$(BIN)/python benchmarks/soak_live.py --rows --rate 310000
	$(BIN)/python benchmarks/soak_large.py
	CONTRACT_EXAMPLES=300 $(BIN)/python -m pytest -q tests/service/test_contract.py
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --every-case -m sampled
	@$(PIP) install atheris || { echo "Atheris has no package for this machine; nothing is fuzzed."; exit 0; }; \
	$(BIN)/python benchmarks/fuzz_scalar.py $(CORPUS) -max_len=1024 -max_total_time=300 && \
	NUMBA_BOUNDSCHECK=1 HOPSIGHT_CACHE_DIR=$(CHECKED) $(BIN)/python benchmarks/fuzz_scalar.py --replay $(CORPUS)

docs: $(VENV)/.dev ## Write the reference pages from the tables
	$(BIN)/python docs/generate.py

clean: ## Remove the virtual environment and all that was built
	rm -rf $(VENV) build dist demo .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

tools:
	@sh .ci/tools

# The stamps say what is installed; an install happens again only when the pins have changed.
$(VENV)/.run: $(PINS) | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e .
	@$(BYTE_CODE)
	@touch $@

$(VENV)/.dev: $(PINS) | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e '.[dev]'
	@$(BYTE_CODE)
	@touch $(VENV)/.run $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "hopsight needs Python 3.11 or newer on PATH, or PYTHON=/path/to/it."; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	echo "Python's venv module is incomplete here; on Debian: apt-get install python3-venv."; exit 1; }
	@$(PIP) -q install --upgrade pip 2>/dev/null || true # what comes with Python takes twice as long
