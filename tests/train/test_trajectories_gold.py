"""The gold teacher through the real agent: one lesson of each kind and language ends, with valid calls, in its gold label."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.search.index.local import LocalIndex
from haluagent.tools import default_registry
from haluagent.train.trajectories.arithmetic import PLANS
from haluagent.train.trajectories.build import gold_teacher, run
from haluagent.train.trajectories.filter import failing
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import Trajectory

TOWER = {
    "en": "Harlow Tower is a listed building in Oldcastle. It was built in 1834 by Mary Ellis. The roof was repaired in 1871.",
    "zh": "云川大桥位于临河市。大桥由陈志远设计，于1934年建成。桥面在1971年重修。",
}
ASKED = {"en": "Who built Harlow Tower?", "zh": "云川大桥是谁设计的？"}
RIGHT = {"en": "It is Mary Ellis.", "zh": "是陈志远。"}
WRONG = {"en": "It is John Carrick.", "zh": "是周文海。"}
ANSWER = {"en": "Mary Ellis", "zh": "陈志远"}
LONGER = {
    "en": "The answer is Mary Ellis. The roof was repaired in 1903. That is all I found.",
    "zh": "答案是陈志远。桥面在1903年重修。我找到的就是这些。",
}
SHOP = {
    "en": ("A shop has 6 boxes with 15 pencils each. How many pencils are there?", "The answer is {}."),
    "zh": ("一箱有15支铅笔，6箱一共有多少支铅笔？", "答案是{}。"),
}


def lesson(kind: str, language: str, question: str, response: str, gold: bool | None, **known: Any) -> Lesson:
    item = {"id": "set:1:x", "group": "set:1", "source": "set", "kind": kind, "language": language}
    return Lesson.model_validate(item | {"question": question, "response": response, "gold": gold} | known)


def detected(item: Lesson, agent: HaluAgent | None = None) -> Trajectory:
    teacher = gold_teacher(tool.name for tool in default_registry())(item, 0)
    agent = agent or HaluAgent(teacher, search=None, sandbox=None, ablate=["reading"])  # as `build` does
    return asyncio.run(run(agent, item, teacher))


def called(trajectory: Trajectory) -> set[str]:
    """The names of the tools that the taught turns call, and the prompts of the other calls that are taught."""
    taught = [call for call in trajectory.calls if call.learn]
    turns = {
        call.reply.splitlines()[1].partition("(")[0].split(" ")[-1].split("：")[-1]
        for call in taught
        if call.prompt == "agent"
    }
    return turns | {call.prompt for call in taught if call.prompt != "agent"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("wrong", [False, True])
def test_an_answer_is_compared_with_the_reference(language: str, wrong: bool) -> None:
    response = (WRONG if wrong else RIGHT)[language]
    item = lesson(
        "knowledge", language, ASKED[language], response, wrong, reference=TOWER[language], answer=ANSWER[language]
    )
    found = detected(item)
    assert failing(found) is None
    assert found.labels == ("contradicted" if wrong else "supported",)
    replies = [call.reply for call in found.calls if call.prompt == "verdict"]
    assert {"verdict", "answer"} <= called(found)
    assert replies == (["B"] if wrong else ["A"]), "a model that is taught this is asked once"
    assert ANSWER[language] in {call.reply for call in found.calls if call.prompt == "answer"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("wrong", [False, True])
def test_what_announces_the_work_or_restates_the_question_is_no_mistake(language: str, wrong: bool) -> None:
    question, answer = SHOP[language]
    before = {"en": "We know this: A shop has 6 boxes with 15 pencils each.", "zh": "已知一箱有15支铅笔。"}[language]
    result = 95 if wrong else 90
    response = f"{PLANS[language][0]}\n{before}\n6 × 15 = {result}。{answer.format(result)}"
    found = detected(lesson("math", language, question, response, wrong, answer="90", formula="6*15"))
    assert failing(found) is None
    # A restatement is open: its numbers may be those of other things. A right answer supports it, as one of its steps.
    assert found.labels[:3] == (
        ("no_claim", "unverified", "contradicted") if wrong else ("no_claim", "supported", "supported")
    )
    assert {"get_answer", "calculator", "claim"} <= called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("wrong", [False, True])
def test_an_answer_is_looked_up_in_an_index(tmp_path: Path, language: str, wrong: bool) -> None:
    file = tmp_path / "tower.txt"
    file.write_text(TOWER[language], encoding="utf-8")
    index = LocalIndex(tmp_path / "index.db")
    index.add([file])
    known = {"answer": ANSWER[language], "passages": [TOWER[language]], "index": True}
    item = lesson("knowledge", language, ASKED[language], (WRONG if wrong else RIGHT)[language], wrong, **known)
    taught = HaluAgent(gold_teacher(())(item, 0), search=index, sandbox=None, ablate=["reading"])
    found = detected(item, taught)
    assert failing(found) is None
    assert {"web_search", "verdict"} <= called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_sentence_of_a_longer_response_has_its_label(language: str) -> None:
    labels = ("supported", "contradicted", "no_claim")
    known = {"reference": TOWER[language], "answer": ANSWER[language], "gold_labels": labels}
    found = detected(lesson("knowledge", language, ASKED[language], LONGER[language], True, **known))
    assert failing(found) is None and found.labels == labels
    assert {"match", "get_answer", "claim"} <= called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("result", "wrong"), [("90", False), ("21", True)])
def test_a_bare_answer_to_a_word_problem_is_worked_out_anew(language: str, result: str, wrong: bool) -> None:
    question, form = SHOP[language]
    found = detected(lesson("math", language, question, form.format(result), wrong, formula="6*15", answer="90"))
    assert failing(found) is None
    assert {"formula", "problem"} <= called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("steps", "filtered"),
    [
        ("6 × 15 = 90", None),
        ("6 + 15 = 21", "verdict"),
        ("6 × 15 = 100", None),
    ],  # a sum that holds is no proof of an error
    ids=["right", "wrong formula", "wrong result"],
)
def test_a_calculation_is_checked_step_by_step(language: str, steps: str, filtered: str | None) -> None:
    question, end = SHOP[language]
    response = f"{steps}{'. ' if language == 'en' else '。'}{end.format(steps.split('= ')[1])}"
    found = detected(lesson("math", language, question, response, steps != "6 × 15 = 90", formula="6*15", answer="90"))
    assert failing(found) == filtered
    assert "calculator" in called(found)


@pytest.mark.parametrize(
    ("language", "question", "response", "gold"),
    [
        ("en", "How many days are there from May 3, 2001 to May 13, 2001?", "There are 10 days.", False),
        ("en", "What day of the week is May 3, 2001?", "May 3, 2001 is a Monday.", True),
        ("zh", "从2001年5月3日到2001年5月13日一共有多少天？", "一共有12天。", True),
        ("zh", "2001年5月3日是星期几？", "2001年5月3日是星期四。", False),
    ],
)
def test_days_and_weekdays_are_counted(language: str, question: str, response: str, gold: bool) -> None:
    found = detected(lesson("date", language, question, response, gold))
    assert failing(found) is None


@pytest.mark.parametrize(
    ("language", "question", "unit"),
    [("en", "Write about the sea in 30 words.", "sea "), ("zh", "请用30字介绍大海。", "海")],
)
@pytest.mark.parametrize("size", [30, 10])
def test_the_length_of_a_piece_of_writing_is_counted(language: str, question: str, unit: str, size: int) -> None:
    found = detected(lesson("length", language, question, (unit * size).strip(), size != 30))
    assert failing(found) is None


@pytest.mark.parametrize(
    ("language", "question", "right", "wrong", "other"),
    [
        (
            "en", "Translate this into English: Der Zug fährt um neun Uhr ab.",
            "The train leaves at nine.", "The bus arrives at ten.", "At nine o'clock the train departs.",
        ),
        ("zh", "请把这句话翻译成中文：The train leaves at nine.", "火车九点出发。", "汽车十点到达。", "列车九点钟开出。"),
    ],
)  # fmt: skip
def test_a_translation_is_compared_with_another(
    language: str, question: str, right: str, wrong: str, other: str
) -> None:
    for response, gold in ((right, False), (wrong, True)):
        found = detected(lesson("translation", language, question, response, gold, independent=other))
        assert failing(found) is None
        assert "same_meaning" in called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_response_is_compared_with_itself(language: str) -> None:
    first, other = {
        "en": ("Harlow Tower was built by Mary Ellis.", "Harlow Tower was built by John Carrick."),
        "zh": ("云川大桥由陈志远设计。", "云川大桥由周文海设计。"),
    }[language]
    labels = ("unverified", "contradicted")
    response = f"{first}{' ' if language == 'en' else ''}{other}"
    question = {"en": "Tell me about Harlow Tower.", "zh": "请介绍云川大桥。"}[language]
    found = detected(lesson("consistency", language, question, response, True, gold_labels=labels))
    assert failing(found) is None and found.labels == labels


TRAIN = {
    "en": "Translate this into English: Der Zug fährt um neun Uhr ab.",
    "zh": "请把这句话翻译成中文：The train leaves at nine.",
}
LEAVES = {"en": "The train leaves at nine.", "zh": "火车九点出发。"}
DEPARTS = {"en": "At nine o'clock the train departs.", "zh": "列车九点钟开出。"}
DAYS = {
    "en": ("How many days are there from May 3, 2001 to May 13, 2001?", "There are 12 days."),
    "zh": ("从2001年5月3日到2001年5月13日一共有多少天？", "一共有12天。"),
}
POEM = {"en": ("Write about the sea in 30 words.", "sea " * 30), "zh": ("请用30字介绍大海。", "海" * 30)}
SUM = {
    "en": "We work it out step by step. 6 × 15 = 90. The answer is 90.",
    "zh": "我们一步一步来算。6 × 15 = 90。答案是90。",
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("knowledge", ["match(sentence=S1", "match(sentence=S2", "get_answer(sentence=S3"]),
        ("math", ["calculator(sentence=S2", "calculator(sentence=S3", "calculator(sentence=S0"]),
        ("date", ["date(sentence=S1"]),
        ("length", ["word_count(sentence=S0"]),
        ("translation", ["translate(sentence=S0"]),
    ],
)
def test_a_single_transcript_checks_every_sentence_and_ends(language: str, kind: str, calls: list[str]) -> None:
    labels = ("supported", "contradicted", "no_claim")
    sums = {"formula": "6*15", "answer": "90"}
    question, response, gold, known = {
        "knowledge": (ASKED[language], LONGER[language], True, {
            "reference": TOWER[language], "answer": ANSWER[language], "gold_labels": labels,
        }),
        "math": (SHOP[language][0], SUM[language], False, sums),
        "date": (*DAYS[language], True, {}),
        "length": (POEM[language][0], POEM[language][1].strip(), False, {}),
        "translation": (TRAIN[language], LEAVES[language], False, {"independent": DEPARTS[language]}),
    }[kind]  # fmt: skip
    item = lesson(kind, language, question, response, gold, **known)
    teacher = gold_teacher(tool.name for tool in default_registry())(item, 0)
    found = detected(item, HaluAgent(teacher, search=None, sandbox=None, strategy="linear"))
    turns = [call for call in found.calls if call.prompt == "agent"]
    written = [call.reply.splitlines()[1] for call in turns]
    assert failing(found) is None
    assert all(call.learn and call.sentence is None for call in turns)
    assert "split_text()" in written[0] and "get_answer()" in written[-1]
    assert len(written) >= len(calls) + 2 and all(any(call in turn for turn in written[1:-1]) for call in calls)
    assert [len(call.messages) for call in turns] == [2 * place + 2 for place in range(len(turns))], "one conversation"


@pytest.mark.parametrize(
    "sandbox",
    [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)],
)
@pytest.mark.parametrize(("sign", "wrong"), [("+", False), ("-", True)])
def test_code_is_run(sandbox: Any, sign: str, wrong: bool) -> None:
    prompt = 'def add(a, b):\n    """Add two numbers.\n    >>> add(2, 3)\n    5\n    """\n'
    response = f"```python\n{prompt}    return a {sign} b\n```"
    item = lesson("code", "en", f"Complete this Python function.\n\n{prompt}", response, wrong)
    with HaluAgent(gold_teacher(())(item, 0), search=None, sandbox=sandbox) as agent:
        assert failing(detected(item, agent)) is None


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("wrong", [False, True])
def test_without_a_short_answer_the_label_decides_and_no_answer_is_taught(language: str, wrong: bool) -> None:
    item = lesson(
        "knowledge", language, ASKED[language], (WRONG if wrong else RIGHT)[language], wrong, reference=TOWER[language]
    )
    found = detected(item)
    assert failing(found) is None
    assert "verdict" in called(found) and "answer" not in called(found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_a_short_answer_each_sentence_has_its_own_label(language: str) -> None:
    labels = ("supported", "contradicted", "no_claim")
    item = lesson(
        "knowledge", language, ASKED[language], LONGER[language], True, reference=TOWER[language], gold_labels=labels
    )
    assert failing(detected(item)) is None


def test_what_the_reference_does_not_say_stays_open() -> None:
    item = lesson("knowledge", "en", "How high is it?", "It is 40 metres high.", None, reference=TOWER["en"])
    found = detected(item)
    assert failing(found) is None and found.labels == ("unverified",)
    assert [call.reply for call in found.calls if call.prompt == "verdict"] == ["C"]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (
            lesson("knowledge", "en", ASKED["en"], LONGER["en"], True, reference=TOWER["en"]),
            "give their labels as gold_labels",
        ),
        (lesson("math", "en", SHOP["en"][0], "The answer is 90.", False), "has no formula for S1"),
        (
            lesson("translation", "zh", "请把这句话翻译成中文：It rains.", "下雨了。", False),
            "for the prompt 'translate'",
        ),
    ],
    ids=["which sentence", "which formula", "which translation"],
)
def test_what_the_teacher_does_not_know_it_does_not_say(item: Lesson, why: str) -> None:
    found = detected(item)
    assert failing(found) == "ended" and why in (found.error or "")
