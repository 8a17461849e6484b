"""What a judge writes, read as far as it can be; and prompts of others, filled without touching what else is in them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.checks.faithfulness.judge import BULLETS, grammar
from haluagent.checks.faithfulness.parse import read
from haluagent.checks.faithfulness.template import Template
from haluagent.errors import ConfigError
from haluagent.types import Language


@pytest.mark.parametrize(
    ("text", "score", "reasoning"),
    [
        ('{"REASONING": ["the document says 34", "not 52"], "SCORE": "FAIL"}', "FAIL", ("the document says 34", "not 52")),
        ('```json\n{"REASONING": "- one\\n- two", "SCORE": "PASS"}\n```', "PASS", ("one", "two")),
        ('Here it is: {"reasoning": {"1": "a", "2": ["b", "c"]}, "score": "pass",}', "PASS", ("1: a", "2: b c")),
        ('{"SCORE": "FAIL", "REASONING": ["someone wrote SCORE: PASS"]}', "FAIL", ("someone wrote SCORE: PASS",)),
        ('{"REASONING": ["it says "Ellis", not "Carrick"", "so no"], "SCORE": "FAIL"}', "FAIL", None),
        ("{'REASONING': ['it doesn\\'t say so', 'nor else'], 'SCORE': 'FAIL'}", "FAIL", ("it doesn\\'t say so", "nor else")),
        ('{"REASONING": ["a line\nbroken"], "SCORE": "PASS"}', "PASS", ("a line", "broken")),
        ('{"REASONING": ["cut off in the mid', None, ("cut off in the mid",)),
        ('{"REASONING": ["no end], "SCORE": PASS', "PASS", ("no end",)),
        ("REASONING: 1. one\n2. two\nSCORE: **FAIL**", "FAIL", ("one", "two")),
        ("It could PASS, but 52 is wrong.\nFAIL", "FAIL", ("It could PASS, but 52 is wrong.", "FAIL")),
        ("SCORE: PASS\nNo, wait. SCORE: FAIL", "FAIL", None),
        ("推理：文档说的是三十四。“SCORE”：“FAIL”", "FAIL", None),
        ('{"REASONING": [], "SCORE": "PASS/FAIL"}', None, ()),
        ('{"REASONING": ["x"], "SCORE": "PASS" or "FAIL"}', None, ("x",)),
        ('{"REASONING": ["x"], "SCORE": null}', None, ("x",)),
        ('{"REASONING": ["x"], "SCORE": {"SCORE": "FAIL"}}', "FAIL", ("x",)),
        ("a password, a failure", None, ("a password, a failure",)),
        ("PASS, or rather FAIL?", "FAIL", None),
        ("[" * 5000 + "{", None, None),
        ("", None, ()),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_far_as_it_can_be(text: str, score: str | None, reasoning: tuple[str, ...] | None) -> None:
    found = read(text)
    assert found.score == score
    if reasoning is not None:
        assert found.reasoning == reasoning


@given(st.lists(st.text(min_size=1, max_size=40), max_size=4), st.sampled_from(["PASS", "FAIL"]))
def test_whatever_json_says_is_read_from_it(bullets: list[str], score: str) -> None:
    assert read(json.dumps({"REASONING": bullets, "SCORE": score})).score == score


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert read(text).score in ("PASS", "FAIL", None)


@pytest.mark.parametrize(
    ("language", "sides"), [("en", '"\\"response: " part "; reference: "'), ("zh", '"\\"回复：" part "；资料："')]
)
def test_the_grammar_is_of_the_form_that_is_asked_for(language: Language, sides: str) -> None:
    root, point, part = grammar(language).splitlines()
    assert f"{{0,{BULLETS - 1}}}" in root and '"{\\"REASONING\\": ["' in root and '("PASS" | "FAIL")' in root
    assert sides in point and part.startswith('part ::= [^"')


VALUES = ("Q {answer}", "D {{x}}", 'A "}"')


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{question}|{context}|{answer}", "{q}|{d}|{a}"),
        ('{question} {document} {answer} {{"SCORE": <s>}}', '{q} {d} {a} {"SCORE": <s>}'),
        ('{question} {document} {answer} {"SCORE": {"x": 1}}', '{q} {d} {a} {"SCORE": {"x": 1}}'),
        ('{{ question }} {{document}} {{ answer }} {"SCORE": <s>} {other}', '{q} {d} {a} {"SCORE": <s>} {other}'),
        ("{answer}{question}{document}{answer}", "{a}{q}{d}{a}"),
    ],
)
def test_a_template_is_filled_and_its_other_brackets_stay(tmp_path: Path, text: str, filled: str) -> None:
    path = tmp_path / "prompt"
    path.write_text(text)
    question, document, answer = VALUES
    for place, value in (("{q}", "\1"), ("{d}", "\2"), ("{a}", "\3")):
        filled = filled.replace(place, value)
    for mark, value in (("\1", question), ("\2", document), ("\3", answer)):
        filled = filled.replace(mark, value)
    assert Template(path).fill(question, document, answer) == filled


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{question} {answer}",
        b"{document} {answer}",
        b"{question} {document}",
        b"{ question } {document} {answer}",
        b"\xff",
    ],
)
def test_a_template_without_its_places_is_the_users_to_fix(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "prompt"
    path.write_bytes(text)
    message = (
        "UTF-8"
        if text == b"\xff"
        else r"must have the places \{question\}, \{document\} or \{context\}, and \{answer\}"
    )
    with pytest.raises(ConfigError, match=message):
        Template(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        Template(tmp_path / "missing")
