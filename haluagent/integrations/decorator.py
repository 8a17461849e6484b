"""A decorator that guards a function which runs an agent, with any library or none."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError

__all__ = ["guarded"]


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
