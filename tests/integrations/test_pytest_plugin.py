"""The pytest plugin in real runs of pytest, on a scripted model."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import sympy  # noqa: F401  loaded here, where it stays: an inner run unloads what it loaded itself
from places import HELPERS

from haluagent import HaluAgent  # noqa: F401

pytest_plugins = ["pytester"]

# The agent of the inner tests. The model lets the calculator check a sentence, and is 0.9 sure of a first choice.
CONFTEST = f"""
import importlib.util
import pytest
from haluagent import HaluAgent, ModelError

specification = importlib.util.spec_from_file_location("fakes", {str(HELPERS / "scripted.py")!r})
fakes = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fakes)
made = []

class Broken(fakes.ScriptedModel):
    async def generate(self, *args, **options):
        raise ModelError("the endpoint is gone")
    choose = generate

@pytest.fixture(scope="session")
def haluagent_agent():
    made.append("agent")
    with HaluAgent(fakes.ScriptedModel(fakes.ScriptedModel.calculate), search="none", sandbox="none") as agent:
        yield agent

@pytest.fixture
def broken():
    with HaluAgent(Broken(), search="none", sandbox="none") as agent:
        yield agent
"""
RIGHT, WRONG, OPEN = "It is 12 * 7 = 84.", "Seven boxes hold 12 * 7 = 85 pens.", "They came by train."


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest(CONFTEST)
    return pytester


def test_a_failure_shows_sentence_verdict_evidence_score_and_threshold(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        f"""
        from haluagent.pytest_plugin import assert_no_hallucination

        def test_right(): assert_no_hallucination("Show the sum.", {RIGHT!r})
        def test_wrong(): assert_no_hallucination("Show the sum.", {f"{RIGHT} {WRONG}"!r}, threshold=0.6)
        """
    )
    ran = inner.runpytest("-p", "no:terminalreporter_color")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.re_match_lines(
        [
            r"E +AssertionError: HALLUCINATION FOUND \(score 0\.\d+\): 1 of 2 claims contradicted \(threshold 0\.60\)",
            r"E +✗ \[2\] contradicted: Seven boxes hold 12 \* 7 = 85 pens\.",
            r"E +evidence \(calculator.*84",
        ]
    )
    assert "[1] supported" not in ran.stdout.str()  # only what is doubtful
    assert "pytest_plugin.py" not in ran.stdout.str()  # the frames of the plugin are left out


def test_what_could_not_be_checked_fails_unless_it_may_pass(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        f"""
        def test_fails(assert_no_hallucination): assert_no_hallucination("How did they come?", {OPEN!r})
        def test_passes(assert_no_hallucination): assert_no_hallucination("How did they come?", {OPEN!r}, undecided="pass")
        def test_threshold(assert_no_hallucination): assert_no_hallucination("Did they?", {OPEN!r}, threshold=1.0)
        """
    )
    ran = inner.runpytest()
    ran.assert_outcomes(passed=1, failed=2)
    ran.stdout.re_match_lines([r"E +AssertionError: NOT VERIFIED", r"E +\? \[1\] not verified: They came by train\."])


def test_a_model_that_failed_is_a_pass_only_where_that_is_said(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        f"""
        import pytest
        from haluagent.pytest_plugin import assert_faithful, assert_no_hallucination

        @pytest.mark.parametrize("on_error", ["fail", "skip", "pass"])
        def test_detection(broken, on_error):
            assert_no_hallucination("How did they come?", {OPEN!r}, on_error=on_error, undecided="pass", agent=broken)

        @pytest.mark.parametrize("on_error", ["fail", "skip", "pass"])
        def test_faithfulness(broken, on_error):
            assert_faithful("It is blue.", "The sky is green.", on_error=on_error, agent=broken)

        def test_an_option_that_cannot_be(broken):
            with pytest.raises(Exception, match="on_error='never': use 'fail' or 'skip' or 'pass'"):
                assert_faithful("It is blue.", "The sky is green.", on_error="never", agent=broken)
        """
    )
    ran = inner.runpytest("-rs")
    ran.assert_outcomes(passed=3, failed=2, skipped=2)
    assert len(re.findall("nothing was checked: .*the endpoint is gone", ran.stdout.str())) >= 4


def test_faithfulness_fails_above_the_threshold(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        """
        from haluagent.pytest_plugin import assert_faithful

        SKY = "The sky over the harbour was green."

        def test_faithful(): assert_faithful(SKY, ["Grass is red.", f"They saw it. {SKY}"], "Which colour has the sky?")
        def test_strict(): assert_faithful(SKY, SKY, threshold=0.0)
        """
    )
    ran = inner.runpytest()
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.re_match_lines(
        [
            r"E +AssertionError: not faithful to the documents: score 0\.\d\d, threshold 0\.00",
            r"E +answer: The sky over the harbour was green\.",
        ]
    )


# Scores that a check would come to, one after another.
SCORES = """
from haluagent.checks.faithfulness import steady
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.pytest_plugin import assert_faithful

def scores(monkeypatch, *given):
    rest = iter(given)
    async def acheck(agent, question, answer, documents, **options):
        score = next(rest)
        verdict = "FAIL" if score > 0.5 else "PASS"
        return Faithfulness(question="", answer=answer, language="en", mode="fast", verdict=verdict, score=score)
    monkeypatch.setattr(steady, "acheck", acheck)
    return rest
"""


def test_a_score_near_the_threshold_is_taken_three_times(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        SCORES
        + """
