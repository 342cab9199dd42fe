# Each target works as the only command on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo chromium test test-slow test-peers adversary check bench bench-threads bench-automl docs dist warmup clean

help:
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/made: 
	@$(PYTHON) -c 'import sys; sys.exit("corollary needs Python 3.11 or newer; set PYTHON=python3.x") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/core: $(VENV)/made pyproject.toml
	$(PIP) install -e .
	@touch $@

# one stamp per extra, so that a target installs what it needs and no more
$(VENV)/extra-%: $(VENV)/core pyproject.toml
	$(PIP) install -e '.[$*]'
	@touch $@

demo: $(VENV)/core ## compare models on an embedded data set; writes a report and a model file
	$(BIN)/corollary demo

# Reports are tested in a browser. Debian's is installed where that can be done; without one those tests are skipped.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| test -n "$$COROLLARY_CHROMIUM" \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	|| echo "There is no Chromium here and none can be installed: tests of reports in a browser will be skipped."

test: $(VENV)/extra-test chromium ## all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow" -n $${COROLLARY_TEST_WORKERS:-2} --dist worksteal

test-slow: $(VENV)/extra-test ## the long tests
	$(BIN)/python -m pytest -m slow

test-peers: $(VENV)/extra-test ## scikit-learn's own tests with our classes in the place of theirs
	$(BIN)/python -m tests.peers --workers $${COROLLARY_TEST_WORKERS:-2}

adversary: $(VENV)/extra-test ## 20 000 hostile fits, each judged by the referee; SEED=1 for others
	$(BIN)/python -m tests.adversary --fits $${FITS:-20000} --seed $${SEED:-0}

check: $(VENV)/extra-dev ## lint, types, import layers
	$(BIN)/ruff check src tests benchmarks examples docs/images docs/data
	$(BIN)/ruff format --check src tests benchmarks examples docs/images docs/data
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/extra-bench ## side by side with the peers; rewrites docs/benchmarks.md and README's table
	$(BIN)/python -m benchmarks --write docs/benchmarks.md
	$(BIN)/python -m benchmarks.readme

bench-threads: $(VENV)/extra-bench ## time against 1, 2, 4, … threads; worth it on a machine with many cores
	$(BIN)/python -m benchmarks.curves --write docs/curves.json
	$(BIN)/python -m benchmarks.curves_picture

bench-automl: $(VENV)/extra-automl ## compare beside FLAML and AutoGluon, 2 minutes each on 8 tables; DATA=FOLDER of the shared data
	$(BIN)/python -m benchmarks.automl --data $${DATA:-../shared/data} --write docs/automl.md

docs: $(VENV)/extra-docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(VENV)/extra-test ## build sdist and wheel into dist/, and try the wheel in a clean environment
	$(BIN)/python -m tests.installing

warmup: $(VENV)/core ## compile every kernel into the on-disk cache
	$(BIN)/corollary warmup

clean:
	rm -rf $(VENV) site build dist src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
