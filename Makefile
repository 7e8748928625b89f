# Everything from nothing but Python 3.11 or later and make.
#
#   make demo PYTHON=/usr/bin/python3.12     another interpreter
#   make test VENV=.venv-ci                  another environment

PYTHON ?= python3
VENV ?= .venv
BUILD ?= build
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 600
FUZZ_ARGS ?=

BIN := $(VENV)/bin
DEMO_STAMP := $(VENV)/.installed-demo
TEST_STAMP := $(VENV)/.installed-test
DOCS_STAMP := $(VENV)/.installed-docs
E2E_STAMP := $(VENV)/.installed-e2e
PAPER_STAMP := $(VENV)/.installed-paper
DEMO_REPORT := report examples/digits/sr.toml \
	--patterns streaming,sequential,hybrid --executions windowed,pipelined --data digits
DIGITS_TRAINING := --for truenorth --pattern streaming --pattern sequential --no-bias --epochs 300 --batch 64 --frames 5 \
	--preceding 3 --optimiser adam --learning-rate 1e-2 --schedule cosine --seed 1 --threads 1 --test --with-validation
# What is never imported need not be compiled: half of the time of an installation. What is imported is compiled once, even
# where the environment forbids to keep it (images for containers do): every process would do it again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# The build of PyTorch for processors: that of the registry takes gigabytes of CUDA with it on Linux. Where wheels are at
# hand they are taken instead.
TORCH ?= $(if $(PIP_FIND_LINKS),,--extra-index-url https://download.pytorch.org/whl/cpu) torch==2.13.0

IMPORTED := import brian2, h5py, hypothesis.extra.numpy, jsonschema, networkx, numba, pytest, scipy.optimize, scipy.stats

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo digits-networks e2e test test-thorough fuzz lint docs paper wheel-check readme clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null \
		|| { echo "make: $(PYTHON) not found; give PYTHON=/path/to/python (3.11 or later)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: neuromap needs Python 3.11 or later, $(PYTHON) is $$("$(PYTHON)" -V 2>&1);" \
			"give PYTHON=/path/to/another" >&2; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"

$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[examples]'
	@touch $@

# PyTorch comes last, with what it needs, so that no step leaves packages that lack others. Python compiles what is
# imported here, once, and not in every process that tests at the same time.
$(TEST_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,lint]'
	$(PIP) $(TORCH) || echo "make: PyTorch is not installed, so tests of training are skipped ($(TORCH) failed)" >&2
	@$(BIN)/python -c "import torch, torch._dynamo" 2>/dev/null & \
		$(BIN)/python -c "$(IMPORTED)"; imported=$$?; wait; exit $$imported
	@touch $@

$(DOCS_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

$(BUILD)/digits.safetensors: examples/digits/stimulus.py $(DEMO_STAMP)
	@mkdir -p $(BUILD)
	$(BIN)/python examples/digits/stimulus.py $@

demo: $(BUILD)/digits.safetensors  ## Report the digits network SR on TrueNorth; leaves build/sr.html
	$(BIN)/neuromap $(DEMO_REPORT) --stimulus $(BUILD)/digits.safetensors --html $(BUILD)/sr.html

digits-networks: $(TEST_STAMP)  ## Train the four networks of examples/digits anew; leaves them in build/digits
	@mkdir -p $(BUILD)/digits
	for name in ff s sr sr_ternary; do \
		$(BIN)/neuromap train examples/digits/$$name.toml $(DIGITS_TRAINING) -o $(BUILD)/digits/$$name.toml || exit 1; done

lint: $(TEST_STAMP)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n auto

test: lint  ## Check style and types, then run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-thorough: lint  ## The same with three times as many random examples
	$(BIN)/python -m pytest --examples thorough $(PYTEST_ARGS)

fuzz: $(TEST_STAMP)  ## Read damaged files with all readers in turn for FUZZ_SECONDS (600), other ones every time
	$(BIN)/python tests/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

$(E2E_STAMP): pyproject.toml | $(TEST_STAMP)
	$(PIP) -e '.[e2e]'
	@touch $@

# The browser is the system's (apt-get install chromium); CHROMIUM names another.
e2e: $(E2E_STAMP)  ## Open pages and the studio in headless Chromium; leaves screenshots in build/e2e
	NEUROMAP_E2E=$(or $(NEUROMAP_E2E),1) $(BIN)/python -m pytest -n 0 tests/e2e $(PYTEST_ARGS)

docs: $(DOCS_STAMP)  ## Build the documentation into docs/_build; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

$(PAPER_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[paper]'
	@touch $@

paper: $(PAPER_STAMP)  ## Typeset the paper; leaves build/paper/paper.pdf
	$(BIN)/python paper/build.py --out $(BUILD)/paper

readme: $(DEMO_STAMP)  ## Run the commands of README.md and docs/ and the cells of the notebooks; paste what they print
	$(BIN)/python docs/refresh_consoles.py
	$(BIN)/python docs/refresh_notebooks.py

# The wheel is tried where nothing of the checkout can be imported: another folder, another environment.
wheel-check: | $(BIN)/python  ## Build the wheel; run demo and smoke tests against it in an empty environment
	rm -rf $(BUILD)/wheel && mkdir -p $(BUILD)/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w $(BUILD)/wheel .
	@set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; wheel=$$(ls "$$PWD"/$(BUILD)/wheel/*.whl); \
		cp -R tests examples docs *.md CITATION.cff LICENSE Makefile pyproject.toml "$$away"; \
		$(BIN)/python -m venv "$$away/venv"; \
		"$$away/venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$$wheel[test]"; \
		find neuromap hardware_models -type f ! -path '*/__pycache__/*' > "$$away/files"; \
		(cd "$$away"/venv/lib/python*/site-packages && xargs ls < "$$away/files" > /dev/null); \
		export NEUROMAP_DATA="$${NEUROMAP_DATA:-$$PWD/../shared/data}"; \
		cd "$$away"; mkdir build; \
		venv/bin/python examples/digits/stimulus.py build/digits.safetensors; \
		venv/bin/neuromap $(DEMO_REPORT) --stimulus build/digits.safetensors --html build/sr.html; \
		test -s build/sr.html; \
		venv/bin/python -m pytest -m smoke $(PYTEST_ARGS)

clean:  ## Remove what make built, but not the environment
	rm -rf $(BUILD) dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
