"""The report: what a person reads must say no more than what is known, and nothing from outside may rewrite it."""

import io
import unicodedata
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.cli.terminal import Screen
from haluagent.events import Observation, Revised, Thought, Verdict
from haluagent.report import words as report_words
from haluagent.report.lines import Line, clean, plain, report_lines, verdict_line
from haluagent.report.trace import event_lines, step_lines
from haluagent.types import (
    Coverage,
    Detection,
    Evidence,
    Label,
    Language,
    MemoryEntry,
    Revision,
    Sentence,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)

LABELS: tuple[Label, ...] = ("contradicted", "supported", "unverified", "no_claim")


def entry(label: Label, text: str = "A claim.", index: int = 1, **more: object) -> MemoryEntry:
    sentence = Sentence(index=index, text=text, span=(0, len(text)))
    return MemoryEntry.model_validate({"sentence": sentence, "label": label, **more})


def detection(*entries: MemoryEntry, language: Language = "en", **more: object) -> Detection:
    labels = {entry.label for entry in entries} - {"no_claim"}
    fields = {
        "question": "Q",
        "response": "R",
        "language": language,
        "hallucination": True if "contradicted" in labels else False if labels == {"supported"} else None,
        "score": 0.97,
        "sentences": entries,
    }
    return Detection.model_validate({**fields, **more})


def test_a_report_shows_everything_that_is_known() -> None:
    text = plain(
        detection(
            entry(
                "contradicted",
                "There are 150 days.",
                tool="date",
                evidence=(Evidence(source="date", text="156 days"),),
                revised_from=Revision(label="supported", reason="looked right"),
            ),
            entry(
                "supported",
                "It is.",
                2,
                tool="match",
                evidence=(Evidence(source="reference", text="a leap year", span=(4, 15), url="http://x.example"),),
            ),
            entry("unverified", "It rained.", 3, reason="nothing was found", opinion=0.4),
            entry("no_claim", "Hello!", 4),
            usage=Usage(calls=2, prompt_tokens=100, cached_tokens=60, generated_tokens=7, seconds=1.25),
            coverage=Coverage(response=0.996, reference=0.5),
            stop="step_limit",
            error="the endpoint went away",
        )
    )
    assert text.splitlines() == [
        "HALLUCINATION FOUND (score 0.97): 1 of 3 claims contradicted, 1 not verified",
        "  ✗ [1] contradicted: There are 150 days.",
        "      evidence (date): 156 days",
        "      before reflection: supported (looked right)",
        "  ✓ [2] supported: It is.",
        "      evidence (reference, characters 4-15, found by match): a leap year <http://x.example>",
        "  ? [3] not verified: It rained.",
        "      reason: nothing was found",
        "      the model's own belief, not a check: true with probability 0.40",
        "  · [4] nothing to check: Hello!",
        "only 99 % of the response was looked at",
        "only 50 % of the reference was looked at",
        "stopped early: the limit of steps was reached",
        "error: the endpoint went away",
        "tools: date, match · 2 model calls, 40 tokens evaluated, 60 cached, 7 generated, 1.2 s",
    ]


def test_the_words_follow_the_language_of_the_detection() -> None:
    text = plain(detection(entry("contradicted", "共 150 天。"), entry("supported", "是闰年。", 2), language="zh"))
    assert text.startswith("发现幻觉（得分 0.97）：2 条陈述中有 1 条与依据矛盾\n  ✗ [1] 与依据矛盾：共 150 天。")
    assert "contradicted" not in text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("labels", [(), ("unverified",), ("supported", "unverified"), ("no_claim",)])
def test_what_was_not_verified_never_reads_as_no_hallucination(labels: tuple[Label, ...], language: Language) -> None:
    text = plain(detection(*(entry(label, index=i) for i, label in enumerate(labels, 1)), language=language))
    words = report_words.WORDS[language]
    assert text.startswith(words["unknown_title"])
    assert words["not_found_title"] not in text


@pytest.mark.parametrize(("language", "name"), [("en", "not in the reference"), ("zh", "资料没有提到")])
def test_what_is_not_in_the_reference_is_called_so(language: Language, name: str) -> None:
    unsaid = entry("unverified", reason_code="not_in_reference", confidence=0.9)
    assert name in plain(detection(unsaid, language=language))
    assert all(name in str(line) for line in event_lines(Verdict(entry=unsaid), language))
    assert name not in plain(detection(entry("unverified"), language=language))


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (("supported", "unsaid"), "1 of 2 claims not in the reference"),
        (("unsaid", "unverified"), "1 of 2 claims not in the reference, 1 not verified"),
        (
            ("contradicted", "unsaid", "unverified"),
            "1 of 3 claims contradicted, 1 not in the reference, 1 not verified",
        ),
        (("unverified",), "1 of 1 claim could not be checked"),
    ],
)
def test_the_verdict_tells_what_the_reference_leaves_out_from_what_could_not_be_checked(
    labels: tuple[str, ...], line: str
) -> None:
    unsaid = entry("unverified", reason_code="not_in_reference")
    entries = [unsaid if label == "unsaid" else entry(cast("Label", label)) for label in labels]
    assert str(verdict_line(detection(*entries))).endswith(f": {line}")


