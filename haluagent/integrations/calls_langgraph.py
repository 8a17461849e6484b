"""LangGraph: a tool node that checks every call before it runs (extra `langchain`)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from haluagent.checks.runs.forms.langgraph import STOPPED, from_langgraph, tool_spec
from haluagent.checks.runs.records import AgentRun, TaskType, ToolSpec, ToolUse
from haluagent.errors import ConfigError
from haluagent.integrations.calls import call_to_check
from haluagent.integrations.runs_langgraph import is_feedback, run_id_of

try:
    from langchain_core.messages import SystemMessage, ToolMessage, convert_to_messages
    from langgraph.prebuilt import ToolNode
except ImportError:
    raise ConfigError('LangGraph is not installed: pip install "haluagent[langchain]"') from None

__all__ = ["guarded_tool_node"]


def guarded_tool_node(
    guard: Any, tools: Sequence[Any], *, system: str = "", task: TaskType = "factual", **options: Any
) -> ToolNode:
    """Return LangGraph's ToolNode with `tools` in which a call only runs if `guard` (a runs.guard.Guard) allows it.

    In place of the result of a stopped call the model gets a tool message with the status `error`, which says what is
    wrong, and may try again as often as the guard allows. The state has `messages`; all of them are the run. `system` is
    the system prompt, if it is not among them. `options` are those of ToolNode. Calling the node raises ConfigError if
    the state has no messages.
    """
    calls = CallCheck(task)

    def run(request: Any, execute: Callable[[Any], Any]) -> Any:
        checked = guard.check_call(*calls.prepare(request, [*node.tools_by_name.values()], system))
        return execute(request) if checked.allowed else calls.stopped(request, checked)

    async def arun(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        checked = await guard.acheck_call(*calls.prepare(request, [*node.tools_by_name.values()], system))
        return await execute(request) if checked.allowed else calls.stopped(request, checked)

    node = ToolNode(tools, wrap_tool_call=run, awrap_tool_call=arun, **options)
    return node


class CallCheck:
    """What the tool node and the middleware share: a request of LangGraph to call a tool as a call of a run."""

    def __init__(self, task: TaskType) -> None:
        self._task: TaskType = task
        self._specs: dict[str, tuple[Any, ToolSpec]] = {}  # making one takes longer than checking a call

    def prepare(self, request: Any, tools: Sequence[Any], system: str) -> tuple[AgentRun, ToolUse]:
        """Return the run so far and the call. Raise ConfigError if the state has no messages."""
        state, made = request.state, request.tool_call
        found = state if isinstance(state, list) else _field(state, "messages")
        if not found:
            raise ConfigError("the state has no `messages`: a call can only be checked against them")
        messages = convert_to_messages(found)
        kept = [message for message in messages if not is_feedback(message)]
        run = from_langgraph(
            [*([SystemMessage(system)] if system else []), *kept],
            [self._spec(tool) for tool in tools],
            run_id=run_id_of(messages),
            task=self._task,
        )
        return run, call_to_check(run, made["name"], made["args"], made.get("id"))

    def _spec(self, tool: Any) -> ToolSpec:
        known = self._specs.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._specs[tool.name] = (tool, tool_spec(tool))
        return known[1]

    @staticmethod
    def stopped(request: Any, checked: Any) -> ToolMessage:
        """Return the message to the model in place of the result of a stopped call."""
        return ToolMessage(
            checked.feedback,
            name=request.tool_call["name"],
            tool_call_id=request.tool_call["id"],
            status="error",
            additional_kwargs={STOPPED: True},
        )


def _field(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)
