"""The errors a caller can meet, and their effect on a detection."""


class HaluAgentError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(HaluAgentError):
    """A mistake that the user can fix: the message is one line that says how. Exit code 2."""


class ModelError(HaluAgentError):
    """The model's endpoint failed after its retries.

    Fatal for the detection it happened in. It is recorded there and never turned into a label.
    """


class ToolError(HaluAgentError):
    """A tool could not do its work. The model reads the message as an observation."""


class SandboxError(ToolError):
    """The sandbox itself failed (a dead daemon, a full disk). This says nothing about the code."""


class NoSandbox(SandboxError):
    """No sandbox is available; the message says how to get one."""


class SearchError(ToolError):
    """A search could not be made. This says nothing about what there is to find."""


class QuotaExhausted(SearchError):
    """The search service, or the user's budget, allows no more queries for now."""


class SearchTimeout(SearchError):
    """The search service did not answer in time."""


class DetectionEnded(Exception):
    """What ends a detection from within a tool's work, and is not the tool's failure."""


class FormatError(HaluAgentError):
    """The model's turn could not be read as a tool call. The model reads the message as an observation."""
