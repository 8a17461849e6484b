"""Shared fixtures, and the groups of tests. Whatever could be real is real: tests with real parts are marked with their
group, which `-m` chooses; without it the unit tests run."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from groups import GROUPS
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


HANGS = 1800  # seconds; a model on a slow machine takes long, and only what hangs is to be ended
SKIPPED: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail where a chosen test was skipped")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that is in no group is a unit test. `-m` then chooses among all of them."""
    for item in items:
        groups = [name for name in GROUPS if item.get_closest_marker(name)]
        if len(groups) > 1:
            raise pytest.UsageError(f"{item.nodeid} is in more than one group: {', '.join(groups)}")
        if not groups:
            item.add_marker(pytest.mark.unit)
        elif not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(HANGS))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A chosen test whose part is not on this machine is skipped, in sight."""
    for name, group in GROUPS.items():
        if item.get_closest_marker(name) and not is_there(name):
            pytest.skip(f"the group {name} is not set up here: {group.get}")


@cache
def is_there(name: str) -> bool:
    return GROUPS[name].there()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        SKIPPED.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if SKIPPED and session.config.getoption("--no-skips"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if SKIPPED and config.getoption("--no-skips"):
        terminalreporter.line(f"{len(SKIPPED)} tests were skipped, and here all must run.", red=True)


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
