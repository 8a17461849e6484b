"""A pytest plugin: `assert_faithful` and `assert_no_hallucination`, to import or to use as fixtures of these names.

The fixture `haluagent_agent` creates one agent per session when it is first needed; a `conftest.py` with a fixture of
that name can provide another.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

if TYPE_CHECKING:  # pytest loads this file in every run, so everything else is imported on use
    from haluagent.agent import HaluAgent
    from haluagent.checks.faithfulness.records import Faithfulness, Mode
    from haluagent.types import Detection

__all__ = ["assert_faithful", "assert_no_hallucination", "haluagent_agent"]

OnError = Literal["fail", "skip", "pass"]
Undecided = Literal["fail", "pass"]
T = TypeVar("T")

SCORE = "haluagent_score"  # the property of a test in reports, such as JUnit XML
_BASELINE: pytest.StashKey[dict[str, list[float]]] = pytest.StashKey()
_running: list[pytest.Item] = []  # the running test, preceded by tests that run pytest themselves


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("haluagent")
    for name, what in (
        ("model", "the model that checks answers"),
        ("base-url", "the OpenAI-compatible endpoint that serves it"),
    ):
        group.addoption(f"--haluagent-{name}", metavar="NAME" if name == "model" else "URL", help=what)
        parser.addini(f"haluagent_{name.replace('-', '_')}", help=what, default=None)
    group.addoption("--haluagent-record", metavar="FILE", help="write the scores of this run, for --haluagent-baseline")
    group.addoption(
        "--haluagent-baseline", metavar="FILE", help="earlier scores: assert_faithful fails on what is worse"
    )


def pytest_configure(config: pytest.Config) -> None:
    baseline = config.getoption("haluagent_baseline")
    if baseline:
        config.stash[_BASELINE] = _read_scores(Path(baseline))
    if config.getoption("haluagent_record") and not hasattr(config, "workerinput"):  # of pytest-xdist
        path = Path(config.getoption("haluagent_record"))
        try:
            path.open("a").close()
        except OSError as error:
            raise pytest.UsageError(f"--haluagent-record: {path} cannot be written: {error.strerror}") from error
        config.pluginmanager.register(_Recorder(path))


class _Recorder:
    """Collects the scores of a session from the reports of its tests, and writes them at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scores: dict[str, list[float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            scores = [float(str(value)) for name, value in report.user_properties if name == SCORE]
            self._scores.update({report.nodeid: scores} if scores else {})

    def pytest_sessionfinish(self) -> None:
        self._path.write_text(json.dumps(self._scores, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _read_scores(path: Path) -> dict[str, list[float]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(test): [float(score) for score in scores] for test, scores in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise pytest.UsageError(
            f"--haluagent-baseline: {path} holds no scores that --haluagent-record wrote ({error})"
        ) from error


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running.append(item)
    try:
        yield
    finally:
        _running.pop()


@pytest.fixture(scope="session")
def haluagent_agent(request: pytest.FixtureRequest) -> "Iterator[HaluAgent]":
    """Return the agent of the session. Its model comes from the command line, the ini file or the environment, as
    `haluagent.models.resolve` finds it. The engine is loaded by the first check."""
    from haluagent.agent import HaluAgent

    config = request.config
    model, base_url = (
        config.getoption(name) or config.getini(name) or None for name in ("haluagent_model", "haluagent_base_url")
    )
    with HaluAgent(model, base_url=base_url) as agent:
        yield agent


@pytest.fixture(name="assert_faithful")
def _assert_faithful() -> "Callable[..., None]":
    """Return the function `assert_faithful`."""
    return assert_faithful


@pytest.fixture(name="assert_no_hallucination")
def _assert_no_hallucination() -> "Callable[..., None]":
    """Return the function `assert_no_hallucination`."""
    return assert_no_hallucination


def assert_faithful(
    answer: str,
    documents: str | Sequence[str],
    question: str = "",
    *,
    mode: "Mode" = "fast",
    threshold: float = 0.5,
    margin: float = 0.0,
    on_error: OnError = "fail",
    agent: "HaluAgent | None" = None,
) -> None:
    """Fail unless the answer is faithful to the documents: nothing beyond them, and nothing against them.

    The test fails if the score, the probability in [0, 1] that the answer is unfaithful, is above `threshold` by more than
    `margin`. A score within `margin` of the threshold is taken three times, and the median counts. With
    --haluagent-baseline the test fails only if the earlier score was below the threshold, this one is above it, and it rose
    by more than `margin`; a failure that the baseline had too is a warning. If the
    model fails or reaches no verdict, the test fails, is skipped, or passes, as `on_error` says. `agent` defaults to
    that of the session. Raises ConfigError if there is nothing to check or no model to check with, whatever `on_error`
    says.
    """
    __tracebackhide__ = True
    from haluagent.checks.faithfulness.gate import outcome_of
    from haluagent.checks.faithfulness.steady import acheck_steadily
    from haluagent.integrations.outcome import check_choice

    check_choice("on_error", on_error, OnError)
    steadily = partial(acheck_steadily, mode=mode, threshold=threshold, margin=margin)
    report = _checked(lambda agent: agent.wait_for(steadily(agent, question, answer, documents)), agent, on_error)
    if report is None:
        return
    if report.verdict is None:
        _not_checked(report.error or "the model came to no verdict", on_error)
        return
    before = _recorded(report.score)
    outcome = outcome_of(report.verdict, report.score, threshold, margin, before)
    if outcome == "failed":
        raise AssertionError(_unfaithful(report, threshold, margin, before))
    if outcome == "known":
        warnings.warn(f"as in the baseline, {_unfaithful(report, threshold, margin, before)}", stacklevel=2)


def _recorded(score: float) -> float | None:
    """Keep a score among the properties of the running test, and return the one in its place in the baseline."""
    if not _running:
        return None
    item = _running[-1]
    place = sum(name == SCORE for name, _ in item.user_properties)
    item.user_properties.append((SCORE, f"{score:.4f}"))
    scores = item.config.stash.get(_BASELINE, {}).get(item.nodeid, [])
    return scores[place] if place < len(scores) else None


def assert_no_hallucination(
    question: str,
    response: str,
    reference: str | None = None,
    *,
    threshold: float | None = None,
    on_error: OnError = "fail",
    undecided: Undecided = "fail",
    agent: "HaluAgent | None" = None,
) -> None:
    """Fail if a sentence of the response is contradicted or, with a threshold, if the score is above it.

    If a claim could not be checked and none is contradicted, the test fails unless `undecided` is "pass". If the model
    fails, the test fails, is skipped, or passes, as `on_error` says. `agent` defaults to that of the session. Raises
    ConfigError if there is nothing to check or no model to check with, whatever `on_error` says.
    """
    __tracebackhide__ = True
    from haluagent.integrations.outcome import check_choice, check_threshold, outcome_of

    check_choice("on_error", on_error, OnError)
    check_choice("undecided", undecided, Undecided)
    check_threshold(threshold)
    report = _checked(lambda agent: agent.detect(question, response, reference), agent, on_error)
    if report is None:
        return
    outcome = outcome_of(report, threshold)
    if outcome == "failed":
        _not_checked(report.error or "", on_error)
    elif outcome == "hallucinated" or (outcome == "undecided" and undecided == "fail"):
        raise AssertionError(_hallucinated(report, threshold))


def _checked(check: "Callable[[HaluAgent], T]", agent: "HaluAgent | None", on_error: OnError) -> T | None:
    """Return the report; None if the model failed before there was one and `on_error` lets that pass."""
    __tracebackhide__ = True
    from haluagent.errors import ModelError

    try:
        return check(agent or _agent_of_the_session())
    except ModelError as error:
        problem = str(error)
    _not_checked(problem, on_error)
    return None


def _agent_of_the_session() -> "HaluAgent":
    from haluagent.errors import ConfigError

    request = getattr(_running[-1], "_request", None) if _running else None
    if request is None:
        raise ConfigError("there is no test here that could ask for the fixture haluagent_agent: give agent=")
    agent: HaluAgent = request.getfixturevalue("haluagent_agent")
    return agent


def _not_checked(problem: str, on_error: OnError) -> None:
    __tracebackhide__ = True
    message = f"nothing was checked: {problem}"
    if on_error == "skip":
        pytest.skip(message)
    if on_error == "fail":
        raise AssertionError(message)


def _unfaithful(report: "Faithfulness", threshold: float, margin: float, before: float | None) -> str:
    from haluagent.report.lines import Line, evidence_text

    by = (f", margin {margin:.2f}" if margin else "") + ("" if before is None else f", before {before:.2f}")
    lines = [Line(("", f"not faithful to the documents: score {report.score:.2f}, threshold {threshold:.2f}{by}"))]
    lines.append(Line(("", f"answer: {report.answer}"), indent=2))
    lines += [Line(("", f"- {point}"), indent=2) for point in report.reasoning]
    lines += [Line(("", evidence_text(item, None, report.language)), indent=6) for item in report.evidence]
    if report.coverage < 1:
        lines.append(Line(("", f"only {int(report.coverage * 100)} % of the documents was read"), indent=2))
    return "\n".join(map(str, lines))


def _hallucinated(report: "Detection", threshold: float | None) -> str:
    from haluagent.report.lines import entry_lines, verdict_line

    doubtful = [entry for entry in report.sentences if entry.label in ("contradicted", "unverified")]
    lines = [line for entry in doubtful or report.sentences for line in entry_lines(entry, report.language)]
    head = str(verdict_line(report)) + ("" if threshold is None else f" (threshold {threshold:.2f})")
    return "\n".join([head, *map(str, lines)])
