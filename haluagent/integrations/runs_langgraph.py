"""LangGraph: a guard of whole runs as a node of a graph (extra `langchain`)."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from haluagent.checks.runs.forms.langgraph import from_langgraph
from haluagent.checks.runs.records import AgentRun, TaskType
from haluagent.errors import ConfigError

try:
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        RemoveMessage,
        SystemMessage,
        convert_to_messages,
    )
    from langchain_core.runnables import RunnableLambda
    from langgraph.graph import END
    from langgraph.types import Command
except ImportError:
    raise ConfigError('LangGraph is not installed: pip install "haluagent[langchain]"') from None

__all__ = ["guard_node"]

FEEDBACK = "haluagent_feedback"  # marks messages from the guard, which are not the user's


def guard_node(
    guard: Any,
    *,
    revise: str,
    done: str = END,
    tools: Sequence[Any] = (),
    system: str = "",
    task: TaskType = "factual",
) -> RunnableLambda[Any, Any]:
    """Return a node to put after the answering node. It routes the run as `guard` (a runs.guard.Guard) decides.

    An emitted answer goes to the node `done`. An answer to be revised goes back to the node `revise`, with the feedback
    as a last message for the model; the guard limits the rounds. A blocked answer is replaced by the refusal, which
    goes to `done`. Rejected answers and feedback are then removed from the state. The state has `messages` with the
    reducer `add_messages`; all of them are the run, so that earlier questions and findings count. `tools` are those of
    the agent; `system` is its system prompt, if it is not among the messages; `task` selects the thresholds.

    The node raises ConfigError if the state has no messages, or if the last one is not an answer of the model.
    """

    def prepare(state: Any) -> tuple[list[BaseMessage], AgentRun]:
        found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        messages = convert_to_messages(found or [])
        if not messages or not isinstance(messages[-1], AIMessage) or messages[-1].tool_calls:
            raise ConfigError("the last message of the state is no answer: put the guard after the node that answers")
        kept = [message for message in messages if not is_feedback(message)]
        kept = [SystemMessage(system), *kept] if system else kept
        return messages, from_langgraph(kept, tools, run_id=run_id_of(messages), task=task)

    def command(messages: list[BaseMessage], run_id: str, checked: Any) -> Command[Any]:
        if checked.action == "revise":
            feedback = HumanMessage(checked.feedback, additional_kwargs={FEEDBACK: run_id})
            return Command(update={"messages": [feedback]}, goto=revise)
        update: list[Any] = [RemoveMessage(id=message.id) for message in _rejected(messages) if message.id]
        if checked.action != "emit":  # the same id, so that it replaces the answer
            update.append(AIMessage(checked.refusal, id=messages[-1].id))
        return Command(update={"messages": update}, goto=done)

    def run(state: Any) -> Command[Any]:
        messages, found = prepare(state)
        return command(messages, found.run_id, guard.check(found))

    async def arun(state: Any) -> Command[Any]:
        messages, found = prepare(state)
        return command(messages, found.run_id, await guard.acheck(found))

    return RunnableLambda(run, arun, name="guard")


def is_feedback(message: BaseMessage) -> bool:
    """Return whether a message is from the guard."""
    return FEEDBACK in message.additional_kwargs


def run_id_of(messages: Sequence[BaseMessage]) -> str:
    """Return the id of the run. All rounds of a question are one run, whose id the feedback carries."""
    for message in reversed(messages):
        if is_feedback(message):
            return str(message.additional_kwargs[FEEDBACK])
        if isinstance(message, HumanMessage):
            return f"run-{message.id or uuid4()}"
    return f"run-{uuid4()}"


def _rejected(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the feedback messages and the answers before them. Calls and results of those rounds stay, as they are
    evidence."""
    found: list[BaseMessage] = []
    for before, message in zip(messages, messages[1:], strict=False):
        if is_feedback(message):
            found += [before, message] if isinstance(before, AIMessage) and not before.tool_calls else [message]
    return found
