# Two commands are all a fresh machine needs: `make demo` and `make test`. Each does all its set-up.
# Python: the first of these that is 3.11 or newer; choose another with `make PYTHON=/path/to/python demo`.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ONLY :=
TINY :=
RUNS :=
SIZE :=
POSTS :=
GRAPHS :=
OUT :=
# Compiled modules are kept, whatever the environment says: else each worker and each child process compiles all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-rest test-all slow lint types format advisories chaos bench coverage reproduce notebooks docs pictures reference release lock clean help

help:
	@echo "make demo    crawl the mock X API, with all set-up"
	@echo "make test    the quick tests, which cover every feature, with all set-up"
	@echo "make test-all    all tests"
	@echo "make lint types format    ruff; mypy --strict; ruff format"
	@echo "make advisories    look up the locked packages among the advisories of pip's index"
	@echo "make chaos   slower failure tests"
	@echo "make bench   measure; ONLY=name for one; TINY=1 to see that they work; POSTS=1000000 for ONLY=growth"
	@echo "make coverage    measure how often intervals hold the truth; ONLY=name, RUNS=20"
	@echo "make reproduce    make every figure and table of the papers; SIZE=tiny, quick, full or paper; ONLY=kumar or kumar/fig1a"
	@echo "make notebooks    run the notebooks and write their outputs anew; ONLY=name for one"
	@echo "make release    check that this can be released, and build it in dist/"
	@echo "make reference    write the reference pages that are made from the program"
	@echo "make pictures    draw the pictures of the README from real crawls of the mock: four minutes"
	@echo "make docs    build the documentation as a site: open site/index.html"
	@echo "make lock    renew the lock files (needs uv)"

demo: $(VENV)/.core
	$(BIN)/socialcrawl demo
	@echo
	@echo 'the command is $(BIN)/socialcrawl; source $(BIN)/activate puts it on the path'

test: $(VENV)/.dev
	$(BIN)/pytest -n 4 --dist worksteal -m "not slow and not chaos"

test-rest: $(VENV)/.dev
	$(BIN)/pytest -n 3 --dist worksteal -m "slow and not chaos"

test-all: test test-rest

# Which tests are slow is measured: on a quiet machine.
slow: $(VENV)/.dev
	$(BIN)/pytest -n 3 --dist worksteal --junitxml=.pytest_cache/durations.xml
	$(BIN)/python .ci/slow.py .pytest_cache/durations.xml

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.dev
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The index is asked once for each package, if it has advisories at all; else this says "skipped" and why.
advisories: $(VENV)/.dev
	$(BIN)/python .ci/advisories.py

chaos: $(VENV)/.dev
	$(BIN)/pytest -m chaos -n 2 --dist worksteal --timeout=1800
	SOCIALCRAWL_EXAMPLES=1 $(BIN)/pytest -n 2 --dist worksteal --timeout=1800

bench: $(VENV)/.dev
	BENCH_TINY=$(TINY) BENCH_POSTS=$(POSTS) $(BIN)/python -m benchmarks $(ONLY)

coverage: $(VENV)/.dev
	$(BIN)/python -m benchmarks.coverage $(if $(RUNS),--runs $(RUNS)) $(ONLY)

# Resumable; what is there already is kept. docs/how-to/reproduce.md says how long each size takes.
reproduce: $(VENV)/.dev
	$(BIN)/python -m benchmarks.reproduce $(if $(SIZE),--size $(SIZE)) $(if $(OUT),--out $(OUT)) \
		$(if $(GRAPHS),--graphs $(GRAPHS)) $(ONLY)

notebooks: $(VENV)/.dev
	$(BIN)/python tests/support/notebook_runs.py $(ONLY)

# docs/development/releasing.md has the steps before and after.
release: $(VENV)/.dev
	$(BIN)/python .ci/release.py

reference: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python tests/support/reference_pages.py

pictures: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python tests/support/doc_pictures.py
	PYTHONPATH=. $(BIN)/python tests/support/ui_pictures.py --live docs/figures/ui-live.png

docs: $(VENV)/.dev
	$(BIN)/python tests/support/docs_site.py

lock:
	uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links --no-header \
		--python-version 3.11 --extra build pyproject.toml -o requirements.lock
	uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links --no-header \
		--python-version 3.11 --extra analysis --extra build --extra cluster --extra dev --extra docs --extra explore --extra notify --extra postgres --extra ui --extra warc pyproject.toml -o requirements-dev.lock
	uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links --no-header \
		--python-version 3.11 --extra build --extra cluster --extra postgres --extra ui -c requirements-dev.lock pyproject.toml -o requirements-server.lock

clean:
	rm -rf $(VENV) dist site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv was found (Debian: apt install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The lock names versions and hashes; --no-deps keeps pip from looking for anything else.
$(VENV)/.core: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(PIP) install --no-deps --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(VENV)/bin/python
	$(PIP) install --no-deps --require-hashes -r requirements-dev.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.core
