"""Shared fixtures. Whatever could be real is real: tests with real parts are marked, and run where these are set up."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from scripted import ScriptedEndpoint, ScriptedModel

from haluagent.protocols import SearchResult, ToolContext
from haluagent.types import Language, Sentence


@pytest.fixture(autouse=True)
def no_search_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the user has set up for searching is left out of the tests."""
    for variable in ("HALUAGENT_SEARCH", "HALUAGENT_SEARXNG_URL", "GOOGLE_API_KEY", "GOOGLE_CSE_ID", "SERPER_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HALUAGENT_INDEX", str(tmp_path_factory.getbasetemp() / "no-index.db"))


class Nothing:
    """A search that finds nothing."""

    name = "nothing"

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        return []


@pytest.fixture
def empty_search() -> Nothing:
    return Nothing()


@pytest.fixture
def scripted() -> type[ScriptedModel]:
    return ScriptedModel


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    """A server that lets the calculator check every sentence."""
    server = ScriptedEndpoint(ScriptedModel.calculate)
    yield server
    server.close()


@pytest.fixture
def make_context() -> Callable[..., ToolContext]:
    """A ToolContext over a question and a response whose sentences are given or cut by `split`."""

    def make(
        question: str,
        response: str,
        *,
        language: Language = "en",
        reference: str | None = None,
        model: ScriptedModel | None = None,
        sentences: Sequence[Sentence] | None = None,
    ) -> ToolContext:
        from haluagent.text.segment import split

        return ToolContext(
            question=question,
            response=response,
            language=language,
            sentences=split(response) if sentences is None else sentences,
            model=model or ScriptedModel(),
            reference=reference,
        )

    return make


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests with real parts run where HALUAGENT_TEST_<MARK>=1 says so; elsewhere they are left out, in sight."""
    parts = {
        "engine": "the embedded model",
        "docker": "a Docker engine",
        "bubblewrap": "bubblewrap",
        "browser": "Chromium",
        "ray": "Ray",
    }
    parts["peers"] = "the peers of the benchmark"
    parts["train"] = "torch, transformers, trl and peft"
    parts["integrations"] = (
        "langchain-core, langgraph, llama-index-core, openai-agents, anthropic and opentelemetry-sdk"
    )
    for mark, part in parts.items():
        variable = f"HALUAGENT_TEST_{mark.upper()}"
        if os.environ.get(variable) == "1":
            continue
        skip = pytest.mark.skip(reason=f"needs {part}: set {variable}=1")
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The embedded weights; pulled where they are not there yet."""
    from haluagent.models import pull

    return pull()


@pytest.fixture(scope="session")
def engine_model(model_path: Path) -> Iterator[object]:
    from haluagent.models import EmbeddedModel

    model = EmbeddedModel()
    model.start()
    yield model
