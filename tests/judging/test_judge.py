"""The judges of one prompt that stand beside the agent in a benchmark: the form of Lynx, and a plain yes or no."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from haluagent.bench.methods import lynx, simple_prompt
from haluagent.errors import ModelError
from haluagent.protocols import Choice, Generation, Message
from haluagent.types import Language, Usage

QUESTION, RESPONSE, REFERENCE = "How high is the tower?", "It is 52 metres high.", "The tower of Osk has 34 metres."


class Failing:
    name, context = "failing", 8192

    async def generate(self, messages: Sequence[Message], **options: object) -> Generation:
        raise ModelError("the endpoint is gone")

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        raise ModelError("the endpoint is gone")

    def count_tokens(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize(
    "text, wrong",
    [
        ('{"REASONING": ["the document says 34"], "SCORE": "FAIL"}', True),
        ('```json\n{"REASONING": "- 34 metres", "SCORE": "PASS"}\n```', False),
        ("{'REASONING': ['It does not PASS, it FAILs'], 'SCORE': 'fail'}", True),
        ('{"REASONING": ["no end of the quote], "SCORE": PASS', False),
        ("**SCORE**: **FAIL**", True),
        ('"SCORE"："PASS"', False),
        ('{"SCORE": ["FAIL"]}', True),
        ('first {"SCORE": "PASS"} on second thought {"SCORE": "FAIL"}', True),
        ("The answer is faithful: PASS", False),
        ("PASS or FAIL? I cannot say.", None),
        ('{"REASONING": ["..."], "SCORE": "PASS or FAIL"}', None),
        ('{"REASONING": ["compassion, a password, a failure"], "SCORE": "?"}', None),
        ("", None),
    ],
)
def test_reading_an_answer_of_the_lynx_form(text: str, wrong: bool | None) -> None:
    assert lynx.read(text) is wrong


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_lynx_form_judges_by_the_reference(scripted: Callable[..., object], language: Language) -> None:
    model = scripted(free='{"REASONING": ["34, not 52"], "SCORE": "FAIL"}')
    verdict, score, usage, error = asyncio.run(lynx.judge(model, QUESTION, RESPONSE, REFERENCE, language))
    assert (verdict, score, error) == (True, 1.0, None) and usage.calls == 1 and usage.generated_tokens > 0
    ((message,),) = model.seen
    assert all(text in message["content"] for text in (QUESTION, RESPONSE, REFERENCE, "REASONING", "SCORE"))


def test_an_answer_that_is_neither_pass_nor_fail_is_no_verdict(scripted: Callable[..., object]) -> None:
    model = scripted(free="I am\nnot sure.")
    verdict, score, usage, error = asyncio.run(lynx.judge(model, QUESTION, RESPONSE, REFERENCE, "en"))
    assert (verdict, score, error) == (None, 0.5, "neither PASS nor FAIL in: I am not sure.") and usage.calls == 1


def test_without_a_reference_the_lynx_form_says_so_and_costs_nothing(scripted: Callable[..., object]) -> None:
    model = scripted()
    verdict, _, usage, error = asyncio.run(lynx.judge(model, QUESTION, RESPONSE, None, "en"))
    assert verdict is None and "needs a reference" in str(error) and usage == Usage() and not model.seen


@pytest.mark.parametrize("yes, verdict", [(0.8, True), (0.3, False)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_simple_prompt_asks_for_a_yes_or_no(
    scripted: Callable[..., object], language: Language, yes: float, verdict: bool
) -> None:
    model = scripted(choose=yes)
    found, score, usage, error = asyncio.run(simple_prompt.judge(model, QUESTION, RESPONSE, REFERENCE, language))
    assert (found, score, error) == (verdict, yes, None) and usage.calls == 1
    ((message,),) = model.seen
    assert all(text in message["content"] for text in (QUESTION, RESPONSE, REFERENCE))
    assert {"en": "Yes or No", "zh": "“是”或“否”"}[language] in message["content"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_a_reference_the_simple_prompt_does_not_speak_of_one(
    scripted: Callable[..., object], language: Language
) -> None:
    model = scripted()
    asyncio.run(simple_prompt.judge(model, QUESTION, RESPONSE, None, language))
    text = model.seen[0][0]["content"]
    assert RESPONSE in text and "reference" not in text and "参考" not in text


def test_a_model_that_writes_neither_yes_nor_no_is_no_verdict(scripted: Callable[..., object]) -> None:
    class Rambling(scripted):  # type: ignore[misc, valid-type]
        async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
            return Choice(probabilities=dict.fromkeys(choices, 0.5), usage=Usage(calls=2), calibrated=False)

    verdict, score, usage, error = asyncio.run(simple_prompt.judge(Rambling(), QUESTION, RESPONSE, None, "en"))
    assert (verdict, score, usage.calls, error) == (None, 0.5, 2, "the model wrote neither yes nor no")


@pytest.mark.parametrize("judge", [lynx.judge, simple_prompt.judge])
def test_a_failed_endpoint_is_an_error_and_no_verdict(judge: Callable[..., object]) -> None:
    with pytest.raises(ModelError, match="the endpoint is gone"):
        asyncio.run(judge(Failing(), QUESTION, RESPONSE, REFERENCE, "en"))  # type: ignore[arg-type]


@pytest.mark.parametrize("judge", [lynx.judge, simple_prompt.judge])
def test_long_texts_are_clipped_to_the_models_context(
    scripted: Callable[..., object], judge: Callable[..., object]
) -> None:
    model = scripted(free='"SCORE": "PASS"', context=1200)
    long = "a word " * 3000
    assert asyncio.run(judge(model, long, long, long, "en"))[3] is None  # type: ignore[arg-type]
    assert model.count_tokens(model.seen[0][0]["content"]) < 1200
