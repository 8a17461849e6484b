"""The loop's logic with a scripted model: what a detection ends in, whatever the model, a tool or the endpoint does."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import Demo, HaluAgent, Limits, ToolContext, tool
from haluagent.errors import ConfigError, ModelError
from haluagent.events import Action, Answered, Found, Observation, Revised, Thought, Verdict
from haluagent.protocols import Message
from haluagent.types import Detection, Sentence, ToolResult

QUESTION = "Describe what the boxes hold."  # no problem to solve: only the sentences are checked
RESPONSE = "It is 12 * 7 = 84. After giving away 4 there are 84 - 4 = 79 pens left."


def by_sentence(detection: Detection) -> dict[int, str]:
    return {entry.sentence.index: entry.label for entry in detection.sentences}


def test_a_wrong_sum_is_found_with_its_evidence(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent:
        detection = agent.detect(QUESTION, RESPONSE)
    assert detection.hallucination is True
    assert detection.score > 0.9
    assert detection.stop == "answer"
    first, second = detection.sentences[:2]
    assert (first.label, second.label) == ("supported", "contradicted")
    assert "80" in second.evidence[0].text
    start, end = second.evidence[0].span  # type: ignore[misc]
    assert detection.response[start:end] in second.sentence.text


def test_every_sentence_is_verbatim_and_the_split_is_a_step(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent:
        detection = agent.detect(QUESTION, RESPONSE)
    for entry in detection.sentences:
        start, end = entry.sentence.span
        assert RESPONSE[start:end] == entry.sentence.text
    assert detection.steps[0].call is not None
    assert detection.steps[0].call.name == "split_text"


@pytest.mark.parametrize(
    ("say", "stop_word"),
    [
        (lambda messages: "I cannot decide.", "could not be read"),
        (lambda messages: "THOUGHT: x\nACTION: no_such_tool(sentence=S1)", "could not be read"),
        (lambda messages: "THOUGHT: enough\nACTION: get_answer()", "check"),
    ],
)
def test_a_model_that_gets_nowhere_ends_unverified(scripted: Any, say: Any, stop_word: str) -> None:
    with HaluAgent(scripted(say)) as agent:
        detection = agent.detect("Who was it?", "It was 3 or 4 people. It was not 5 people.")
    assert set(by_sentence(detection).values()) == {"unverified"}
    assert detection.hallucination is None
    for entry in detection.sentences:
        assert stop_word in entry.reason
        assert entry.opinion is not None


@pytest.mark.parametrize(("limits", "say", "stop"), [
    (Limits(steps=1), "ACTION: calculator(sentence={})", "step_limit"),
    (Limits(format_errors=0), "It is fine.", "format_errors"),
])  # fmt: skip
@pytest.mark.parametrize("closed_book", [False, True])
def test_each_limit_has_its_stop_and_leaves_no_label(
    scripted: Any, limits: Limits, say: str, stop: str, closed_book: bool
) -> None:
    question = "A crate holds 15 of 90 bottles. How many crates are there?"
    model = scripted(lambda messages: say.format(scripted.checked(messages)))
    with HaluAgent(model, limits=limits, closed_book=closed_book) as agent:
        detection = agent.detect(question, "There are 7 crates. That is 7 of them.")
    assert detection.stop == stop
    assert by_sentence(detection)[1] == by_sentence(detection)[2] == "unverified"


def test_a_step_is_supported_by_the_answer_that_it_leads_to(scripted: Any) -> None:
    """Two of the sampled formulas give the answer; the step that no tool could check led there. A stray fact did not."""

    def say(messages: Any) -> str:
        if "ACTION" not in str(messages[0]["content"]):
            return "90-4*6"
        return f'ACTION: calculator(sentence={scripted.checked(messages)}, formula="90-4")'

    response = (
        "Let us see:\nThe bottles left are those not taken from each crate. Napoleon died in 1821. 90 - 4 * 6 = 66."
    )
    question = "Of 90 bottles in 6 crates 4 are taken from each crate. How many bottles are left?"
    with HaluAgent(scripted(say, choose=0.6)) as agent:
        detection = agent.detect(question, response)
    assert by_sentence(detection) == {1: "no_claim", 2: "supported", 3: "unverified", 4: "supported", 0: "supported"}
    step = detection.sentences[1]
    assert step.revised_from is not None and step.revised_from.label == "unverified"
    assert "worked out anew" in step.reason


def test_a_call_about_another_sentence_is_refused(scripted: Any) -> None:
    """An endpoint without grammars may write any call; it must not label one sentence by another."""
    with HaluAgent(scripted(lambda messages: "ACTION: calculator(sentence=S1)")) as agent:
        detection = agent.detect(QUESTION, "It is 1 + 1 = 2. It is 2 + 2 = 5.")
    assert by_sentence(detection) == {1: "supported", 2: "unverified"}


def test_a_model_is_told_what_it_may_call_whenever_that_changes(scripted: Any, empty_search: Any) -> None:
    """The system prompt lists every tool. A reference that decides nothing is offered no more; a search then is."""
    calls = iter(['match(sentence=S1, context="reference")', 'web_search(sentence=S1, query="who")'])
    model = scripted(lambda messages: f"ACTION: {next(calls, 'get_answer()')}", choose=0.5)
    with HaluAgent(model, search=empty_search) as agent:
        agent.detect("Who came?", "Napoleon came home. Josephine waited there.", reference="It rained.")
    longest = max((one for one in model.seen if len(one) > 1 and "\nCheck S1: " in one[1]["content"]), key=len)
    lines = [message["content"].rpartition("\n")[2] for message in longest if message["role"] == "user"]
    told = [line for line in lines if line.startswith("Offered here")]
    ways_out = "get_answer, change_tools, talk_to_user"
    assert told == [
        f"Offered here: match, {ways_out}",
        f"Offered here: web_search, {ways_out}",
    ]


def holds_for_a_courtesy(what: str) -> Callable[[Any], float]:
    """A model that holds the sentences with these words for no claims, and all others for claims."""

    def choose(messages: Any) -> float:
        text = messages[-1]["content"]
        return 0.9 if (what in text.partition("<statement>")[2]) == ("\nA: a greeting" in text) else 0.1

    return choose


@pytest.mark.parametrize("response", ["Let me see. It was Napoleon in 1815.", "Let me see. Whales breathe air."])
def test_a_sentence_that_claims_something_is_not_waved_through(scripted: Any, response: str) -> None:
    """One has a number in it; the other is held for a claim when the model is asked about it alone."""
    say = 'ACTION: get_answer(sentence={}, label="no_claim")'
    model = scripted(lambda messages: say.format(scripted.checked(messages)), choose=holds_for_a_courtesy("Let me see"))
    with HaluAgent(model) as agent:
        detection = agent.detect("Who?", response)
    assert by_sentence(detection) == {1: "no_claim", 2: "unverified"}


@pytest.mark.parametrize(
    ("believed", "labels"),
    [
        (0.05, {1: "contradicted", 2: "supported"}),
        (0.3, {1: "no_claim", 2: "supported"}),
        ("silent", {1: "no_claim", 2: "supported"}),
        ("said", {1: "supported", 2: "supported"}),
    ],
)
def test_what_seems_to_claim_nothing_is_read_beside_the_reference_all_the_same(
    scripted: Any, believed: Any, labels: dict[int, str]
) -> None:
    """Only a clear answer counts: a courtesy is neither said by a text nor denied."""
    held = holds_for_a_courtesy("Okafor bakes")

    def choose(messages: Any) -> Any:
        if "greeting" in prompt(messages):
            return held(messages)
        return believes(believed if "Okafor bakes" in prompt(messages).partition("<claim>")[2] else "said")(messages)

    def say(messages: Any) -> str:
        name = scripted.checked(messages)
        return (
            f'ACTION: get_answer(sentence={name}, label="no_claim")'
            if name == "S1"
            else f'ACTION: match(sentence={name}, context="reference")'
        )

    with HaluAgent(scripted(say, choose=choose), search="none", sandbox="none") as agent:
        detection = agent.detect(
            "Who?", "Okafor bakes cakes. He bakes well.", "Iyer organises the cakes. Okafor asks the mayor."
        )
    assert by_sentence(detection) == labels


def test_a_condition_that_was_not_reached_is_not_met(scripted: Any) -> None:
    """The limit comes before the length is counted: that the sentences are right says nothing about it."""
    with HaluAgent(scripted(scripted.calculate, choose=0.9), limits=Limits(tokens=1800), reflect=False) as agent:
        detection = agent.detect("Describe 12 * 7 in exactly 50 words.", "It is 12 * 7 = 84. And 84 = 7 * 12.")
    assert detection.stop == "budget"
    assert by_sentence(detection)[0] == "unverified"
    assert detection.hallucination is None


def test_an_endpoint_that_dies_midway_ends_in_a_report(scripted: Any) -> None:
    def say(messages: Sequence[Message]) -> str:
        if scripted.checked(messages) == "S2":
            raise ModelError("http://127.0.0.1:1/v1 does not answer")
        return scripted.calculate(messages)

    with HaluAgent(scripted(say), reflect=False) as agent:
        detection = agent.detect("Show sums.", "It is 1 + 1 = 2. It is 2 + 2 = 4. It is 3 + 3 = 6.")
    assert detection.stop == "error"
    assert "does not answer" in (detection.error or "")
    labels = by_sentence(detection)
    assert labels[1] == "supported"
    assert labels[2] == "unverified"
    assert detection.hallucination is None


def test_a_tool_that_raises_is_read_by_the_model_and_labels_nothing(scripted: Any) -> None:
    async def broken(context: ToolContext, sentence: Sentence) -> ToolResult:
        raise OSError("disk on fire")

    demos = [
        Demo(language=language, question="q", response="r", thought="t", call="broken(sentence=S1)", observation="o")
        for language in ("en", "zh")
    ]
    item = tool(description={"en": "breaks", "zh": "会坏"}, demos=demos)(broken)
    model = scripted(lambda messages: f"THOUGHT: try\nACTION: broken(sentence={scripted.checked(messages)})")
    with HaluAgent(model, tools=[item]) as agent:
        detection = agent.detect("Who?", "It was a cat.")
    assert detection.hallucination is None
    assert "disk on fire" in (detection.steps[1].error or "")
    assert any("disk on fire" in message["content"] for messages in model.seen for message in messages)


def test_the_token_limit_leaves_the_rest_unverified(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate), limits=Limits(tokens=1500)) as agent:
        detection = agent.detect("Show sums.", "It is 1 + 1 = 2. It is 2 + 2 = 4. It is 3 + 3 = 6. It is 4 + 4 = 8.")
    labels = by_sentence(detection)
    assert detection.stop == "budget"
    assert detection.hallucination is None
    assert labels[1] == "supported"
    assert labels[4] == "unverified"
    assert detection.coverage.response < 1.0
    assert "1500 tokens" in detection.sentences[-1].reason


def test_the_time_limit_stops_a_model_that_hangs(scripted: Any) -> None:
    class Hanging(scripted):  # type: ignore[misc, valid-type]
        async def generate(self, *arguments: Any, **options: Any) -> Any:
            await asyncio.Event().wait()

    with HaluAgent(Hanging(), limits=Limits(seconds=0.2)) as agent:
        detection = agent.detect("How many?", "It is 1 + 1 = 2.")
    assert detection.stop == "budget"
    assert by_sentence(detection) == {1: "unverified"}


def test_closed_book_makes_the_belief_the_label_and_says_so(scripted: Any) -> None:
    say = "THOUGHT: no tool\nACTION: get_answer()"
    with HaluAgent(scripted(lambda messages: say, choose=0.1), closed_book=True) as agent:
        detection = agent.detect("Who wrote Hamlet?", "Hamlet was written by Goethe.")
    entry = detection.sentences[0]
    assert (entry.label, detection.hallucination) == ("contradicted", True)
    assert "nothing was checked" in entry.reason


def test_open_book_keeps_the_belief_beside_unverified(scripted: Any) -> None:
    with HaluAgent(scripted(lambda messages: "ACTION: get_answer()", choose=0.1)) as agent:
        detection = agent.detect("Who wrote Hamlet?", "Hamlet was written by Goethe.")
    assert detection.hallucination is None
    assert detection.sentences[0].opinion == pytest.approx(0.1)
    assert 0.5 < detection.score < 1.0


def test_a_step_that_uses_a_wrong_result_is_wrong(scripted: Any) -> None:
    response = "One crate costs 17 * 3 = 54 dollars. In total it is 54 * 2 = 108 dollars. That is 10 * 2 = 20 dollars."
    with HaluAgent(scripted(scripted.calculate)) as agent:
        detection = agent.detect("Describe the costs.", response)
    assert by_sentence(detection) == {1: "contradicted", 2: "contradicted", 3: "supported"}
    second = detection.sentences[1]
    assert second.revised_from is not None
    assert second.revised_from.label == "supported"
    assert "54" in second.reason


def test_without_reflection_nothing_is_revised(scripted: Any) -> None:
    response = "One crate costs 17 * 3 = 54 dollars. In total it is 54 * 2 = 108 dollars."
    with HaluAgent(scripted(scripted.calculate), reflect=False) as agent:
        detection = agent.detect("Describe the costs.", response)
    assert by_sentence(detection)[2] == "supported"


def test_events_come_in_order_and_end_with_the_answer(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent:
        events = list(agent.stream(QUESTION, RESPONSE))
    kinds = [type(event) for event in events]
    assert kinds[-1] is Answered
    assert kinds.count(Found) == 2
    about_first = [type(e) for e in events if getattr(e, "sentence", None) == 1]
    assert about_first == [Thought, Action, Observation]
    assert [e.entry.sentence.index for e in events if isinstance(e, Verdict)] == [1, 2]
    assert not any(isinstance(e, Revised) for e in events)


def test_closing_the_stream_stops_the_detection(scripted: Any) -> None:
    model = scripted(scripted.calculate)
    with HaluAgent(model) as agent:
        stream = agent.stream("How many?", " ".join(f"It is {n} + 1 = {n + 1}." for n in range(50)))
        for event in stream:
            if isinstance(event, Verdict):
                break
        stream.close()  # type: ignore[attr-defined]
    assert len(model.seen) < 50


def test_it_works_inside_a_running_loop(scripted: Any) -> None:
    async def notebook() -> tuple[Detection, Detection]:
        with HaluAgent(scripted(scripted.calculate)) as agent:
            return agent.detect(QUESTION, RESPONSE), await agent.adetect(QUESTION, RESPONSE)

    one, other = asyncio.run(notebook())
    assert by_sentence(one) == by_sentence(other)


def test_the_single_transcript_is_led_by_the_model(scripted: Any) -> None:
    lines = [
        "THOUGHT: split first\nACTION: split_text()",
        "THOUGHT: a sum\nACTION: calculator(sentence=S1)",
        "THOUGHT: a sum\nACTION: calculator(sentence=S2)",
        "THOUGHT: done\nACTION: get_answer()",
    ]
    model = scripted(lines)
    with HaluAgent(model, strategy="linear") as agent:
        detection = agent.detect(QUESTION, RESPONSE)
    assert by_sentence(detection) == {1: "supported", 2: "contradicted"}
    assert [step.call.name for step in detection.steps if step.call] == [
        "split_text", "calculator", "calculator", "get_answer",
    ]  # fmt: skip
    assert len(model.seen[-1]) > len(model.seen[0])


def test_the_single_transcript_leaves_out_nothing_silently(scripted: Any) -> None:
    with HaluAgent(scripted(["ACTION: get_answer()"]), strategy="linear") as agent:
        detection = agent.detect(QUESTION, RESPONSE)
    assert by_sentence(detection) == {1: "unverified", 2: "unverified"}


def test_the_single_transcript_ends_with_the_verdict_on_the_whole_response(scripted: Any) -> None:
    for count, hallucination in (("12", False), ("30", True)):
        model = scripted(["行为：split_text()", "行为：word_count(sentence=S0)", "行为：get_answer()"], choose=0.1)
        with HaluAgent(model, strategy="linear") as agent:
            detection = agent.detect(f"请用{count}字写一句广告语。", "清晨一杯好茶。唤醒好心情")
        assert by_sentence(detection)[1] == by_sentence(detection)[2] == "no_claim"
        assert (detection.hallucination, detection.stop) == (hallucination, "answer")


def test_the_single_transcript_need_not_check_a_courtesy(scripted: Any) -> None:
    model = scripted(["ACTION: split_text()", "ACTION: calculator(sentence=S2)", "ACTION: get_answer()"])
    with HaluAgent(model, strategy="linear") as agent:
        detection = agent.detect(QUESTION, "Of course, I'd be happy to help! 15 * 6 = 90.")
    assert by_sentence(detection) == {1: "no_claim", 2: "supported"} and detection.hallucination is False


def test_a_writing_assignment_is_checked_by_its_length(scripted: Any) -> None:
    say = "思考：要求的是字数\n行为：word_count(sentence=S0)"
    with HaluAgent(scripted(lambda messages: say, choose=0.1)) as agent:
        right = agent.detect("请用12字写一句广告语。", "清晨一杯好茶。唤醒好心情")
        wrong = agent.detect("请用30字写一句广告语。", "清晨一杯好茶。唤醒好心情")
    assert by_sentence(right) == {1: "no_claim", 2: "no_claim", 0: "supported"}
    assert (right.hallucination, wrong.hallucination) == (False, True)


def test_recheck_replaces_one_entry(scripted: Any) -> None:
    with HaluAgent(scripted(lambda messages: "ACTION: get_answer()")) as agent:
        before = agent.detect(QUESTION, RESPONSE)
        agent.model = scripted(scripted.calculate)
        after = [event for event in agent.recheck(before, 2, tool="calculator") if isinstance(event, Answered)]
        with pytest.raises(ConfigError, match="no sentence 9"):
            list(agent.recheck(before, 9))
    assert by_sentence(before) == {1: "unverified", 2: "unverified"}
    assert by_sentence(after[0].detection) == {1: "unverified", 2: "contradicted"}
    assert after[0].detection.hallucination is True


@pytest.mark.parametrize(("question", "response"), [("", ""), ("What?", "  "), ("これは何ですか？", "これは猫です。")])
def test_texts_that_cannot_be_checked_say_why(scripted: Any, question: str, response: str) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent, pytest.raises(ConfigError):
        agent.detect(question, response)


@pytest.mark.parametrize("question", ["", None, " \n"])
def test_a_question_is_optional(scripted: Any, question: str | None) -> None:
    model = scripted(scripted.calculate)
    with HaluAgent(model) as agent:
        alone = agent.detect(question, "Seven boxes hold 12 * 7 = 84 pens. There are 84 - 4 = 79 left.")
        agent.detect(question, "Paris is old. It is large. 说明如下：", "Paris is old.")
        linear = agent.detect(question, "这是一段没有问题的文字。其中 2 + 2 = 5。")
    assert (alone.question, alone.hallucination, alone.language) == ("", True, "en")
    assert (linear.hallucination, linear.language) == (True, "zh")
    said = [message["content"] for messages in model.seen for message in messages if message["role"] == "user"]
    assert said and not any("<question>" in text for text in said)
    assert not any(text.rstrip().endswith(("Question:", "问题：")) for text in said)


def test_an_empty_reference_is_refused(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent, pytest.raises(ConfigError, match="reference is empty"):
        agent.detect("What?", "A cat.", reference=" ")


def test_a_question_longer_than_the_context_is_refused(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate)) as agent, pytest.raises(ConfigError, match="the question takes"):
        agent.detect("why? " * 20_000, "Because 1 + 1 = 2.")


def test_a_response_longer_than_the_context_is_windowed(scripted: Any) -> None:
    response = " ".join(f"Item {n} costs {n} + 1 = {n + 1} dollars." for n in range(600))
    model = scripted(scripted.calculate, context=4096)
    with HaluAgent(model, reflect=False, concurrency=8) as agent:
        detection = agent.detect("What do they cost?", response)
    assert len([entry for entry in detection.sentences if entry.sentence.index > 0]) == 600
    assert detection.coverage.response == 1.0
    longest = max(sum(model.count_tokens(message["content"]) for message in messages) for messages in model.seen)
    assert longest < 4096
