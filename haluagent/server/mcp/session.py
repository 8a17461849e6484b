"""What a proxy between an MCP client and a server has seen of their session, and its decision about each call.

A server does not see the conversation. So values that nothing has given are remarked on, and reject a call only once
the client has handed over what the user said.
"""

import json
import secrets
import threading
from collections.abc import Sequence
from typing import Any

from haluagent.checks.runs.audit import AuditLog
from haluagent.checks.runs.calls.sources import MAX_TEXT
from haluagent.checks.runs.forms.plain import dump, plain, text_of
from haluagent.checks.runs.guard import CheckedCall, Guard
from haluagent.checks.runs.records import (
    Action,
    AgentRun,
    HallucinationReport,
    ToolCallValidation,
    ToolSpec,
    ToolUse,
    Turn,
)


class McpSession:
    """One client's session with a server. Threads may share it.

    `guard` decides about the calls, `allowed` are values that any argument may have, and each decision is a line of
    `audit` before `check` returns.
    """

    def __init__(self, guard: Guard, *, allowed: Sequence[str] = (), audit: AuditLog | None = None) -> None:
        self.run_id = f"mcp-{secrets.token_hex(6)}"
        self._guard = guard
        self._allowed = tuple(allowed)
        self._audit = audit
        self._tools: tuple[ToolSpec, ...] = ()
        self._turns: list[Turn] = []
        self._heard: set[str] = set()
        self._complete = False
        self._made: list[ToolCallValidation] = []
        self._calls = 0
        self._lock = threading.RLock()

    def offer(self, tools: Sequence[dict[str, Any]]) -> None:
        """Take the tools of the server, as it lists them. Raise `ConfigError` if one cannot be read."""
        named = {str(tool.get("name")): tool for tool in plain(tools, "the list of tools") if isinstance(tool, dict)}
        found = tuple(
            ToolSpec(
                name=name,
                description=str(tool.get("description") or ""),
                parameters=tool["inputSchema"] if isinstance(tool.get("inputSchema"), dict) else {"type": "object"},
                allowed=self._allowed,
            )
            for name, tool in named.items()
        )
        with self._lock:
            self._tools = found

    def hear(self, text: str, *, complete: bool = False) -> None:
        """Take in what the user said; `complete` says that from now on nothing else counts as given by the user."""
        text = plain(text, "the context")
        with self._lock:
            self._complete |= complete
            if text not in self._heard:
                self._heard.add(text)
                self._turns.append(Turn(role="user", text=text))

    def read(
        self, tool: str, result: str, arguments: dict[str, Any] | str | None = None, *, failed: bool = False
    ) -> None:
        """Take in the result of a call, or anything else that the server or the client gave: `tool` says what."""
        with self._lock:
            # one character more than is read, so that the check knows that there is more
            self._add(
                tool,
                plain(arguments or {}, "the arguments"),
                plain(result[: MAX_TEXT + 1], "the result"),
                failed=failed,
            )

    def check(self, tool: str, arguments: dict[str, Any] | str) -> CheckedCall:
        """Decide about a call, and log the decision. Raise `ConfigError` if the call cannot be read, `OSError` if it
        cannot be logged."""
        tool, arguments = plain(tool, "the tool"), plain(arguments, "the arguments")
        with self._lock:
            self._calls += 1
            use = ToolUse(id=f"{self._calls}", tool=tool, arguments=arguments)
            run = AgentRun(
                run_id=self.run_id, tools=self._tools, turns=tuple(self._turns), answer="", partial=not self._complete
            )
            checked = self._guard.check_call(run, use)
            if not checked.allowed:
                stopped = use.model_copy(update={"result": checked.feedback, "stopped": True})
                self._turns.append(Turn(role="assistant", calls=(stopped,)))
            action: Action = "emit" if checked.allowed else "block" if checked.final else "revise"
            self._log(action, checked.error, [checked.validation] if checked.validation else [])
            return checked

    def close(self) -> None:
        """Log the report on the whole session: every call with its validation. Raise `OSError`."""
        with self._lock:
            made, self._made = self._made, []
            action: Action = "revise" if any(one.stopped for one in made) else "emit"
            if made:
                self._log(action, None, made)

    def _add(self, tool: str, arguments: dict[str, Any] | str, result: str, *, failed: bool) -> None:
        self._calls += 1
        use = ToolUse(id=f"{self._calls}", tool=tool, arguments=arguments, result=result, failed=failed)
        self._turns.append(Turn(role="assistant", calls=(use,)))

    def _log(self, action: Action, error: str | None, validations: Sequence[ToolCallValidation]) -> None:
        self._made += validations
        if self._audit is None:
            return
        report = HallucinationReport(
            run_id=self.run_id, claims=(), tool_call_validations=tuple(validations), overall_score=1, action=action
        )
        self._audit.append(self.run_id, max(1, self._calls), action, error, report if validations else None)


def result_texts(result: dict[str, Any]) -> list[str]:
    """Return what the model may read of a tool's result: its text, and its structured content if that says more."""
    text, data = text_of(plain(result.get("content"), "the result")), result.get("structuredContent")
    if data is None:
        return [text]
    try:
        same = json.loads(text) in (data, {"result": data})
    except (ValueError, RecursionError):
        same = False
    return [text] if same else [dump(plain(data, "the result")), *([text] if text else [])]
