"""Errors as a client sees them: a status, a type and one clear line."""

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Any, Literal, get_args

from starlette.responses import Response

from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import ConfigError, HaluAgentError
from haluagent.server.watch import Ending

Type = Literal[
    "invalid", "unauthorized", "forbidden", "not_found", "method", "too_large", "media_type", "busy", "internal", "model",
    "stopping", "not_ready", "deadline", "upstream",
]  # fmt: skip
# Each type with its status, and what it means.
ERRORS: dict[Type, tuple[int, str]] = {
    "invalid": (400, "What was given cannot be checked. The message says what to change."),
    "unauthorized": (401, "The server wants a token, and the request has none or a wrong one."),
    "forbidden": (
        403,
        "The request comes from another site's page, or calls the server by a name that it does not know.",
    ),
    "not_found": (404, "There is nothing at this path."),
    "method": (405, "This path is asked with another method."),
    "too_large": (413, "The body, or its texts, are longer than the server takes."),
    "media_type": (415, "The body is not sent as application/json."),
    "busy": (
        429,
        "As many requests as the server takes are running and waiting. `Retry-After` says when to ask again.",
    ),
    "internal": (500, "A bug of the server. Its log has more."),
    "model": (502, "The language model did not answer."),
    "stopping": (503, "The server is being stopped."),
    "not_ready": (503, "The model is not loaded yet, or its endpoint does not answer."),
    "deadline": (504, "The work took longer than the server allows, and there is nothing to show of it."),
    "upstream": (502, "The server behind the proxy did not answer, or not in a form that can be checked."),
}

logger = logging.getLogger(__name__)


class HttpProblem(Exception):
    """The reason why a request is not answered. `headers` go with the response."""

    def __init__(self, type: Type, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.type: Type = type
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        return ERRORS[self.type][0]

    @property
    def ending(self) -> Ending:
        """Return how the request counts in the metrics."""
        ending = "model" if self.type == "not_ready" else self.type
        return ending if ending in get_args(Ending) else "invalid"  # type: ignore[return-value]

    def json(self) -> dict[str, Any]:
        """Return the body of the error."""
        return {"error": {"type": self.type, "message": str(self)}}

    def response(self) -> Response:
        """Return the error as a response."""
        text = json.dumps(self.json(), ensure_ascii=False)
        return Response(text, self.status, self.headers, media_type="application/json")


def problem_of(error: Exception) -> HttpProblem:
    """Return what a client is told of an error; one that nobody raised on purpose goes to the log."""
    match error:
        case HttpProblem():
            return error
        case ConfigError():
            return HttpProblem("invalid", str(error))
        case HaluAgentError():
            return HttpProblem("deadline" if isinstance(error.__cause__, BudgetExceeded) else "model", str(error))
    return unexpected(error)


def unexpected(error: Exception) -> HttpProblem:
    """Log where a bug is, without its message, which may hold the texts of a request. Return what the client is told."""
    logger.error("unexpected %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)).rstrip())
    return HttpProblem("internal", "something unexpected went wrong: the server's log says where")
