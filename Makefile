# The book's commands. `make help` lists them; each says where its result is.
# Needs make and Python ≥ 3.11; everything else goes into .venv/.

# Where pip looks for PyTorch's small CPU build on Linux; used when it answers (tools/checks/torch_index.py).
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# The Python that makes the virtual environment: the first of these that is 3.11 or newer.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# One chapter instead of all: make run CHAPTER=04, make sync CHAPTER=04.
CHAPTER ?=
# make sync FROM=notebook brings edits of a notebook to its twin.
FROM ?=

# Two processes share the tests, a file with one of them; two heavy chapters at once need 4 GB.
PROCESSES ?= 2

# The models are too small for a second thread to help, and threads that wait for each other on a busy
# machine cost minutes; make test OMP_NUM_THREADS=4 uses more.
OMP_NUM_THREADS ?= 1

export TORCH_INDEX OMP_NUM_THREADS
BIN := .venv/bin
# pip-audit brings thirty packages of its own, which no chapter should meet.
AUDIT := .venv/audit/bin
STAMP := .venv/.installed
FRESH := $(BIN)/python -m tools.editions.fresh
BOOK := $(FRESH) --begin && $(BIN)/python -m tools.editions.scripts && $(BIN)/jupyter-book build . -q -n -W --keep-going --all && $(FRESH) --end
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 600 --nbval-sanitize-with tools/chapters/nbval_sanitize.cfg -W default -p no:cacheprovider
LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache --no-logo
SHARED := -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
QUICK := -m "not slow and not network" --timeout 300 --timeout-method thread --max-worker-restart 2
COVERAGE := --cov --cov-report=term --cov-fail-under=95
UNIT := tests/pretrain tests/pretrain_lab tests/pretrain_book tests/experiments
STORED := tests/browser tests/pages tests/chapters tests/repository tests/benchmarks

# A stage of several: what it is, its command. Says how long it took; a command that fails, fails make.
stage = @echo "$(1)"; start=$$(date +%s); $(2) && echo "$(1): $$(($$(date +%s) - start)) s"

.DEFAULT_GOAL := help
.PHONY: help setup notebooks lab sync run lint check test nightly book student key print slides offline bench lock clean audit

help: ## list these commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

setup: $(STAMP) ## install everything into .venv/ (once, and again when a version changes)

$(STAMP): requirements.txt pyproject.toml tools/checks/torch_index.py
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found; name one: make setup PYTHON=/path/to/python3.12"; exit 1; }
	@echo "setup: installing the pinned packages into .venv/ (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.txt $$($(BIN)/python -m tools.checks.torch_index)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "setup: done, everything is in .venv/"

notebooks: setup ## write the chapters as notebooks for readers to _build/notebooks/
	@$(BIN)/python -m tools.editions.notebooks

