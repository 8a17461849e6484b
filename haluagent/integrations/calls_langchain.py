"""LangChain: middleware of an agent that checks every call of a tool before it runs (extra `langchain`)."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from haluagent.checks.runs.records import TaskType
from haluagent.errors import ConfigError
from haluagent.integrations.calls_langgraph import CallCheck

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langgraph.types import Command
except ImportError:
    raise ConfigError('LangChain is not installed: pip install "haluagent[langchain]"') from None

__all__ = ["CallGuard"]


class PromptState(AgentState[Any]):
    """The state of an agent with the system prompt that its model was last given, which is not among the messages."""

    haluagent_system: Annotated[str, PrivateStateAttr]


class CallGuard(AgentMiddleware[PromptState, Any, Any]):
    """Middleware for `create_agent` by which a call only runs if `guard` (a runs.guard.Guard) allows it:

        agent = create_agent(model, tools=[…], middleware=[CallGuard(guard)])

    In place of the result of a stopped call the model gets a tool message with the status `error`, which says what is
    wrong, and may try again as often as the guard allows. Put it last, so that it sees the system prompt as other
    middleware leaves it. A tool that other middleware runs itself, and that the agent does not have, is not checked.
    """

    state_schema = PromptState

    def __init__(self, guard: Any, *, task: TaskType = "factual") -> None:
        super().__init__()
        self._guard = guard
        self._calls = CallCheck(task)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model, and keep the system prompt that it was given."""
        return _with_prompt(handler(request), request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the model, and keep the system prompt that it was given."""
        return _with_prompt(await handler(request), request)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the call if the guard allows it."""
        if request.tool is None:
            return handler(request)
        checked = self._guard.check_call(*self._calls.prepare(request, _tools(request), _prompt(request)))
        return handler(request) if checked.allowed else self._calls.stopped(request, checked)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run the call if the guard allows it."""
        if request.tool is None:
            return await handler(request)
        checked = await self._guard.acheck_call(*self._calls.prepare(request, _tools(request), _prompt(request)))
        return await handler(request) if checked.allowed else self._calls.stopped(request, checked)


def _with_prompt(response: Any, request: Any) -> Any:
    update = {"haluagent_system": request.system_prompt or ""}
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _prompt(request: Any) -> str:
    return str(request.state.get("haluagent_system") or "")


def _tools(request: Any) -> list[Any]:
    """Return the tools of the agent, that of the call included."""
    others = [tool for tool in getattr(request.runtime, "tools", None) or () if tool.name != request.tool.name]
    return [*others, request.tool]
