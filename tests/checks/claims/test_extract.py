"""Claims taken out of responses: by rule as sentences and clauses, by the model as triplets; nothing goes unchecked."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.claims.claimless import claiming
from haluagent.checks.claims.extract import Extraction, extract
from haluagent.checks.claims.places import stretch
from haluagent.checks.claims.subsentences import clauses
from haluagent.checks.claims.triplet_text import read
from haluagent.errors import ConfigError, ModelError
from haluagent.protocols import Message
from haluagent.text.segment import split

TOWER = "The tower of Osk is 52 metres high. It was built in 1950."


def run(model: Any, response: str, question: str = "", **options: Any) -> Extraction:
    agent = HaluAgent(model, sandbox="none", search="none")
    found = asyncio.run(extract(agent, response, question, **options))
    for claim in found.claims:
        assert claim.span is not None and claim.sentence is not None
        inside = split(response)[claim.sentence - 1].span
        assert inside[0] <= claim.span[0] < claim.span[1] <= inside[1]
        if isinstance(claim.content, str):
            assert response[slice(*claim.span)] == claim.content
    return found


@pytest.mark.parametrize(
    ("response", "question"),
    [
        ("I don't know.", ""),
        ("I’m sorry, I can't provide an accurate answer without more context. Could you provide more information?", ""),
        ("I am not sure who wrote it.", "Who wrote it?"),
        ("我不知道。", ""),
        ("很抱歉，我无法回答这个问题。", ""),
        ("who built the tower of Osk", "Who built the tower of Osk?"),
        ("奥斯克塔有多高？奥斯克塔有多高", "奥斯克塔有多高？"),
        ("Hello! Thank you. 你好！", ""),
    ],
)
def test_a_response_that_claims_nothing_abstains(scripted: Callable[..., Any], response: str, question: str) -> None:
    model = scripted()
    for form in ("sentence", "subsentence", "triplet"):
        assert run(model, response, question, format=form).claims == ()
    assert model.seen == []


@pytest.mark.parametrize(
    "response",
    [
        "I don't know, but Osk is a town.",
        "I cannot say that Osk is small.",
        "科学家不知道原因。",
        "Yes.",
        "Of course.",
        "The document does not say who built it.",
        "Its capital is Osk, and its towns are:\n",
        "有很多问题影响了这座城市。",
        "The tower is 34 metres high.",
    ],
)
def test_what_the_rule_does_not_know_is_a_claim(response: str) -> None:
    assert [item.text for item in claiming(response, "True or false? The tower is 34 metres high.")] == [
        response.strip()
    ]


def test_what_stands_around_the_claims_is_left_out() -> None:
    response = "## The tower\nSure! Here are the facts:\n1. It is old.\n2. It is high.\nIs it nice? I hope this helps!"
    assert [(item.index, item.text) for item in claiming(response)] == [(4, "It is old."), (5, "It is high.")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ada was a mathematician, and she was born in 1815.", ["Ada was a mathematician", "she was born in 1815."]),
        ("Osk is old; Brod is older, while Lim is new.", ["Osk is old", "Brod is older", "Lim is new."]),
        ("Osk, which was built in 1889, is high and has 1,200 lifts.", None),
        ("It has red, green, and blue lights.", None),
        ("If it rains, the match is cancelled.", None),
        ("Tom said Osk is old, and Brod is older.", None),
        ('It is "Osk is old, and Brod is new" there.', None),
        (
            "鲁迅是绍兴人，原名周树人，写过《呐喊》；他在1936年去世了。",
            ["鲁迅是绍兴人，原名周树人", "写过《呐喊》", "他在1936年去世了。"],
        ),
        ("在1950年，他离开了家乡。", None),
        ("如果下雨，比赛就会取消。", None),
    ],
)
def test_clauses_that_say_something_by_themselves(text: str, parts: list[str] | None) -> None:
    assert [text[a:b] for a, b in clauses(text)] == (parts or [text])


def test_clauses_have_the_place_of_the_response(scripted: Callable[..., Any]) -> None:
    found = run(scripted(), "Sure!\r\n- Osk is old 🗼, but Brod is new.", format="subsentence")
    assert [(claim.sentence, claim.content) for claim in found.claims] == [(2, "Osk is old 🗼"), (2, "Brod is new.")]


@pytest.mark.parametrize(
    ("text", "triplets", "unread"),
    [
        ('["a", "b", "c"]\n["d","e","f"] ["g","h","i"]', ["abc", "def", "ghi"], False),
        ('[["a", "b", "c"], ["d", "e", "f"]]', ["abc", "def"], False),
        ('[\n "a",\n "b",\n "c"\n]', ["abc"], False),
        ('["a", "b", "the "big" one"]', [("a", "b", 'the "big" one')], False),
        ('["a", "b", "Hey (the "mix")"]', [("a", "b", 'Hey (the "mix")')], False),
        (r'["a", "\"b\"", "c"]', [("a", '"b"', "c")], False),
        ("('Tom's', 'b', 'c')", [("Tom's", "b", "c")], False),
        ("［“a”，“b”，“c”］\n【「d」、「e」、「f」】", ["abc", "def"], False),
        ('["a", "b", 1950]', [("a", "b", "1950")], False),
        ("- a | b | c\n(d, e, f)", ["abc", "def"], False),
        ('["a", "b", "c", "d"]', [("a", "b", "c, d")], False),
        ('["a", "b", "c", "d", "e", "f"]', ["abc", "def"], False),
        ('["a", "b", "c"]\n["d", "e"]', ["abc"], True),
        ('["a", "b", "c"]\n["d", "e", "f', ["abc"], True),
        ('["a", "b", "c\n["d", "e", "f"]', ["def"], True),
        ('("a", "b") ("d", "e", "f")', ["def"], True),
        ('["a", "b", ""]', [], True),
        ("__import__('os').remove('x')", [], True),
    ],
)
def test_triplets_however_they_are_written(text: str, triplets: list[Any], unread: bool) -> None:
    for header in ("S1\n", "S1: "):
        block = read(header + text, ["S1"])["S1"]
        assert (block.triplets, block.unread) == ([tuple(triplet) for triplet in triplets], unread)


def test_reading_takes_no_longer_for_strange_texts() -> None:
    for piece in ('["', '"]', "([", '", "', "|", "a, ", "S1 "):
        read(piece * 3000, ["S1"])
        clauses(piece * 3000)


def test_triplets_of_the_model(scripted: Callable[..., Any]) -> None:
    model = scripted(
        ['S1\n["tower of Osk", "is", "52 metres high"]\nS2\n["The tower of Osk", "was built in", "1950"]\n']
    )
    found = run(model, TOWER, "How high is it?", format="triplet")
    assert found.error is None and found.usage.calls == 1
    assert [(claim.sentence, claim.content) for claim in found.claims] == [
        (1, ("tower of Osk", "is", "52 metres high")),
        (2, ("The tower of Osk", "was built in", "1950")),
    ]
    assert [TOWER[slice(*claim.span)] for claim in found.claims if claim.span] == [
        "tower of Osk is 52 metres high",
        "built in 1950",
    ]
    assert model.grammars[0].splitlines()[0] == r'root ::= "S1" fact{1,4} "\n" "S2" fact{1,3}'


def test_triplets_without_a_name_go_to_the_sentence_that_they_are_about(scripted: Callable[..., Any]) -> None:
    model = scripted(['("tower", "was built in", "1950")\n("Osk", "has", "52 metres")'])
    found = run(model, TOWER, format="triplet")
    assert [(claim.sentence, claim.text) for claim in found.claims] == [
        (1, "Osk has 52 metres"),
        (2, "tower was built in 1950"),
    ]


@pytest.mark.parametrize(
    ("said", "expected", "error"),
    [
        (
            'S1\n["Osk", "is", "52 metres"]\n["Rome", "lies in", "Italy"]\nS2\n["it", "built in", "1950"]',
            [tuple, tuple],
            None,
        ),
        ('S1\n["Osk", "is", "52 metres"]', [tuple, str], "1 of 2 sentences"),
        ('S1\n["Osk", "is", "52 metres"]\nS2\n["Rome", "is", "old"]', [tuple, str], "1 of 2 sentences"),
        ('S1\n["Osk", "is", "52 metres"]\n["Osk", "is"]\nS2\n["it", "built in", "1950"]', [tuple, str, tuple], None),
        ("The weather is fine.", [str, str], "2 of 2 sentences"),
        ("", [str, str], "2 of 2 sentences"),
    ],
)
def test_nothing_goes_unchecked(
    scripted: Callable[..., Any], said: str, expected: list[type], error: str | None
) -> None:
    found = run(scripted([said]), TOWER, format="triplet")
    assert [type(claim.content) for claim in found.claims] == expected
    assert found.error == (error and f"{error} have no triplets and stand whole")


def test_a_fact_under_the_name_of_the_next_sentence_and_one_that_is_repeated(scripted: Callable[..., Any]) -> None:
    said = (
        'S1\n["tower", "is", "52 metres high"]\nS2\n["Osk", "has", "a tower 52 metres high"]\n'
        + '["It", "was built in", "1950"]\n' * 2
    )
    found = run(scripted([said]), TOWER, format="triplet")
    assert [(claim.sentence, claim.content[0]) for claim in found.claims] == [(1, "tower"), (1, "Osk"), (2, "It")]


def test_a_sentence_that_has_all_the_facts_it_may_have_stands_whole_too(scripted: Callable[..., Any]) -> None:
    facts = "".join(f'["It", "was built in {part}", "1950"]\n' for part in ("May", "June", "July"))
    found = run(scripted(['S1\n["tower", "is", "52 metres high"]\nS2\n' + facts]), TOWER, format="triplet")
    assert [claim.content for claim in found.claims][-1] == "It was built in 1950." and len(found.claims) == 5


def test_an_answer_that_was_cut_off_leaves_its_sentence_whole(scripted: Callable[..., Any]) -> None:
    class Cut(scripted):  # type: ignore[misc, valid-type]
        async def generate(self, messages: Sequence[Message], **options: Any) -> Any:
            return (await super().generate(messages, **options)).model_copy(update={"truncated": True})

    found = run(Cut(['S1\n["Osk", "is", "52 metres"]\nS2\n["it", "built in", "1950"]\n']), TOWER, format="triplet")
    assert [type(claim.content) for claim in found.claims] == [tuple, tuple, str]


def test_long_responses_are_taken_apart_in_several_calls(scripted: Callable[..., Any]) -> None:
    response = " ".join(f"Osk has {number} towers." for number in range(8)) + f" Osk has {'very ' * 500}old walls."
    model = scripted(lambda messages: f'{messages[-1]["content"].splitlines()[-1][:2]}\n["Osk", "has", "towers"]')
    found = run(model, response, format="triplet")
    assert len(model.seen) == 2 and "Text before it: Osk has 0 towers." in model.seen[1][-1]["content"]
    assert {claim.sentence for claim in found.claims} == set(range(1, 10))
    assert isinstance(found.claims[-1].content, str) and not any("very very" in str(call) for call in model.seen)


def test_chinese_is_asked_in_chinese(scripted: Callable[..., Any]) -> None:
    model = scripted(['S1\n["鲁迅", "生于", "1881年"]\n'])
    found = run(model, "鲁迅生于1881年，是绍兴人。", format="triplet")
    assert "问题：鲁迅是谁？" in model.seen[0][1]["content"]
    assert [claim.text for claim in found.claims] == ["鲁迅 生于 1881年"] and found.claims[0].span == (0, 9)


def test_what_cannot_be_extracted(scripted: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="the response is empty"):
        run(scripted(), " \n")
    with pytest.raises(ConfigError, match="claim format 'word' is not known: use sentence, subsentence, triplet"):
        run(scripted(), TOWER, format="word")
    with pytest.raises(ConfigError, match="language 'fr' is not known"):
        run(scripted(), TOWER, language="fr")

    def gone(messages: Sequence[Message]) -> str:
        raise ModelError("the endpoint is gone")

    with pytest.raises(ModelError, match="gone"):
        run(scripted(gone), TOWER, format="triplet")


@pytest.mark.parametrize(
    ("text", "claim", "place"),
    [
        ("Osk is an old town. In 1950 the tower of Osk was in Brod.", "Osk in 1950", "1950 the tower of Osk"),
        ("鲁迅生于1881年，鲁迅是绍兴人", "鲁迅 是 绍兴人", "鲁迅是绍兴人"),
        ("Osk is old.", "Rome", None),
    ],
)
def test_the_smallest_stretch_with_the_words(text: str, claim: str, place: str | None) -> None:
    found = stretch(text, claim)
    assert (found and text[slice(*found)]) == place
