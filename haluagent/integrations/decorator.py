"""Decorators for an agent with any library or none: one guards the function that runs it, one a tool."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from haluagent.checks.runs.forms.plain import plain
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError, ToolError
from haluagent.integrations.calls import call_to_check

__all__ = ["CallStopped", "guarded", "guarded_tool"]


class CallStopped(ToolError):
    """Raised in place of a call that the guard does not allow.

    Its text is for the model, in place of a result; `checked` is the decision (a runs.guard.CheckedCall).
    """

    def __init__(self, checked: Any) -> None:
        super().__init__(checked.feedback)
        self.checked = checked


def guarded(guard: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that returns an AgentRun return the text that may be shown: the answer of the run if `guard` (a
    runs.guard.Guard) emits it, otherwise its refusal.

    If the answer is to be revised, the function is called again with the same arguments and with `feedback`, a text for
    the model. The function must have that parameter, None in the first round, and must keep it out of the turns of the
    run, since it does not come from the user. The guard limits the rounds. All rounds are one run, with the id of the
    first. An async function stays async. Raises ConfigError if the function has no `feedback` parameter or does not
    return a run.

        @guarded(guard)
        def ask(question: str, feedback: str | None = None) -> AgentRun: ...
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(function, "__name__", "the function")
        parameters = inspect.signature(function).parameters.values()
        if not any(one.name == "feedback" or one.kind is one.VAR_KEYWORD for one in parameters):
            raise ConfigError(
                f"{name} has no parameter `feedback`: a guarded function gets what is to be revised there"
            )

        def same_run(run: Any, first: str | None) -> AgentRun:
            if not isinstance(run, AgentRun):
                raise ConfigError(f"{name} returned {type(run).__name__}: a guarded function returns an AgentRun")
            return run.model_copy(update={"run_id": first}) if first is not None else run

        @functools.wraps(function)
        def ask(*args: Any, **options: Any) -> str:
            feedback, first = None, None
            while True:
                run = same_run(function(*args, **{**options, "feedback": feedback}), first)
                checked, first = guard.check(run), run.run_id
                if checked.action != "revise":
                    return run.answer if checked.action == "emit" else str(checked.refusal)
                feedback = checked.feedback

        @functools.wraps(function)
        async def aask(*args: Any, **options: Any) -> str:
            feedback, first = None, None
            while True:
                run = same_run(await function(*args, **{**options, "feedback": feedback}), first)
                checked, first = await guard.acheck(run), run.run_id
                if checked.action != "revise":
                    return run.answer if checked.action == "emit" else str(checked.refusal)
                feedback = checked.feedback

        return aask if inspect.iscoroutinefunction(function) else ask

    return decorate


def guarded_tool(guard: Any, run: Callable[[], AgentRun]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a tool, which is a plain function, run only if `guard` (a runs.guard.Guard) allows the call. Otherwise it
    raises CallStopped.

    `run` returns the run so far, with the tools that the model was offered; the function has the name of one of them,
    and its parameters are the arguments. An async function stays async. Calling it raises ConfigError if `run` does not
    return a run, or one without tools.

        @guarded_tool(guard, lambda: from_openai_chat(messages, TOOLS, run_id=run_id))
        def refund(order_id: str) -> str: ...
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        def prepare(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[AgentRun, Any]:
            found = run()
            if not isinstance(found, AgentRun):
                raise ConfigError(f"`run` returned {type(found).__name__}: it returns the AgentRun so far")
            arguments = _named(signature, args, options)
            return found, call_to_check(found, function.__name__, plain(arguments, function.__name__))

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            checked = guard.check_call(*prepare(args, options))
            if not checked.allowed:
                raise CallStopped(checked)
            return function(*args, **options)

        @functools.wraps(function)
        async def acall(*args: Any, **options: Any) -> Any:
            checked = await guard.acheck_call(*prepare(args, options))
            if not checked.allowed:
                raise CallStopped(checked)
            return await function(*args, **options)

        return acall if inspect.iscoroutinefunction(function) else call

    return decorate


def _named(signature: inspect.Signature, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name. Those that do not fit the function stay for the check to find."""
    try:
        given = signature.bind_partial(*args, **options).arguments
    except TypeError:
        return {**dict(zip(signature.parameters, args, strict=False)), **options}
    named: dict[str, Any] = {}
    for name, value in given.items():
        named |= value if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return named
