"""LangChain and LangGraph: a check as a Runnable in a chain, and as a node of a graph (extra `langchain`)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from haluagent.agent import HaluAgent
from haluagent.errors import ConfigError, HaluAgentError, ModelError
from haluagent.integrations.outcome import check_choice, check_threshold, outcome_of
from haluagent.report.lines import verdict_line
from haluagent.types import Detection

try:
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
    from langchain_core.runnables import RunnableLambda
except ImportError:
    raise ConfigError('LangChain is not installed: pip install "haluagent[langchain]"') from None

__all__ = ["HallucinationCheck", "ResponseFlagged", "check_node"]

Undecided = Literal["flag", "pass"]
OnError = Literal["raise", "flag", "pass"]
WhenFlagged = Literal["mark", "raise", "replace"]

QUESTION = ("question", "input", "query")
RESPONSE = ("response", "answer")
REFERENCE = ("reference", "documents", "context")
REPLACEMENT = "I could not verify my answer to this question."


class ResponseFlagged(HaluAgentError):
    """Raised for a flagged response if `when_flagged` is "raise"; `detection` is its report."""

    def __init__(self, detection: Detection) -> None:
        super().__init__(str(verdict_line(detection)))
        self.detection = detection


class HallucinationCheck(RunnableLambda[dict[str, Any], dict[str, Any]]):
    """Checks the response in a mapping, and returns the mapping with two more keys: `detection`, the report as plain
    data, and `flagged`, True if the response should not be used as it is.

    The mapping has `response` (or `answer`), and optionally `question` (or `input`, `query`) and `reference` (or
    `documents`, `context`): texts, messages or documents, or a list of them. An empty list of documents counts as no
    reference, and then most claims cannot be checked.

    A response is flagged in three cases. It has a contradicted sentence or, with a `threshold` in [0, 1], a score above
    it. It could not be checked, unless `undecided` is "pass". Or the model failed and `on_error` is "flag"; with
    "raise", ModelError is raised instead, and with "pass" the response stays unflagged, with the error in its report.
    `when_flagged` says what happens then: "mark" only sets the key, "raise" raises ResponseFlagged, and "replace" puts
    `replacement` in place of the response, which is then only in the report.

    Raises ConfigError for an invalid option, and for a mapping without a response.
    """

    def __init__(
        self,
        agent: HaluAgent,
        *,
        threshold: float | None = None,
        undecided: Undecided = "flag",
        on_error: OnError = "raise",
        when_flagged: WhenFlagged = "mark",
        replacement: str = REPLACEMENT,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> None:
        super().__init__(self._check, self._acheck, name="HallucinationCheck")
        check_threshold(threshold)
        check_choice("undecided", undecided, Undecided)
        check_choice("on_error", on_error, OnError)
        check_choice("when_flagged", when_flagged, WhenFlagged)
        self._agent = agent
        self._threshold = threshold
        self._undecided = undecided
        self._on_error = on_error
        self._when_flagged = when_flagged
        self._replacement = replacement
        self._language: Literal["auto", "en", "zh"] = language

    def _check(self, item: dict[str, Any]) -> dict[str, Any]:
        return self._agent.wait_for(self._acheck(item))

    async def _acheck(self, item: dict[str, Any]) -> dict[str, Any]:
        question = next((_text(item[name]) for name in QUESTION if item.get(name) is not None), "")
        answer_key = _key(item, RESPONSE)
        response = _text(item[answer_key])
        reference = next((_text(item[name]) for name in REFERENCE if item.get(name)), "")
        try:
            detection = await self._agent.adetect(
                question, response, reference if reference.strip() else None, self._language
            )
        except ModelError as error:  # the engine did not start
            detection = Detection(
                question=question, response=response, language="en", hallucination=None, score=0.5, sentences=(),
                stop="error", error=str(error),
            )  # fmt: skip
        flagged = self._is_flagged(detection)
        changed = {answer_key: self._replacement} if flagged and self._when_flagged == "replace" else {}
        return {**item, **changed, "detection": detection.model_dump(mode="json"), "flagged": flagged}

    def _is_flagged(self, detection: Detection) -> bool:
        outcome = outcome_of(detection, self._threshold)
        if outcome == "failed" and self._on_error == "raise":
            raise ModelError(detection.error or "the model failed")
        flagged = {
            "hallucinated": True,
            "failed": self._on_error == "flag",
            "undecided": self._undecided == "flag",
            "clear": False,
        }[outcome]
        if flagged and self._when_flagged == "raise":
            raise ResponseFlagged(detection)
        return flagged


def check_node(agent: HaluAgent, **options: Any) -> RunnableLambda[Any, dict[str, Any]]:
    """Return a LangGraph node that checks the last answer in the state's `messages`.

    The question is the last human message, the response the model's last text after it. The reference consists of the
    tool results before the response, and of the state's `context` if it has one. The node returns `detection` and
    `flagged` for the state and, with `when_flagged="replace"`, a message that replaces the flagged one. The state's
    schema needs those keys. `options` are those of HallucinationCheck. Raises ConfigError if the messages hold no
    question with an answer.
    """
    check = HallucinationCheck(agent, **options)

    def run(state: Any) -> dict[str, Any]:
        item, answer = _turn(state)
        return _update(check.invoke(item), answer)

    async def arun(state: Any) -> dict[str, Any]:
        item, answer = _turn(state)
        return _update(await check.ainvoke(item), answer)

    return RunnableLambda(run, arun, name="check_hallucination")


def _turn(state: Any) -> tuple[dict[str, Any], AIMessage]:
    """Return the item to check, and the message that holds the response."""

    def field(name: str) -> Any:
        return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)

    messages = convert_to_messages(field("messages") or [])
    asked = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=None)
    said = [m for m in messages[asked:] if isinstance(m, AIMessage) and _text(m).strip()] if asked is not None else []
    if asked is None or not said:
        raise ConfigError(
            "the state's messages hold no question with an answer: put the check after the node that answers"
        )
    answer = said[-1]
    read = [m for m in messages[: messages.index(answer)] if isinstance(m, ToolMessage) and m.status != "error"]
    reference = [_text(part) for part in (read, field("context")) if part]
    return {"question": messages[asked], "response": answer, "reference": reference}, answer


def _update(checked: dict[str, Any], answer: AIMessage) -> dict[str, Any]:
    update = {name: checked[name] for name in ("detection", "flagged")}
    if checked["response"] is not answer:  # the same id, so that it replaces the other message
        update["messages"] = [AIMessage(content=checked["response"], id=answer.id)]
    return update


def _key(item: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        if item.get(name) is not None:
            return name
    raise ConfigError(
        f"what is checked has no key {' or '.join(names)}, only: {', '.join(map(str, item)) or 'nothing'}"
    )


def _text(value: Any) -> str:
    """Return the text of a message, a document, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, Document):
        return str(value.page_content)
    if isinstance(value, BaseMessage):
        return str(value.text)
    if isinstance(value, Sequence):
        return "\n\n".join(text for text in map(_text, value) if text.strip())
    raise ConfigError(f"{type(value).__name__} is no text: give a text, a message, a document, or a list of them")