# One reader has all cores: the longest chapters take a third less time.
lab: notebooks ## open the readers' notebooks in JupyterLab
	env -u OMP_NUM_THREADS $(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/_build/notebooks/00_first_fine_tuning.ipynb

sync: setup ## bring chapters/NN_slug.ipynb up to its twin chapters/_text/NN_slug.md
	@$(BIN)/python -m tools.chapters.sync $(CHAPTER) $(if $(filter notebook,$(FROM)),--from-notebook)

run: setup ## execute the chapters in place; hashes, times and memory go to data/runs/
	@$(BIN)/python -m tools.chapters.run $(CHAPTER)
	@echo "run: outputs are in chapters/*.ipynb, the rest in chapters.lock and receipts.json in data/runs/"

lint: setup ## check style, formatting, type hints and who imports whom; changes nothing
	@$(LINT)

check: setup ## while working: lint, the core's tests, twins; then executes what is stale, two minutes
	$(call stage,check 1 of 3: style and type hints and imports,$(LINT))
	$(call stage,check 2 of 3: the core and twins that equal their notebooks,$(BIN)/python -m pytest -q tests/pretrain tests/chapters/test_hygiene.py tests/chapters/test_sync.py $(SHARED) $(QUICK))
	$(call stage,check 3 of 3: stale chapters executed; equal outputs renew data/runs/chapters.lock,$(BIN)/python -m tools.chapters.stale $(CHAPTER))

test: setup ## before landing, as CI: lint, tests, every chapter re-executed, the built book, a browser
	$(call stage,test 1 of 5: style and type hints and imports,$(LINT))
	$(call stage,test 2 of 5: unit tests that must cover 95 % of the lines,$(BIN)/python -m pytest $(UNIT) $(SHARED) $(QUICK) $(COVERAGE))
	$(call stage,test 3 of 5: every chapter re-executed and its outputs compared with the stored ones,$(BIN)/python -m pytest $(NBVAL) $(SHARED) $$($(BIN)/python -m tools.chapters.receipts))
	$(call stage,test 4 of 5: the book built strictly,$(BOOK))
	$(call stage,test 5 of 5: stored chapters and tools and pages and a browser,$(BIN)/python -m pytest $(STORED) --pages _build/html $(SHARED) $(QUICK))
	@echo "test: all passed"

nightly: setup ## what make test leaves out: slow tests, all pages, published weights; gates nothing
	$(call stage,nightly 1 of 2: the book built strictly,$(BOOK))
	$(call stage,nightly 2 of 2: slow tests and all pages and what needs a network,$(BIN)/python -m pytest tests --pages _build/html $(SHARED) -m "slow or network")

book: setup ## build the pages, strictly; open _build/html/index.html
	@echo "book: building the pages; any warning is an error"
	@$(BOOK)
	@echo "book: open file://$(CURDIR)/_build/html/index.html"

# The pages, built only when what they are made of has changed since the last build.
.PHONY: pages
pages: setup
	@$(FRESH) || { echo "pages: building them first; any warning is an error"; $(BOOK); }

student: setup ## write the book without solutions to _build/student/, to be published for a class
	@$(BIN)/python -m tools.editions.student
	@echo "student: a repository of its own is in _build/student/; README.md there says how students use it"

key: pages ## write the instructor's key, all solutions open; open _build/key/index.html
	@$(BIN)/python -m tools.editions.key
	@echo "key: open file://$(CURDIR)/_build/key/index.html"

print: setup ## print the whole book to _build/book.pdf; needs Chromium
	@$(BIN)/python -m tools.editions.printed
	@echo "print: the book is _build/book.pdf"

slides: setup ## write the two lecture decks to _build/slides/; they open without a network
	@$(BIN)/python -m tools.editions.slides.make
	@echo "slides: open file://$(CURDIR)/_build/slides/index.html"

offline: pages ## pack the pages into _build/pretraining-paradigms.zip, to read without a network
	@$(BIN)/python -m tools.editions.offline

bench: book ## weigh the pages, time the applets, run the side-by-side benchmarks, about 40 minutes; results go to benchmarks/
	$(BIN)/python -m tools.checks.weigh_pages
	$(BIN)/python -m tools.checks.applet_waits
	$(BIN)/python -m benchmarks
	@echo "bench: results are in results.json, pages.json and waits.json in benchmarks/"

lock: setup ## write requirements.txt anew from pyproject.toml and requirements.in
	$(BIN)/python -m piptools compile --quiet --extra chapters --extra book --extra jupyter --strip-extras --allow-unsafe --annotation-style=line --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.txt pyproject.toml requirements.in
	@sed -i.old -E 's/^(torch==[0-9.]+)\+[a-z0-9]+/\1/' requirements.txt && rm requirements.txt.old  # any build of torch
	@echo "lock: requirements.txt is new; make setup installs it"

clean: ## remove what was built and cached; the environment, the data and the chapters stay
	rm -rf _build .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage code/*.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

audit: ## ask for known security holes of the pinned packages; needs a network
	@test -x $(AUDIT)/pip-audit || { $(PYTHON) -m venv .venv/audit && $(AUDIT)/python -m pip install --quiet pip-audit==2.10.1; }
	$(AUDIT)/pip-audit --requirement requirements.txt --disable-pip --no-deps