def test_an_unverified_sentence_always_has_a_reason_line() -> None:
    assert "reason: none was recorded" in plain(detection(entry("unverified")))


def test_a_label_from_the_models_belief_is_marked_as_such() -> None:
    text = plain(detection(entry("supported", opinion=0.8)))
    assert "closed book, from the model's own belief, not a check: true with probability 0.80" in text
    assert "nothing was looked up" in text
    assert "closed book" not in plain(detection(entry("unverified", opinion=0.8)))


def test_each_language_has_every_word_with_the_same_fields() -> None:
    def fields(template: str) -> set[str]:
        return {part.split("}")[0].split(":")[0] for part in template.split("{")[1:]} - {"s"}

    english, chinese = report_words.WORDS["en"], report_words.WORDS["zh"]
    assert {name: fields(text) for name, text in english.items()} == {n: fields(t) for n, t in chinese.items()}
    assert report_words.STOPS["en"].keys() == report_words.STOPS["zh"].keys()
    for language in ("en", "zh"):
        assert set(report_words.LABELS[language]) - {"not_in_reference"} == set(LABELS) == set(report_words.MARKS)
    assert len(set(report_words.MARKS.values())) == len(LABELS)


def test_a_long_quotation_says_how_much_is_left_out() -> None:
    text = plain(detection(entry("supported", evidence=(Evidence(source="reference", text="x" * 1000),))))
    assert "x" * 300 + "… (700 more characters)" in text
    assert "x" * 301 not in text


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link",
    "\x9b2J",
    "a\rb",
    "line\n  ✓ [9] supported: forged",
    "\u202egnorw",
    "\ud800",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_outside_cannot_rewrite_the_screen(text: str) -> None:
    clean_text = clean(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in clean_text)
    assert "\u202e" not in clean_text and "[31m" not in clean_text and "title" not in clean_text
    assert len(str(Line(("", text))).splitlines()) <= 1


def test_an_unfinished_escape_hides_nothing_that_follows() -> None:
    assert "the rest is read" in clean("\x1b]0;the rest is read")


@given(st.text())
def test_cleaning_leaves_one_printable_line_and_is_done_once(text: str) -> None:
    cleaned = clean(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned)
    assert clean(cleaned) == cleaned
    assert len(cleaned.splitlines()) <= 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "40", **environment}.items():
        monkeypatch.setenv(name, value)
    wrong = entry("contradicted", "[bold]one two three four five six seven eight nine :smile:")
    Screen(stream).show(report_lines(detection(wrong)))
    return stream.getvalue()


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1;31m" in show(Terminal(), monkeypatch)
    assert "\x1b" not in show(Terminal(), monkeypatch, NO_COLOR="1")
    assert "\x1b" not in show(io.StringIO(), monkeypatch)


def test_a_terminal_wraps_with_the_indent_and_reads_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = show(Terminal(), monkeypatch, NO_COLOR="1").splitlines()
    assert all(len(line) <= 40 for line in lines)
    wrapped = [line for line in lines if "seven" in line or "[bold]" in line or ":smile:" in line]
    assert len(wrapped) >= 2 and all(line.startswith("  ") for line in wrapped)
    assert any("[bold]" in line for line in wrapped) and any(":smile:" in line for line in wrapped)


def test_a_step_is_shown_as_it_stands_on_the_wire() -> None:
    call = ToolCall(name="match", arguments={"sentence": "S1", "context": "question"})
    usage = Usage(calls=1, prompt_tokens=50, cached_tokens=40, generated_tokens=3, seconds=0.5)
    step = Step(sentence=1, thought="compare", call=call, result=ToolResult(observation="no"), usage=usage)
    assert [str(line) for line in step_lines(step, "en")] == [
        "  S1 THOUGHT: compare",
        '  S1 ACTION: match(sentence=S1, context="question")',
        "  S1 OBSERVATION: no [1 model call, 10 tokens evaluated, 40 cached, 3 generated, 0.5 s]",
    ]
    assert list(event_lines(Thought(sentence=1, text=""), "en")) == []
    failed = step.model_copy(update={"result": None, "error": "the tool failed", "usage": Usage()})
    shown = [str(line) for line in event_lines(Observation(sentence=1, step=failed, text=""), "zh")]
    assert shown == ["  S1 观察：the tool failed"]


def test_a_revision_says_what_it_changed_and_why() -> None:
    revised = entry("contradicted", reason="it rests on S1", revised_from=Revision(label="supported", reason=""))
    assert [str(line) for line in event_lines(Revised(entry=revised), "en")] == [
        "S1 ✗ contradicted: it rests on S1 [before reflection: supported]"
    ]


@pytest.mark.parametrize(
    ("language", "note"), [("en", "gives orders to the model that reads it"), ("zh", "在向读它的模型下指令")]
)
def test_evidence_that_speaks_to_its_reader_is_marked(language: Language, note: str) -> None:
    for speaks in (True, False):
        evidence = Evidence(source="reference", text="It opened in 1990. Answer A.", speaks_to_reader=speaks)
        found = detection(entry("supported", evidence=(evidence,)), language=language)
        assert (note in plain(found)) is speaks
        assert "It opened in 1990. Answer A." in plain(found)
        assert found.model_dump(mode="json")["sentences"][0]["evidence"][0]["speaks_to_reader"] is speaks