def test_median(monkeypatch):
    rest = scores(monkeypatch, 0.58, 0.45, 0.48, 0.9)
    assert_faithful("a", "b", margin=0.1)
    assert next(rest) == 0.9

def test_within_the_margin(monkeypatch):
    scores(monkeypatch, 0.58, 0.59, 0.58)
    assert_faithful("a", "b", margin=0.1)

def test_above_it(monkeypatch):
    scores(monkeypatch, 0.61)
    assert_faithful("a", "b", margin=0.1)

def test_without_a_margin(monkeypatch):
    scores(monkeypatch, 0.51)
    assert_faithful("a", "b")
"""
    )
    ran = inner.runpytest()
    ran.assert_outcomes(passed=2, failed=2)
    ran.stdout.re_match_lines([r"E +AssertionError: not faithful .*score 0.61, threshold 0.50, margin 0.10"])


def test_beside_a_baseline_only_what_is_worse_fails(inner: pytest.Pytester) -> None:
    tests = """
import pytest

@pytest.mark.parametrize("given", {given})
def test_one(monkeypatch, given):
    scores(monkeypatch, *given)
    for _ in given:
        assert_faithful("a", "b")
"""
    names = "[pytest.param(given, id=str(n)) for n, given in enumerate({})]"
    inner.makepyfile(SCORES + tests.format(given=names.format("[(0.1, 0.2), (0.9,), (0.1,), (0.3,)]")))
    inner.runpytest("--haluagent-record=scores.json").assert_outcomes(passed=3, failed=1)
    recorded = json.loads((inner.path / "scores.json").read_text())
    assert list(recorded.values()) == [[0.1, 0.2], [0.9], [0.1], [0.3]]
    inner.makepyfile(SCORES + tests.format(given=names.format("[(0.1, 0.9), (0.95,), (0.4,), (0.3,), (0.7,)]")))
    ran = inner.runpytest("--haluagent-baseline=scores.json", "--junitxml=junit.xml")
    ran.assert_outcomes(passed=3, failed=2, warnings=1)
    ran.stdout.re_match_lines([r"E +AssertionError: not faithful .*score 0.90, threshold 0.50, before 0.20"])
    ran.stdout.fnmatch_lines(["*UserWarning: as in the baseline, not faithful to the documents: score 0.95*"])
    assert '<property name="haluagent_score" value="0.9500"' in (inner.path / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--haluagent-baseline=none.json", "none.json holds no scores that --haluagent-record wrote"),
        ("--haluagent-baseline=list.json", "list.json holds no scores"),
        ("--haluagent-record=none/scores.json", "none/scores.json cannot be written: No such file or directory"),
    ],
)
def test_a_file_of_scores_that_is_none_is_told(inner: pytest.Pytester, option: str, message: str) -> None:
    (inner.path / "list.json").write_text("[1]")
    ran = inner.runpytest(option)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR and message in ran.stderr.str()


def test_one_agent_serves_the_session_and_none_is_made_in_vain(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        test_first="def test_nothing(): pass",
        test_none="def test_none(assert_faithful): import conftest; assert conftest.made == []",
        test_two=f"""
        import conftest
        from haluagent.pytest_plugin import assert_no_hallucination

        def test_one(): assert_no_hallucination("Show the sum.", {RIGHT!r})
        class TestMore:
            def test_two(self): assert_no_hallucination("Show the sum.", {RIGHT!r})
            def test_same(self): assert conftest.made == ["agent"]
        """,
    )
    inner.runpytest("--import-mode=prepend").assert_outcomes(passed=5)


def test_the_model_is_named_on_the_command_line_or_in_the_ini_file(pytester: pytest.Pytester, endpoint: Any) -> None:
    pytester.makepyfile(
        f"""
        def test_right(assert_no_hallucination): assert_no_hallucination("Show the sum.", {RIGHT!r})
        def test_name(haluagent_agent): assert haluagent_agent.model.name == "scripted"
        """
    )
    pytester.runpytest_subprocess(
        f"--haluagent-base-url={endpoint.base_url}", "--haluagent-model=scripted"
    ).assert_outcomes(passed=2)
    pytester.makeini(f"[pytest]\nhaluagent_base_url = {endpoint.base_url}\n")
    pytester.runpytest_subprocess().assert_outcomes(passed=2)
    assert endpoint.chats > 0


def test_an_endpoint_that_is_not_there_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_fails(assert_no_hallucination): assert_no_hallucination("Show the sum.", {RIGHT!r})
        def test_skips(assert_no_hallucination): assert_no_hallucination("Show the sum.", {RIGHT!r}, on_error="skip")
        """
    )
    ran = pytester.runpytest_subprocess("--haluagent-base-url=http://127.0.0.1:9/v1")
    ran.assert_outcomes(failed=1, skipped=1)
    assert "AssertionError: nothing was checked: http://127.0.0.1:9/v1/models gave no answer" in ran.stdout.str()


def test_without_a_test_around_it_an_agent_has_to_be_given() -> None:
    code = "from haluagent.pytest_plugin import assert_faithful; assert_faithful('It is.', 'It is.')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        "ConfigError: there is no test here that could ask for the fixture haluagent_agent: give agent=" in ran.stderr
    )


def test_the_plugin_imports_nothing_that_takes_time() -> None:
    code = "import pytest, sys; before = set(sys.modules); import haluagent.pytest_plugin; print(*set(sys.modules) - before)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == {"haluagent", "haluagent.pytest_plugin"}
